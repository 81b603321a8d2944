// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"fmt"
	"slices"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// manyJobs is from when on jobs of one kind share a check.
const manyJobs = 12

// expectations are the checks that every job comes with.
func (p *Player) expectations(rec *recording.Recording) []recording.Check {
	byName := map[string]*recording.Job{}
	for i := range rec.Jobs {
		byName[rec.Jobs[i].Name] = &rec.Jobs[i]
	}
	var checks []recording.Check
	ofClass, classes := map[kind][]recording.Check{}, []kind{}
	for i := range p.scenario.Jobs {
		j := &p.scenario.Jobs[i]
		if j.Expect == scenario.Whatever {
			continue
		}
		k := kind{j.Class, j.Expect}
		if ofClass[k] == nil {
			classes = append(classes, k)
		}
		for _, name := range j.Names() {
			if !p.deleted[name] {
				ofClass[k] = append(ofClass[k], expectation(name, j.Expect, byName[name]))
			}
		}
	}
	for _, k := range classes {
		checks = append(checks, together(k.class, ofClass[k])...)
	}
	return checks
}

// kind are jobs of one class that are to end alike.
type kind struct {
	class  string
	expect scenario.Expectation
}

func expectation(name string, expect scenario.Expectation, job *recording.Job) recording.Check {
	c := recording.Check{Name: fmt.Sprintf("%s %s", name, expect), Got: "it was not submitted"}
	switch expect {
	case scenario.Succeeds:
		c.Want = "Succeeded, every item done and committed once"
	case scenario.Fails:
		c.Want = "Failed"
	case scenario.Rejected:
		c.Want = "refused by the API server"
	}
	if job == nil {
		return c
	}
	switch expect {
	case scenario.Succeeds:
		c.Got = fmt.Sprintf("%s, %d of %d items done, %d committed again", orNot(job.Result), job.ItemsDone, job.ItemsTotal, job.ItemsRepeated)
		c.Passed = job.Result == "Succeeded" && job.ItemsDone == job.ItemsTotal && job.ItemsRepeated == 0
	case scenario.Fails:
		c.Got, c.Passed = orNot(job.Result), job.Result == "Failed"
	case scenario.Rejected:
		c.Got, c.Passed = "accepted", job.Rejected != ""
		if job.Rejected != "" {
			c.Got = job.Rejected
		}
	}
	return c
}

func orNot(result string) string {
	if result == "" {
		return "not finished"
	}
	return result
}

// together makes one check of many of a kind.
func together(class string, checks []recording.Check) []recording.Check {
	if len(checks) < manyJobs {
		return checks
	}
	failed := slices.DeleteFunc(slices.Clone(checks), func(c recording.Check) bool { return c.Passed })
	name := fmt.Sprintf("all %d jobs end as expected", len(checks))
	if class != "" {
		name = fmt.Sprintf("all %d jobs of %s end as expected", len(checks), class)
	}
	one := recording.Check{
		Name: name, Want: checks[0].Want,
		Got: fmt.Sprintf("%d do not", len(failed)), Passed: len(failed) == 0,
	}
	for _, c := range failed {
		one.Evidence = append(one.Evidence, c.Name+": "+c.Got)
	}
	return []recording.Check{one}
}

// unfinished says what a scenario waited for.
func (p *Player) unfinished(rec *recording.Recording) string {
	var parts []string
	waiting := 0
	for _, s := range p.steps {
		if !s.done {
			waiting++
		}
	}
	if waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d submissions or events did not come", waiting))
	}
	for _, name := range p.awaited() {
		i := slices.IndexFunc(rec.Jobs, func(j recording.Job) bool { return j.Name == name.Name })
		if i < 0 || rec.Jobs[i].Finished == nil {
			parts = append(parts, name.Name+" did not finish")
		}
	}
	if len(parts) == 0 {
		return "pods were left, or a check did not come true"
	}
	return strings.Join(parts, ", ")
}
