// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command removal shows what each patch of the series is for: it undoes one at a time
// at the tip of the series, and tells which random sequence of the model test and
// which tests of the patch fail then. It exits with 1 if one is not missed, and if
// something fails with all of them in place.
//
// undo.yaml says how each patch is undone. Its edits put switches into copies of the
// patched files, which the Go tool sees through an overlay, so that one build serves
// for all patches; an environment variable names the one that is undone.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the root of the repository")
	flag.StringVar(&o.only, "only", "", "undo only patches whose name matches this expression")
	flag.IntVar(&o.sequences, "sequences", 3000, "how many sequences to try for a patch")
	flag.Uint64Var(&o.seed, "seed", 1, "the seed of the first sequence")
	flag.StringVar(&o.work, "work", "", "a folder for the programs, to be kept; a temporary one if not set")
	flag.BoolVar(&o.buildOnly, "build-only", false, "build the programs into -work, and run nothing")
	flag.BoolVar(&o.built, "built", false, "run the programs that are in -work already")
	flag.StringVar(&o.write, "write", "", "the page to write the table into")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "removal:", err)
		os.Exit(1)
	}
}

type options struct {
	root, only, work, write string
	sequences               int
	seed                    uint64
	buildOnly, built        bool
}

var errNotMissed = errors.New("nothing notices that these patches are undone")

func run(ctx context.Context, o options) error {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("failed to parse -only %q: %w", o.only, err)
	}
	if (o.built || o.buildOnly) && o.work == "" {
		return errors.New("failed to read the flags: -build-only and -built need -work")
	}
	series, err := readSeries(filepath.Join(root, "patches"))
	if err != nil {
		return err
	}
	undos, err := readUndos(filepath.Join(root, "test/model/removal/undo.yaml"))
	if err != nil {
		return err
	}
	patches, err := match(series, undos)
	if err != nil {
		return err
	}
	// The switches of the others are needed as well: one may guard what is chosen.
	chosen := slices.DeleteFunc(slices.Clone(undos), func(u undo) bool { return !only.MatchString(u.Patch) })
	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "removal-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(o.work) }()
	}
	if o.work, err = filepath.Abs(o.work); err != nil {
		return err
	}
	j := judge{root: root, work: o.work, sequences: o.sequences, seed: o.seed}
	if !o.built {
		file, err := overlay(filepath.Join(root, "third_party/kueue"), o.work, undos)
		if err != nil {
			return err
		}
		if err := j.build(ctx, file, testPackages(chosen, patches)); err != nil {
			return err
		}
	}
	if o.buildOnly {
		return nil
	}
	results, err := j.all(ctx, chosen, patches)
	if err != nil {
		return err
	}
	table := render(results)
	fmt.Print(table)
	if o.write != "" {
		if err := writeTable(o.write, table); err != nil {
			return err
		}
	}
	return missed(results)
}

// testPackages are the folders of the tests of what is undone, each once.
func testPackages(undos []undo, patches map[string]patch) []string {
	var out []string
	for _, u := range undos {
		out = append(out, patches[u.Patch].packages...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// all undoes the patches one after the other.
func (j judge) all(ctx context.Context, undos []undo, patches map[string]patch) ([]result, error) {
	var results []result
	for _, u := range undos {
		p := patches[u.Patch]
		// With everything in place, nothing fails; so the switches change nothing.
		whole := result{}
		if err := j.units(ctx, &whole, p, ""); err != nil {
			return nil, err
		}
		if len(whole.failed) > 0 {
			return nil, fmt.Errorf("tests of %s fail though nothing is undone: %s", u.Patch, strings.Join(whole.failed, ", "))
		}
		r := result{undo: u}
		if len(u.Edits) > 0 {
			if err := j.units(ctx, &r, p, u.number()); err != nil {
				return nil, err
			}
		}
		if u.Unseen == "" {
			if err := j.model(ctx, &r); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(os.Stderr, "%s: %s; failed tests: %s\n", u.Patch, r.failure, strings.Join(r.failed, ", "))
		results = append(results, r)
	}
	if f, err := j.firstFailure(ctx, j.seed, j.sequences); err != nil || f != nil {
		return nil, cmp.Or(err, fmt.Errorf("a sequence fails though nothing is undone: %s", f))
	}
	return results, nil
}

// missed returns an error that names the patches that nothing misses.
func missed(results []result) error {
	var errs []error
	var silent []string
	for _, r := range results {
		if len(r.undo.Edits) > 0 && !r.noticed() {
			silent = append(silent, r.undo.Patch)
		}
		if r.failure == nil && r.undo.Unseen == "" {
			errs = append(errs, fmt.Errorf("the model test doesn't find %s in %d sequences, and undo.yaml doesn't say why", r.undo.Patch, r.tried))
		}
	}
	if len(silent) > 0 {
		errs = append(errs, fmt.Errorf("%w: %s", errNotMissed, strings.Join(silent, ", ")))
	}
	return errors.Join(errs...)
}
