// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Meant says that specs or tests fail when a gate is on, since they demand what the
// gate is there to change.
type Meant struct {
	// With is a gate, or elasticFit for --elastic-fit.
	With string `json:"with"`
	// In is a package or a suite's path.
	In string `json:"in"`
	// Tests is a regular expression that matches the whole name of a test, or the
	// whole text of a spec.
	Tests string `json:"tests"`
	// Skip leaves the unit tests out, in all packages: they would end the program and
	// with it the other tests.
	Skip bool   `json:"skip,omitempty"`
	Why  string `json:"why"`
}

const elasticFit = "elastic-fit"

func (m Meant) validate() error {
	var errs []error
	for field, value := range map[string]string{"with": m.With, "in": m.In, "tests": m.Tests, "why": m.Why} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s: must be set", field))
		}
	}
	if _, err := regexp.Compile(m.Tests); err != nil {
		errs = append(errs, fmt.Errorf("tests: %w", err))
	}
	return errors.Join(errs...)
}

// matches says whether a failure of the given suite (or of the unit tests) is this
// one. The name of a unit test comes after its package.
func (m Meant) matches(suite, spec string) bool {
	in := suite
	if pkg, test, found := strings.Cut(spec, " "); found && strings.HasPrefix(pkg, kueueModule+"/") {
		in, spec = strings.TrimPrefix(pkg, kueueModule+"/"), test
	}
	return in == m.In && regexp.MustCompile("^(?:"+m.Tests+")$").MatchString(spec)
}

// meantWith returns the entries for what a run has on.
func (c Config) meantWith(o options) []Meant {
	var out []Meant
	for _, m := range c.Meant {
		on := m.With == elasticFit && o.fit
		for gate := range strings.SplitSeq(o.gates, ",") {
			on = on || gate == m.With+"=true"
		}
		if on {
			out = append(out, m)
		}
	}
	return out
}

// skipExpression matches the unit tests that are left out; it is empty if none is.
func skipExpression(meant []Meant) string {
	var names []string
	for _, m := range meant {
		if m.Skip {
			names = append(names, m.Tests)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(?:" + strings.Join(names, "|") + ")$"
}

// withoutMeant takes the meant failures out of the results and counts them. It
// returns the entries that nothing matched although their package or suite ran: the
// list is out of date then.
func withoutMeant(results []Result, meant []Meant, ran []string) (idle []Meant) {
	hits := make([]int, len(meant))
	for i := range results {
		r := &results[i]
		r.Failures = slices.DeleteFunc(r.Failures, func(f Failure) bool {
			hit := slices.IndexFunc(meant, func(m Meant) bool { return m.matches(r.Suite, f.Spec) })
			if hit < 0 {
				return false
			}
			hits[hit]++
			r.Failed--
			r.Meant++
			return true
		})
	}
	for i, m := range meant {
		if hits[i] == 0 && !m.Skip && slices.Contains(ran, m.In) {
			idle = append(idle, m)
		}
	}
	return idle
}
