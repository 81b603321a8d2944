// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runUnits runs the unit tests of the given folders of the tree in one go test.
// Packages that did not change since they last passed come from Go's test cache
// unless fresh is set.
func (r *runner) runUnits(ctx context.Context, dirs []string, fresh bool) Result {
	start := time.Now()
	logPath := filepath.Join(r.artifacts, "units.json")
	result, err := r.goTest(ctx, dirs, fresh, logPath)
	if err != nil {
		result.Problem = err.Error()
	}
	result.Suite = fmt.Sprintf("unit tests of %d packages", len(dirs))
	result.Run, result.Log = time.Since(start), logPath
	return result
}

func (r *runner) goTest(ctx context.Context, dirs []string, fresh bool, logPath string) (Result, error) {
	if len(dirs) == 0 {
		return Result{}, errors.New("no unit package is selected")
	}
	log, err := os.Create(logPath)
	if err != nil {
		return Result{}, err
	}
	defer log.Close()

	// Vet is the linter's work, on our own code and on the patches.
	args := []string{"test", "-C", r.tree, "-json", "-vet=off", "-timeout=" + unitTimeout.String()}
	if r.race {
		args = append(args, "-race")
	}
	if r.overlay != "" {
		args = append(args, "-overlay="+r.overlay)
	}
	if r.skip != "" {
		args = append(args, "-skip="+r.skip)
	}
	if fresh {
		args = append(args, "-count=1")
	}
	if r.focus != "" {
		args = append(args, "-run="+r.focus)
	}
	packages := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		args = append(args, "./"+dir)
		packages = append(packages, kueueModule+"/"+dir)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "TEST_LOG_LEVEL="+testLogLevel)
	interruptGroup(cmd)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Result{}, err
	}
	if err := cmd.Start(); err != nil {
		return Result{}, err
	}
	report, readErr := readUnitEvents(stdout, log)
	runErr := cmd.Wait()
	if ctx.Err() != nil {
		return Result{}, errors.New("interrupted")
	}
	if readErr != nil {
		return Result{}, errors.Join(readErr, runErr)
	}
	result := report.result(packages)
	if runErr != nil && result.ok() {
		return result, fmt.Errorf("go test failed although no test did: %w", runErr)
	}
	r.logf("units: %d packages, %d of them from the test cache; slowest: %v", len(packages), report.cached(), report.slowest(5))
	return result, nil
}
