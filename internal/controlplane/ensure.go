// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tempInfix stands between a build's name and the random part of the folder that
// it is made in.
const tempInfix = ".tmp-"

var (
	buildArgs = []string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly"}
	// Without cgo no C compiler is needed and the programs run on any libc.
	buildEnv = []string{"GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0"}
)

// Ensure returns the control plane that the checkout at repoRoot pins, and builds
// it if the cache does not hold it. Calls from several processes are safe: one
// builds, the others wait. Progress goes to logf, one line a call.
func Ensure(ctx context.Context, repoRoot string, logf func(format string, args ...any)) (Binaries, error) {
	root, err := CacheRoot()
	if err != nil {
		return Binaries{}, err
	}
	modules, err := readToolModules(repoRoot)
	if err != nil {
		return Binaries{}, err
	}
	versions, err := modules.versions()
	if err != nil {
		return Binaries{}, err
	}
	goVersion, platform, err := goEnv(ctx, modules.kubernetes.dir)
	if err != nil {
		return Binaries{}, err
	}
	steps := buildSteps(modules, versions)
	dir := filepath.Join(root, "controlplane", cacheKey(versions, goVersion, platform, modules, steps))
	b := builder{dir: dir, steps: steps, programs: programs(versions), logf: logf, run: runGo, version: askVersion}
	if err := b.ensure(ctx); err != nil {
		return Binaries{}, fmt.Errorf("failed to build the control plane: %w", err)
	}
	return Binaries{Dir: dir, Versions: versions}, nil
}

// builder makes one folder of the cache.
type builder struct {
	dir      string
	steps    []step
	programs []program
	logf     func(format string, args ...any)
	// run runs the go command in a module's folder.
	run func(ctx context.Context, dir string, args []string) error
	// version returns what a program prints for --version.
	version func(ctx context.Context, path string) (string, error)
}

func (b builder) ensure(ctx context.Context) error {
	if complete(b.dir, b.programs) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(b.dir), 0o755); err != nil {
		return err
	}
	held, err := lock(ctx, b.dir+".lock", func() { b.logf("another process builds the control plane, waiting for it") })
	if err != nil {
		return err
	}
	defer held.Close()
	// Whoever held the lock may have done the work.
	if complete(b.dir, b.programs) {
		return nil
	}
	return b.build(ctx)
}

func (b builder) build(ctx context.Context) (err error) {
	if err := removeLeftovers(b.dir); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(b.dir), filepath.Base(b.dir)+tempInfix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	start := time.Now()
	b.logf("building the control plane from source, which takes minutes")
	for _, s := range b.steps {
		stepStart := time.Now()
		args := append(slices.Clone(buildArgs), "-ldflags", s.ldflags, "-o", temp+s.output)
		if err := b.run(ctx, s.dir, append(args, s.packages...)); err != nil {
			return err
		}
		b.logf("built %s in %s", strings.Join(s.packages, ", "), time.Since(stepStart).Round(time.Second))
	}
	for _, p := range b.programs {
		out, err := b.version(ctx, filepath.Join(temp, p.name))
		if err != nil {
			return fmt.Errorf("failed to run %s --version: %w", p.name, err)
		}
		if !hasLine(out, p.wantVersion) {
			return fmt.Errorf("%s --version prints %q, want %q", p.name, strings.TrimSpace(out), p.wantVersion)
		}
	}
	// A folder of that name is there only if somebody deleted a part of it.
	if err := os.RemoveAll(b.dir); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(temp, b.dir); err != nil {
		return err
	}
	b.logf("built the control plane in %s", time.Since(start).Round(time.Second))
	return nil
}

// hasLine says whether a line of out is want, or starts with want and a space.
func hasLine(out, want string) bool {
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == want || strings.HasPrefix(line, want+" ") {
			return true
		}
	}
	return false
}

func runGo(ctx context.Context, dir string, args []string) error {
	// -C must be the first flag of the subcommand.
	full := slices.Insert(slices.Clone(args), 1, "-C", dir)
	cmd := goCommand(ctx, full)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("failed to run go %s: %w\n%s", strings.Join(full, " "), err, out)
	}
	return nil
}

func goCommand(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), buildEnv...)
	// An interrupt lets the go command clean up its work folder.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func askVersion(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	return string(out), err
}

// goEnv asks the go command for its version and the platform that it builds for.
func goEnv(ctx context.Context, dir string) (version, platform string, err error) {
	cmd := goCommand(ctx, []string{"env", "-C", dir, "GOVERSION", "GOOS", "GOARCH"})
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("failed to run go env (is the go command on the PATH?): %w", err)
	}
	fields := strings.Fields(string(out))
	if len(fields) != 3 {
		return "", "", fmt.Errorf("go env printed %q, want version, OS and architecture", out)
	}
	return fields[0], fields[1] + "-" + fields[2], nil
}
