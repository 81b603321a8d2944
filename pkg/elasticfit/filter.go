// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

// Filter says which leaves may take a pod at all, whatever is free there: by
// taints, labels and required affinity. Two filters of one key give the same
// answers.
type Filter interface {
	// Key identifies the filter among those of its engine.
	Key() string
	// Exclusion returns "" if the leaf may take the pod, and else the cause as it
	// is to be listed in a message.
	Exclusion(node any) string
}

// filter is what a Filter says of each leaf.
type filter struct {
	own  *owner
	key  string
	rule Filter
	// excluded is by leaf: 0 if it may take the pod, else the index of the cause.
	excluded []uint16
	causes   []string
	// count is by cause: how many leaves of the flavor are excluded for it.
	count []int
}

func newFilter(s *State, rule Filter) *filter {
	f := &filter{
		own: s.own, key: rule.Key(), rule: rule,
		excluded: make([]uint16, s.lay.size(s.lay.lowest())), causes: []string{""}, count: []int{0},
	}
	for leaf := range f.excluded {
		if s.live[leaf] {
			f.excluded[leaf] = f.cause(rule.Exclusion(s.nodes[leaf]))
			f.count[f.excluded[leaf]]++
		}
	}
	return f
}

func (f *filter) cause(name string) uint16 {
	for i, cause := range f.causes {
		if cause == name {
			return uint16(i)
		}
	}
	f.causes = append(f.causes, name)
	f.count = append(f.count, 0)
	return uint16(len(f.causes) - 1)
}

// update returns the filter with what it says of one leaf brought up to date. The
// leaf's state before is given by wasLive.
func (f *filter) update(s *State, leaf int32, wasLive bool) *filter {
	if f.own != s.own {
		clone := *f
		clone.own = s.own
		clone.excluded = append([]uint16(nil), f.excluded...)
		clone.causes = append([]string(nil), f.causes...)
		clone.count = append([]int(nil), f.count...)
		f = &clone
	}
	if wasLive {
		f.count[f.excluded[leaf]]--
	}
	f.excluded[leaf] = 0
	if s.live[leaf] {
		f.excluded[leaf] = f.cause(f.rule.Exclusion(s.nodes[leaf]))
		f.count[f.excluded[leaf]]++
	}
	return f
}
