// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"cmp"
	"slices"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Checker judges states that follow each other. Nothing takes a running job's quota
// or node away when an administrator lowers a quota, cordons a node or a node is
// lost. So a limit that fell below what was in use is no violation, as long as what
// is in use doesn't grow while it is above the limit. It also sees what a Workload
// was before, and by whom a slice was replaced when it ended.
type Checker struct {
	previous *State
}

// NewChecker returns a Checker that has seen no state yet.
func NewChecker() *Checker { return &Checker{} }

// Check judges s, which follows the state of the last call. The objects of both must
// not be changed afterwards.
func (c *Checker) Check(s State) []Violation {
	found := newView(s).violations()
	var before map[string]int64
	var out []Violation
	was := c.workloadsBefore()
	for _, f := range found {
		if f.ended != nil && was.same(f.ended) != nil && isFinished(was.same(f.ended)) {
			// It was judged when it ended. Who replaced it may be gone by now.
			continue
		}
		if f.amount != nil && c.previous != nil {
			if before == nil {
				before = c.usedBefore(s)
			}
			if f.amount.used <= before[f.amount.key] {
				continue
			}
		}
		out = append(out, f.Violation)
	}
	out = append(out, changes(was, s)...)
	slices.SortStableFunc(out, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	c.previous = &s
	return out
}

// workloads are the Workloads of a state by namespace and name.
type workloads map[string]*kueue.Workload

// same returns what wl was, or nil if it wasn't there.
func (w workloads) same(wl *kueue.Workload) *kueue.Workload {
	if old := w[wl.Namespace+"/"+wl.Name]; old != nil && old.UID == wl.UID {
		return old
	}
	return nil
}

func (c *Checker) workloadsBefore() workloads {
	was := workloads{}
	if c.previous != nil {
		for i := range c.previous.Workloads {
			wl := &c.previous.Workloads[i]
			was[wl.Namespace+"/"+wl.Name] = wl
		}
	}
	return was
}

// changes looks for what no Workload may do from one state to the next.
func changes(was workloads, s State) []Violation {
	var out []Violation
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		before := was.same(wl)
		if before == nil {
			continue
		}
		if isFinished(before) && !isFinished(wl) {
			out = append(out, Violation{FinishedStays, "workload " + wl.Name, "it had finished, and has not any more"})
		}
		old := was[wl.Annotations[replacementAnnotation]]
		if old != nil && ownerOf(old) == ownerOf(wl) && isEvicted(old) && holdsQuota(old) && !isFinished(old) &&
			!holdsQuota(before) && holdsQuota(wl) {
			out = append(out, Violation{EvictedStops, "workload " + wl.Name, "it was admitted in the place of " + old.Name + ", which was evicted"})
		}
	}
	return out
}

// usedBefore is what was in use before s, counted by the limits of s.
func (c *Checker) usedBefore(s State) map[string]int64 {
	s.Workloads, s.Pods = c.previous.Workloads, c.previous.Pods
	v := newView(s)
	v.violations()
	used := make(map[string]int64, len(v.amounts))
	for _, a := range v.amounts {
		used[a.key] = a.used
	}
	return used
}
