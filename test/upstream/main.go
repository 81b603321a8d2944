// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command upstream runs Kueue's own tests on the patched tree. Which suites there
// are, why they are run and what is known to be flaky is in suites.yaml; how to use
// the command is in docs/testing.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fleet.ai/kueue-fleet/internal/repo"
)

const (
	kueueModule = "sigs.k8s.io/kueue"
	// testLogLevel is the level that Kueue's own make targets use. Specs that
	// check log lines need it.
	testLogLevel = "-3"
	unitTimeout  = 20 * time.Minute
)

type options struct {
	set         string
	units       bool
	integration bool
	list        bool
	race        bool
	fresh       bool
	only        string
	focus       string
	tree        string
	procs       int
	servers     int
	repeat      int
	gates       string
	fit         bool
}

func main() {
	var o options
	flag.StringVar(&o.set, "set", string(SetCore), "which tests: core, extended or all")
	flag.BoolVar(&o.units, "units", false, "run the unit tests only")
	flag.BoolVar(&o.integration, "integration", false, "run the integration suites only")
	flag.BoolVar(&o.list, "list", false, "print what would run and why, and exit")
	flag.StringVar(&o.only, "suites", "", "run only the suites with one of these, separated by commas, in their path")
	flag.StringVar(&o.focus, "focus", "", "run only specs (with --units: tests) that match this regular expression")
	flag.BoolVar(&o.race, "race", false, "compile with the race detector")
	flag.BoolVar(&o.fresh, "fresh", false, "run unit tests even if Go's test cache has their result")
	flag.IntVar(&o.procs, "procs", 0, "processes per suite instead of those in suites.yaml")
	flag.IntVar(&o.servers, "api-servers", 6, "how many API servers the suites that run side by side may have in all")
	flag.IntVar(&o.repeat, "repeat", 1, "run the selection this often, to look for flaky specs")
	flag.StringVar(&o.tree, "tree", "", "Kueue tree to test instead of third_party/kueue")
	flag.StringVar(&o.gates, "gates", "", "feature gates to run with, as for --feature-gates, for example FleetElasticConstrainedTopology=true")
	flag.BoolVar(&o.fit, "elastic-fit", false, "let the fit engine place pods, as with the gate FleetElasticFit")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// plan is what a run consists of.
type plan struct {
	units  []string
	suites []Suite
	// touched are the packages that differ from the unpatched module.
	touched []string
}

// folders are those of all that runs.
func (p plan) folders() []string {
	out := slices.Clone(p.units)
	for _, s := range p.suites {
		out = append(out, s.Path)
	}
	return out
}

func run(ctx context.Context, o options) (bool, error) {
	set, err := o.validate()
	if err != nil {
		return false, err
	}
	cfg, err := loadConfig(suitesYAML)
	if err != nil {
		return false, err
	}
	root, err := repo.FromWorkingDir()
	if err != nil {
		return false, err
	}
	tree := filepath.Join(root, "third_party", "kueue")
	if o.tree != "" {
		if tree, err = filepath.Abs(o.tree); err != nil {
			return false, err
		}
	}
	p, err := makePlan(ctx, o, cfg, set, tree)
	if err != nil {
		return false, err
	}
	if o.list {
		printPlan(os.Stdout, cfg, p)
		return true, nil
	}
	meant := cfg.meantWith(o)
	start := time.Now()
	r := &runner{
		tree:      tree,
		binDir:    filepath.Join(root, "bin", "upstream"),
		artifacts: filepath.Join(root, "artifacts", "upstream"),
		race:      o.race,
		focus:     o.focus,
		skip:      skipExpression(meant),
		procs:     o.procs,
		logf: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "upstream: %5.0fs  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
		},
	}
	if err := errors.Join(os.MkdirAll(r.binDir, 0o755), os.MkdirAll(r.artifacts, 0o755)); err != nil {
		return false, err
	}
	if o.gates != "" || o.fit {
		// The go command takes folders with such a name for no packages of ours.
		if r.overlay, err = p.overlay(ctx, filepath.Join(r.binDir, "_overlay"), tree, o); err != nil {
			return false, err
		}
	}
	if len(p.suites) > 0 {
		if err := r.prepareSuites(ctx, root, p.suites); err != nil {
			return false, err
		}
	}
	var results []Result
	for i := range o.repeat {
		if o.repeat > 1 {
			r.artifacts = filepath.Join(root, "artifacts", "upstream", fmt.Sprintf("repeat-%d", i+1))
			if err := os.MkdirAll(r.artifacts, 0o755); err != nil {
				return false, err
			}
		}
		if len(p.units) > 0 {
			results = append(results, r.runUnits(ctx, p.units, o.fresh || o.repeat > 1))
		}
		results = append(results, r.runSuites(ctx, cfg, p.suites, int64(o.servers))...)
	}
	idle := withoutMeant(results, meant, p.folders())
	ok := summarize(os.Stdout, results)
	for _, m := range idle {
		ok = false
		fmt.Printf("suites.yaml: meant: %s: no failure matches %q\n", m.In, m.Tests)
	}
	return ok, writeSummary(filepath.Join(root, "artifacts", "upstream"), results)
}

func (o options) validate() (Set, error) {
	set, err := parseSet(o.set)
	if err != nil {
		return "", err
	}
	if flag.NArg() > 0 {
		return "", fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if o.units && (o.integration || o.only != "") {
		return "", errors.New("--units excludes --integration and --suites")
	}
	for name, value := range map[string]int{"api-servers": o.servers, "repeat": o.repeat} {
		if value < 1 {
			return "", fmt.Errorf("--%s is %d, want at least 1", name, value)
		}
	}
	if o.procs < 0 {
		return "", fmt.Errorf("--procs is %d, want at least 1, or 0 for the suites' own", o.procs)
	}
	return set, nil
}

func makePlan(ctx context.Context, o options, cfg Config, set Set, tree string) (plan, error) {
	var p plan
	if !o.units {
		found, err := findSuites(tree)
		if err != nil {
			return plan{}, err
		}
		if err := cfg.compareSuites(found); err != nil {
			return plan{}, err
		}
		var filters []string
		if o.only != "" {
			filters = strings.Split(o.only, ",")
		}
		if p.suites, err = cfg.selectSuites(set, filters); err != nil {
			return plan{}, err
		}
	}
	if !o.integration && o.only == "" {
		all, err := listPackages(ctx, tree)
		if err != nil {
			return plan{}, err
		}
		var changed []string
		// A tree that was named on the command line may be the module as it is.
		if o.tree == "" {
			if changed, err = changedFiles(ctx, tree); err != nil {
				return plan{}, err
			}
		}
		p.touched = touchedPackages(all, changed)
		if p.units, err = unitPackages(all, cfg.Units, changed, set); err != nil {
			return plan{}, err
		}
	}
	return p, nil
}

func printPlan(w io.Writer, cfg Config, p plan) {
	for _, s := range p.suites {
		fmt.Fprintf(w, "%s (%s, %d processes, at most %s): %s\n", s.Path, s.Set, s.Procs, s.Timeout.Duration, s.Why)
	}
	for _, dir := range p.units {
		fmt.Fprintf(w, "%s (unit tests): %s\n", dir, cfg.whyUnit(dir, p.touched))
	}
	for _, f := range cfg.Flakes {
		fmt.Fprintf(w, "known flake in %s: %q: %s; at most %d retries\n", f.Suite, f.Spec, f.Evidence, f.Retries)
	}
}
