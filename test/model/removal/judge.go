// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// judge runs the model test and the unit tests, all with switches built in.
type judge struct {
	root, work string
	sequences  int
	seed       uint64
}

// result is what became of undoing a patch.
type result struct {
	undo undo
	// failure is the first sequence that fails, nil if none does.
	failure *failure
	// failed are the tests of the patch that fail.
	failed []string
	// tried is how many sequences were run.
	tried int
}

// failure is a sequence that fails.
type failure struct {
	seed                uint64
	rule, steps, shrunk string
}

func (f *failure) String() string {
	if f == nil {
		return "no seed"
	}
	return fmt.Sprintf("seed %d, rule %s, %s steps, %s when shrunk", f.seed, f.rule, f.steps, f.shrunk)
}

func (r result) noticed() bool { return r.failure != nil || len(r.failed) > 0 }

func (j judge) binary(folder string) string {
	return filepath.Join(j.work, "bin", strings.ReplaceAll(folder, "/", "_")+".test")
}

// build makes the test programs of the model and of the packages.
func (j judge) build(ctx context.Context, overlayFile string, packages []string) error {
	targets := map[string]string{j.binary("test/model"): "./test/model"}
	for _, folder := range packages {
		targets[j.binary(folder)] = "sigs.k8s.io/kueue/" + folder
	}
	for output, target := range targets {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", overlayFile, "-o", output, target)
		cmd.Dir = j.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("failed to build %s: %w\n%s", target, err, out)
		}
	}
	return nil
}

// model runs sequences until one fails. With a guard, it is undone as well, and the
// sequence is one that doesn't fail when only one of the two is undone.
func (j judge) model(ctx context.Context, r *result) error {
	from, number := cmp.Or(r.undo.From, j.seed), r.undo.number()
	r.tried = j.sequences
	for end := from + uint64(j.sequences); from < end; {
		f, err := j.firstFailure(ctx, from, int(end-from), number, r.undo.Guard)
		if err != nil || f == nil {
			return err
		}
		single := false
		for _, one := range []string{number, r.undo.Guard} {
			if r.undo.Guard == "" {
				break
			}
			alone, err := j.firstFailure(ctx, f.seed, 1, one)
			if err != nil {
				return err
			}
			single = single || alone != nil
		}
		if !single {
			r.failure = f
			return nil
		}
		from = f.seed + 1
	}
	return nil
}

// firstFailure returns the first of so many sequences that fails with the patches of
// these numbers undone, nil if none does. Empty numbers are left out.
func (j judge) firstFailure(ctx context.Context, from uint64, sequences int, undone ...string) (*failure, error) {
	undone = slices.DeleteFunc(undone, func(number string) bool { return number == "" })
	out, err := j.run(ctx, j.binary("test/model"), filepath.Join(j.root, "test/model"), strings.Join(undone, ","),
		"-test.run", "^TestModel$", "-test.timeout", "0", "-sequences", strconv.Itoa(sequences), "-seed", strconv.FormatUint(from, 10), "-workers", "1")
	m := failedLine.FindStringSubmatch(out)
	switch {
	case m == nil && err != nil:
		return nil, fmt.Errorf("the model test fails without a seed: %w\n%s", err, tail(out))
	case m == nil:
		return nil, nil
	}
	seed, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("failed to read the seed that fails: %w", err)
	}
	return &failure{seed: seed, rule: m[2], steps: m[3], shrunk: m[4]}, nil
}

var failedLine = regexp.MustCompile(`FAILED seed=(\d+) rule=(\w+) steps=(\d+) shrunk=(\d+)`)

var testResult = regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\w+) `)

// units runs the tests of the patch and notes those that fail.
func (j judge) units(ctx context.Context, r *result, p patch, number string) error {
	ran := map[string]bool{}
	for _, folder := range p.packages {
		out, err := j.run(ctx, j.binary(folder), filepath.Join(j.root, "third_party/kueue", folder), number,
			"-test.v", "-test.timeout", "5m", "-test.run", "^("+strings.Join(p.tests, "|")+")$")
		broken := false
		for _, m := range testResult.FindAllStringSubmatch(out, -1) {
			ran[m[2]] = true
			if m[1] == "FAIL" {
				r.failed, broken = append(r.failed, m[2]), true
			}
		}
		if err != nil && !broken {
			return fmt.Errorf("the tests in %s fail without saying which: %w\n%s", folder, err, tail(out))
		}
	}
	for _, name := range p.tests {
		if !ran[name] {
			return fmt.Errorf("test %s of the trailer of %s was not run in %s", name, p.name, strings.Join(p.packages, " "))
		}
	}
	slices.Sort(r.failed)
	return nil
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

func (j judge) run(ctx context.Context, program, dir, number string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), switchVariable+"="+number)
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return "", err
	}
	return string(out), err
}
