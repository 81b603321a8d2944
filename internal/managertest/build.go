// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kueueModule is the module that the manager comes from.
const kueueModule = "sigs.k8s.io/kueue"

// UpstreamCommit is stamped into the upstream manager as its commit; the module
// doesn't say which one it was made from.
const UpstreamCommit = "0000000upstream"

// Module is a module in the Go module cache.
type Module struct {
	Dir, Version string
}

// FindModule returns where the module cache holds the version of a module that
// the checkout requires, downloading it if need be. The patched copy in the
// workspace is passed by.
func FindModule(ctx context.Context, repoRoot, path string) (Module, error) {
	if _, err := goCommand(ctx, repoRoot, "mod", "download", path); err != nil {
		return Module{}, err
	}
	out, err := goCommand(ctx, repoRoot, "list", "-m", "-f", "{{.Dir}}\t{{.Version}}", path)
	if err != nil {
		return Module{}, err
	}
	dir, version, found := strings.Cut(strings.TrimSpace(out), "\t")
	if !found || dir == "" {
		return Module{}, fmt.Errorf("failed to find the module %s in the module cache: go list said %q", path, out)
	}
	return Module{Dir: dir, Version: version}, nil
}

// FindUpstream is FindModule for the module that the manager comes from.
func FindUpstream(ctx context.Context, repoRoot string) (Module, error) {
	return FindModule(ctx, repoRoot, kueueModule)
}

// BuildUpstream builds upstream's own manager into dir and returns its path. It
// is built inside the unpatched module, so with the dependencies that upstream
// pins, and stamped like a release of that version. Go's build cache makes a
// second call cheap.
func BuildUpstream(ctx context.Context, upstream Module, dir string) (string, error) {
	path := filepath.Join(dir, "manager")
	stamp := fmt.Sprintf("-s -w -X %[1]s/pkg/version.GitVersion=%[2]s -X %[1]s/pkg/version.GitCommit=%[3]s",
		kueueModule, upstream.Version, UpstreamCommit)
	if _, err := goCommand(ctx, upstream.Dir, "build", "-ldflags", stamp, "-o", path, "./cmd/kueue"); err != nil {
		return "", err
	}
	return path, nil
}

// BuildControllerGen builds the pinned controller-gen into dir and returns its path.
func BuildControllerGen(ctx context.Context, repoRoot, dir string) (string, error) {
	path := filepath.Join(dir, "controller-gen")
	tools := filepath.Join(repoRoot, "hack", "tools")
	if _, err := goCommand(ctx, tools, "build", "-o", path, "sigs.k8s.io/controller-tools/cmd/controller-gen"); err != nil {
		return "", err
	}
	return path, nil
}

// goCommand runs the go tool in dir, outside the workspace.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	return Command(ctx, dir, []string{"GOWORK=off"}, "go", args...)
}

// Command runs a program in dir with env added to the environment and returns
// its standard output.
func Command(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("failed to run %s %s in %s: %w:\n%s", program, strings.Join(args, " "), dir, err, stderr.String())
	}
	return stdout.String(), nil
}
