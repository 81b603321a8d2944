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

	"golang.org/x/sys/unix"
)

// stopGrace is how long an interrupted test may take to stop its API servers; the
// framework of the suites itself waits up to 90 s.
const stopGrace = 100 * time.Second

// runner compiles and runs the tests of one Kueue tree.
type runner struct {
	// tree is the Kueue tree.
	tree string
	// binDir receives the compiled suites, artifacts the logs and reports.
	binDir    string
	artifacts string
	// assets is the folder of the control plane, ginkgo the Ginkgo CLI.
	assets string
	ginkgo string
	race   bool
	// focus runs only the specs that match; procs overrides the suites' own.
	focus string
	procs int
	// skip leaves out the unit tests that match.
	skip string
	// overlay is a file for the -overlay flag of go test, if any.
	overlay string
	logf    func(format string, args ...any)
}

// compile builds the test program of a suite and returns its path.
func (r *runner) compile(ctx context.Context, s Suite) (string, error) {
	bin := filepath.Join(r.binDir, s.Name()+".test")
	args := []string{"test", "-C", r.tree, "-c", "-vet=off", "-ldflags=-s -w", "-o", bin}
	if r.race {
		args = append(args, "-race")
	}
	if r.overlay != "" {
		args = append(args, "-overlay="+r.overlay)
	}
	if _, err := output(exec.CommandContext(ctx, "go", append(args, "./"+s.Path)...)); err != nil {
		return "", err
	}
	return bin, nil
}

// runSuite runs a compiled suite, and known flakes again where their rule allows.
func (r *runner) runSuite(ctx context.Context, s Suite, bin string, flakes map[string]Flake) Result {
	result := r.runOnce(ctx, s, bin, r.focus, "")
	for attempt := 1; ctx.Err() == nil; attempt++ {
		specs := retryable(result, flakes, attempt)
		if len(specs) == 0 {
			break
		}
		r.logf("%s: %d known flakes failed, retry %d", s.Path, len(specs), attempt)
		again := r.runOnce(ctx, s, bin, focusExpression(specs), fmt.Sprintf("-retry%d", attempt))
		result = afterRetry(result, again, specs)
	}
	return result
}

// runOnce runs the suite with the Ginkgo CLI. Reports and logs go to a folder of
// the suite; suffix keeps those of a retry apart.
func (r *runner) runOnce(ctx context.Context, s Suite, bin, focus, suffix string) Result {
	start := time.Now()
	dir := filepath.Join(r.artifacts, s.Name()+suffix)
	logPath := filepath.Join(dir, "output.log")
	finish := func(result Result, problem error) Result {
		result.Suite, result.Run, result.Log = s.Path, time.Since(start), logPath
		if problem != nil {
			result.Problem = problem.Error()
		}
		return result
	}
	// A report of an earlier run must not pass for this one's.
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return finish(Result{}, err)
	}
	log, err := os.Create(logPath)
	if err != nil {
		return finish(Result{}, err)
	}
	defer log.Close()

	procs := s.Procs
	if r.procs > 0 {
		procs = r.procs
	}
	args := []string{
		"run", fmt.Sprintf("--procs=%d", procs), "--timeout=" + s.Timeout.Duration.String(),
		"--output-interceptor-mode=none", "--no-color", "--output-dir=" + dir, "--json-report=report.json",
	}
	if focus != "" {
		args = append(args, "--focus="+focus)
	}
	// The suite ends itself at its timeout; the context is for one that cannot.
	runCtx, cancel := context.WithTimeout(ctx, s.Timeout.Duration+stopGrace)
	defer cancel()
	cmd := exec.CommandContext(runCtx, r.ginkgo, append(args, bin)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(),
		"KUBEBUILDER_ASSETS="+r.assets,
		// Its default of 20 s is too short where several suites start together.
		"KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m",
		// The suites take the folder of this path, so it needs its trailing slash.
		"PROJECT_DIR="+r.tree+string(filepath.Separator),
		"KUEUE_BIN="+r.binDir,
		"ARTIFACTS="+dir,
		"TEST_LOG_LEVEL="+testLogLevel,
	)
	interruptGroup(cmd)
	runErr := cmd.Run()

	result, err := readSuiteReport(filepath.Join(dir, "report.json"))
	switch {
	case runCtx.Err() != nil:
		err = fmt.Errorf("interrupted after %s", time.Since(start).Round(time.Second))
	case err != nil:
		err = errors.Join(runErr, err)
	case runErr != nil && result.ok():
		err = fmt.Errorf("ginkgo failed although no spec did: %w", runErr)
	}
	return finish(result, err)
}

// interruptGroup makes the end of the command's context an interrupt of it and
// its children, which lets them stop their API servers, and a kill after a while.
func interruptGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGINT) }
	cmd.WaitDelay = stopGrace
}
