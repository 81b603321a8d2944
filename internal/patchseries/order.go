// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The lines between which OrderTable stands in its page.
const (
	orderBegin = "<!-- Written by fleet-patch from patches/: run fleet-patch refresh. -->\n"
	orderEnd   = "<!-- End of what fleet-patch writes. -->\n"
)

// Submission is a patch on its way up.
type Submission struct {
	Patch *Patch
	Size  Size
	// Step counts from 1: a patch of step 1 stands on upstream alone, and one of a
	// later step on a patch of the step before it.
	Step int
	// Needs are the patches that have to be there first, Opens those that then can
	// go, both by file name and without what goes between.
	Needs, Opens []string
}

// Order lists what is to be sent up, in an order in which it can be: step by step,
// fixes before seams before features. Backports are upstream already, and patches
// whose status is Inappropriate stay.
func Order(patches []*Patch) []Submission {
	needs := Needs(patches)
	step := map[string]int{}
	var out []Submission
	for _, patch := range patches {
		if !patch.Goes() {
			continue
		}
		s := Submission{Patch: patch, Size: Measure(patch.Diffs), Step: 1}
		for _, need := range needs[patch.Name] {
			if step[need] == 0 {
				continue
			}
			s.Step = max(s.Step, step[need]+1)
			s.Needs = append(s.Needs, need)
		}
		step[patch.Name] = s.Step
		out = append(out, s)
	}
	for i := range out {
		for _, other := range out {
			if slices.Contains(other.Needs, out[i].Patch.Name) {
				out[i].Opens = append(out[i].Opens, other.Patch.Name)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Submission) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Patch.Name, b.Patch.Name))
	})
	return out
}

// Goes reports whether the patch is to be sent up.
func (p *Patch) Goes() bool {
	status, _ := p.Header.Get(TrailerStatus)
	word, _, _ := strings.Cut(status, " ")
	return word == "Pending" || word == "Submitted"
}

// OrderTable renders Order, with what goes away once upstream has a step.
func OrderTable(patches []*Patch) string {
	submissions := Order(patches)
	var out strings.Builder
	fmt.Fprintf(&out, "%s are to go up, %d are upstream already or stay.\n", Count(len(submissions)), len(patches)-len(submissions))
	if len(submissions) == 0 {
		return out.String()
	}
	out.WriteString("\n| Step | Patches | Lines we drop | Test lines |\n|---:|---:|---:|---:|\n")
	for step := 1; ; step++ {
		var sum Size
		count := 0
		for _, s := range submissions {
			if s.Step == step {
				count++
				sum.Lines += s.Size.Lines
				sum.TestLines += s.Size.TestLines
			}
		}
		if count == 0 {
			break
		}
		fmt.Fprintf(&out, "| %d | %d | %d | %d |\n", step, count, sum.Lines, sum.TestLines)
	}
	out.WriteString("\n| Step | Patch | Subject | Class | Needs first | Opens | Lines | We drop it when |\n|---:|---|---|---|---|---|---:|---|\n")
	for _, s := range submissions {
		drop, _ := s.Patch.Header.Get(TrailerDropWhen)
		fmt.Fprintf(&out, "| %d | [%s](../patches/%s) | %s | %s | %s | %s | %d | %s |\n", s.Step, number(s.Patch), s.Patch.Name,
			cell(s.Patch.Header.Subject), s.Patch.Header.Class(), cell(numbers(s.Needs)), cell(numbers(s.Opens)), s.Size.Lines, cell(drop))
	}
	return out.String()
}

func numbers(names []string) string {
	var out []string
	for _, name := range names {
		number, _, _ := strings.Cut(name, "-")
		out = append(out, number)
	}
	return strings.Join(out, ", ")
}

// PlaceOrder returns the page with the table brought up to date.
func PlaceOrder(page string, patches []*Patch) (string, error) {
	before, rest, begun := strings.Cut(page, orderBegin)
	_, after, ended := strings.Cut(rest, orderEnd)
	if !begun || !ended {
		return "", fmt.Errorf("the page needs the lines %q and %q, between which the table goes", strings.TrimSpace(orderBegin), strings.TrimSpace(orderEnd))
	}
	return before + orderBegin + OrderTable(patches) + orderEnd + after, nil
}
