// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed suites.yaml
var suitesYAML []byte

// Set names a selection of suites.
type Set string

const (
	// SetCore is what make test runs.
	SetCore Set = "core"
	// SetExtended is everything that core leaves out.
	SetExtended Set = "extended"
	// SetAll is both.
	SetAll Set = "all"
)

func parseSet(value string) (Set, error) {
	switch set := Set(value); set {
	case SetCore, SetExtended, SetAll:
		return set, nil
	default:
		return "", fmt.Errorf("unknown set %q, want %s, %s or %s", value, SetCore, SetExtended, SetAll)
	}
}

// includes says whether the selection s takes an entry that is declared in set.
func (s Set) includes(declared Set) bool { return s == SetAll || s == declared }

// Config is the content of suites.yaml.
type Config struct {
	// Units are the unit packages of the core set that run whether or not a patch
	// touches them.
	Units []UnitPattern `json:"units"`
	// Suites are the integration suites, the longest first.
	Suites []Suite `json:"suites"`
	// Flakes are the specs that fail now and then on the unpatched module too.
	Flakes []Flake `json:"flakes"`
	// Meant are failures that a gate is there for.
	Meant []Meant `json:"meant"`
}

// UnitPattern is a package of Kueue, or a subtree of packages.
type UnitPattern struct {
	// Package is a folder of the Kueue tree; with /... at the end all below it too.
	Package string `json:"package"`
	Why     string `json:"why"`
}

// Suite is an integration suite of Kueue.
type Suite struct {
	// Path is the suite's folder in the Kueue tree.
	Path string `json:"path"`
	Set  Set    `json:"set"`
	Why  string `json:"why"`
	// Procs is how many processes share the specs.
	Procs int `json:"procs"`
	// Clusters is how many clusters, each with an API server, a process starts; 1 if
	// it is left out.
	Clusters int `json:"clusters,omitempty"`
	// Timeout bounds the run, compilation not included.
	Timeout metav1.Duration `json:"timeout"`
	// NeedsKueuectl is for suites that call the kueuectl program.
	NeedsKueuectl bool `json:"needsKueuectl,omitempty"`
}

// Name is the suite's path as one word, for files.
func (s Suite) Name() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.Path, "test/integration/"), "/", "-")
}

// Flake is a spec that also fails on the unpatched module.
type Flake struct {
	// Suite is the path of an entry of Suites.
	Suite string `json:"suite"`
	// Spec is the full text of the spec.
	Spec string `json:"spec"`
	// Evidence says how often it failed in how many runs of the unpatched module.
	Evidence string `json:"evidence"`
	// Retries is how often the spec may run again, at most.
	Retries int `json:"retries"`
}

const maxRetries = 2

func loadConfig(data []byte) (Config, error) {
	var cfg Config
	if err := yaml.UnmarshalStrict(data, &cfg); err != nil {
		return Config{}, fmt.Errorf("failed to read suites.yaml: %w", err)
	}
	if err := cfg.validate(); err != nil {
		return Config{}, fmt.Errorf("suites.yaml is invalid: %w", err)
	}
	return cfg, nil
}

func (c Config) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Units) == 0 {
		fail("units: want at least one")
	}
	for i, u := range c.Units {
		if u.Package == "" || path.Clean(u.Package) != u.Package {
			fail("units[%d].package: %q is not a clean relative path", i, u.Package)
		}
		if u.Why == "" {
			fail("units[%d].why: must say why %s is run", i, u.Package)
		}
	}
	for i, m := range c.Meant {
		if err := m.validate(); err != nil {
			fail("meant[%d]: %w", i, err)
		}
	}
	seen := map[string]bool{}
	for i, s := range c.Suites {
		if !strings.HasPrefix(s.Path, "test/integration/") || path.Clean(s.Path) != s.Path {
			fail("suites[%d].path: %q is not a folder below test/integration", i, s.Path)
		}
		if seen[s.Path] {
			fail("suites[%d].path: %q is listed twice", i, s.Path)
		}
		seen[s.Path] = true
		if s.Set != SetCore && s.Set != SetExtended {
			fail("suites[%d].set: %q, want %s or %s", i, s.Set, SetCore, SetExtended)
		}
		if s.Why == "" {
			fail("suites[%d].why: must say why %s is run", i, s.Path)
		}
		if s.Procs < 1 || s.Procs > 8 {
			fail("suites[%d].procs: %d, want 1 to 8", i, s.Procs)
		}
		if s.Clusters < 0 || s.Clusters > 8 {
			fail("suites[%d].clusters: %d, want 1 to 8", i, s.Clusters)
		}
		if s.Timeout.Duration <= 0 {
			fail("suites[%d].timeout: %s, want more than 0", i, s.Timeout.Duration)
		}
	}
	for i, f := range c.Flakes {
		if !seen[f.Suite] {
			fail("flakes[%d].suite: %q is not in suites", i, f.Suite)
		}
		if f.Spec == "" || f.Evidence == "" {
			fail("flakes[%d]: spec and evidence must both be given", i)
		}
		if f.Retries < 1 || f.Retries > maxRetries {
			fail("flakes[%d].retries: %d, want 1 to %d", i, f.Retries, maxRetries)
		}
	}
	return errors.Join(errs...)
}

// selectSuites returns the suites of a set whose path contains one of the filters.
// Without filters all match.
func (c Config) selectSuites(set Set, filters []string) ([]Suite, error) {
	var out []Suite
	used := make([]bool, len(filters))
	for _, s := range c.Suites {
		if !set.includes(s.Set) {
			continue
		}
		match := len(filters) == 0
		for i, filter := range filters {
			if strings.Contains(s.Path, filter) {
				match, used[i] = true, true
			}
		}
		if match {
			out = append(out, s)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("no suite of the set %s has %q in its path (see --list)", set, filters[i])
	}
	return out, nil
}

// compareSuites fails unless the list names exactly the suites that were found in
// the tree, so that a suite that a new base brings is not left out in silence.
func (c Config) compareSuites(found []string) error {
	var errs []error
	listed := map[string]bool{}
	for _, s := range c.Suites {
		listed[s.Path] = true
		if !slices.Contains(found, s.Path) {
			errs = append(errs, fmt.Errorf("suites.yaml lists %s, which the Kueue tree does not have", s.Path))
		}
	}
	for _, path := range found {
		if !listed[path] {
			errs = append(errs, fmt.Errorf("suites.yaml lacks %s, a suite of the Kueue tree", path))
		}
	}
	return errors.Join(errs...)
}

// flakesOf returns the known flakes of a suite by the spec's full text.
func (c Config) flakesOf(suite string) map[string]Flake {
	out := map[string]Flake{}
	for _, f := range c.Flakes {
		if f.Suite == suite {
			out[f.Spec] = f
		}
	}
	return out
}
