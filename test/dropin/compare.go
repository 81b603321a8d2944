// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dropin compares upstream's manager and ours as programs and keeps the
// page that says where they differ.
package dropin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Absent stands for a fact that only the other program shows.
const Absent = "(absent)"

// Facts are what one program shows in one area: what was looked at, and the
// answer. Facts must not hold what changes from run to run.
type Facts map[string]string

// Difference is one fact that the two programs don't share.
type Difference struct {
	Area, Key      string
	Upstream, Ours string
}

func (d Difference) String() string {
	if upstream, ours := strings.Split(d.Upstream, "\n"), strings.Split(d.Ours, "\n"); len(upstream) > 1 && len(ours) > 1 {
		return fmt.Sprintf("%s: %s (-upstream,+ours):\n%s", d.Area, d.Key, cmp.Diff(upstream, ours))
	}
	return fmt.Sprintf("%s: %s\n  upstream: %s\n  ours:     %s", d.Area, d.Key, d.Upstream, d.Ours)
}

// Compare lists the differences in one area, ordered by key.
func Compare(area string, upstream, ours Facts) []Difference {
	var differences []Difference
	keys := maps.Clone(upstream)
	if keys == nil {
		keys = Facts{}
	}
	maps.Copy(keys, ours)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		d := Difference{Area: area, Key: key, Upstream: lookUp(upstream, key), Ours: lookUp(ours, key)}
		if d.Upstream != d.Ours {
			differences = append(differences, d)
		}
	}
	return differences
}

func lookUp(facts Facts, key string) string {
	if value, found := facts[key]; found {
		return value
	}
	return Absent
}

// Allowed is a difference that is meant to be there.
type Allowed struct {
	Area, Key string
	// Change says in a few words how the programs differ; it goes into the page.
	Change string
	// Reason says why; it goes into the page.
	Reason string
	// Check returns an error if the difference is not of the meant kind.
	Check func(upstream, ours string) error
}

// Judge checks the differences of one area against the list. The problems are:
// a difference that is not on the list, one that is not of the meant kind, and an
// entry for this area that no difference needs any more.
func Judge(area string, differences []Difference, list []Allowed) (allowed []Allowed, problems []string) {
	rest := slices.DeleteFunc(slices.Clone(list), func(a Allowed) bool { return a.Area != area })
	for _, d := range differences {
		at := slices.IndexFunc(rest, func(a Allowed) bool { return a.Key == d.Key })
		if at < 0 {
			problems = append(problems, fmt.Sprintf("not on the list of allowed differences: %s", d))
			continue
		}
		entry := rest[at]
		rest = slices.Delete(rest, at, at+1)
		if err := entry.Check(d.Upstream, d.Ours); err != nil {
			problems = append(problems, fmt.Sprintf("not the difference that is allowed: %v: %s", err, d))
			continue
		}
		allowed = append(allowed, entry)
	}
	for _, entry := range rest {
		problems = append(problems, fmt.Sprintf("the allowed difference %q in area %q doesn't exist (any more): remove it from the list", entry.Key, entry.Area))
	}
	return allowed, problems
}

// OnlyOurs is the check for what upstream doesn't have.
func OnlyOurs(upstream, _ string) error {
	if upstream != Absent {
		return errors.New("upstream has it too")
	}
	return nil
}
