// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// upstreamTag marks the unpatched state in the repository of the Kueue tree.
const upstreamTag = "upstream-head"

// goPackage is a package of the Kueue tree.
type goPackage struct {
	// Dir is its folder, relative to the tree.
	Dir string
	// HasTests says whether it has a test file.
	HasTests bool
}

// unitPackages chooses the packages whose unit tests a set runs: for core those
// of the base patterns and those that a changed file belongs to. It fails if a
// pattern matches nothing, since a list that is out of date hides tests.
func unitPackages(all []goPackage, patterns []UnitPattern, changed []string, set Set) ([]string, error) {
	core := map[string]bool{}
	for _, pattern := range patterns {
		matched := false
		for _, p := range all {
			if matchPackage(pattern.Package, p.Dir) {
				core[p.Dir], matched = true, true
			}
		}
		if !matched {
			return nil, fmt.Errorf("suites.yaml: units: no package of the Kueue tree matches %q", pattern.Package)
		}
	}
	for _, dir := range touchedPackages(all, changed) {
		core[dir] = true
	}
	var out []string
	for _, p := range all {
		if p.HasTests && !isSuiteFolder(p.Dir) && (set == SetAll || core[p.Dir] == (set == SetCore)) {
			out = append(out, p.Dir)
		}
	}
	slices.Sort(out)
	return out, nil
}

// whyUnit says why the unit tests of a package are run.
func (c Config) whyUnit(dir string, touched []string) string {
	if slices.Contains(touched, dir) {
		return "a patch touches it"
	}
	for _, pattern := range c.Units {
		if matchPackage(pattern.Package, dir) {
			return pattern.Why
		}
	}
	return "the extended set takes every package"
}

// touchedPackages maps changed files to the nearest package at or above them, so
// that a change of test data counts for the package that reads it.
func touchedPackages(all []goPackage, changed []string) []string {
	known := map[string]bool{}
	for _, p := range all {
		known[p.Dir] = true
	}
	var out []string
	for _, file := range changed {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if known[dir] {
				out = append(out, dir)
				break
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func matchPackage(pattern, dir string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == base || strings.HasPrefix(dir, base+"/")
	}
	return dir == pattern
}

// isSuiteFolder says whether a package needs a cluster, or measures speed.
func isSuiteFolder(dir string) bool { return dir == "test" || strings.HasPrefix(dir, "test/") }

// listPackages lists the packages of the tree with the go command.
func listPackages(ctx context.Context, tree string) ([]goPackage, error) {
	const format = `{{.ImportPath}} {{if or .TestGoFiles .XTestGoFiles}}tests{{else}}none{{end}}`
	out, err := output(exec.CommandContext(ctx, "go", "list", "-C", tree, "-f", format, "./..."))
	if err != nil {
		return nil, err
	}
	var pkgs []goPackage
	for line := range nonEmptyLines(out) {
		importPath, tests, _ := strings.Cut(line, " ")
		dir, ok := strings.CutPrefix(importPath, kueueModule+"/")
		if !ok {
			continue
		}
		pkgs = append(pkgs, goPackage{Dir: dir, HasTests: tests == "tests"})
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("found no package of %s in %s", kueueModule, tree)
	}
	return pkgs, nil
}

// findSuites lists the folders with an integration suite.
func findSuites(tree string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(filepath.Join(tree, "test", "integration"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "suite_test.go" {
			return err
		}
		dir, err := filepath.Rel(tree, filepath.Dir(file))
		out = append(out, filepath.ToSlash(dir))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("failed to look for integration suites (run make vendor): %w", err)
	}
	return out, nil
}

// changedFiles lists what differs from the unpatched state: committed patches and
// edits that are not exported yet.
func changedFiles(ctx context.Context, tree string) ([]string, error) {
	// Inside the checkout git would fall back to the checkout's own repository.
	if _, err := os.Stat(filepath.Join(tree, ".git")); err != nil {
		return nil, fmt.Errorf("%s is not a git repository (run make vendor): %w", tree, err)
	}
	tracked, err := output(exec.CommandContext(ctx, "git", "-C", tree, "diff", "--name-only", upstreamTag))
	if err != nil {
		return nil, err
	}
	untracked, err := output(exec.CommandContext(ctx, "git", "-C", tree, "ls-files", "--others", "--exclude-standard"))
	if err != nil {
		return nil, err
	}
	return slices.Collect(nonEmptyLines(tracked + "\n" + untracked)), nil
}

// output runs a command; its error carries what it wrote to standard error. At the
// end of its context the command is interrupted, so that it can clean up.
func output(cmd *exec.Cmd) (string, error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("failed to run %s: %w\n%s", strings.Join(cmd.Args, " "), err, exit.Stderr)
		}
		return "", fmt.Errorf("failed to run %s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(out), nil
}

func nonEmptyLines(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" && !yield(line) {
				return
			}
		}
	}
}
