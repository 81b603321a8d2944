// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

// Checker judges states that follow each other. Nothing takes a running job's quota
// or node away when an administrator lowers a quota, cordons a node or a node is
// lost. So a limit that fell below what was in use is no violation, as long as what
// is in use doesn't grow while it is above the limit.
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
	for _, f := range found {
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
	c.previous = &s
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
