// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"cmp"
	"slices"
)

// choose returns the domains that take the pods, and their level: one domain of the
// requested level, else one above it, else several of the highest level looked at.
func (v *solver) choose() (int, []int32, error) {
	want := v.req.Pods / v.req.SliceSize
	leaders := v.leaders()
	for level := v.req.Level; ; level-- {
		if domain, found := v.single(level, want, leaders); found {
			v.lists[0] = append(v.lists[0][:0], domain)
			return level, v.lists[0], nil
		}
		switch {
		case v.req.Required:
			return 0, nil, v.noFit(level, v.mostOf(level), want)
		case level == 0 || v.req.Unconstrained:
			chosen, err := v.several(level, want, leaders)
			return level, chosen, err
		}
	}
}

func (v *solver) leaders() int32 {
	if v.req.Leader != nil {
		return 1
	}
	return 0
}

func (v *solver) leastFree() bool { return v.req.LeastFree && v.req.Unconstrained }

// before tells whether room a of domain x comes before room b of domain y when
// domains are taken for a leader and workers.
func (v *solver) beforeWithLeader(a, b *room, x, y int32) int {
	bySlices := cmp.Compare(b.slicesWithLeader, a.slicesWithLeader)
	if v.leastFree() {
		bySlices = -bySlices
	}
	return cmp.Or(cmp.Compare(b.leaders, a.leaders), bySlices, cmp.Compare(a.podsWithLeader, b.podsWithLeader), cmp.Compare(x, y))
}

// before is beforeWithLeader for workers alone.
func (v *solver) before(a, b *room, x, y int32) int {
	bySlices := cmp.Compare(b.slices, a.slices)
	if v.leastFree() {
		bySlices = -bySlices
	}
	return cmp.Or(bySlices, cmp.Compare(a.pods, b.pods), cmp.Compare(x, y))
}

// single returns the one domain of a level that suits all slices and the leader
// best: of those with room, one with the least.
func (v *solver) single(level int, want, leaders int32) (int32, bool) {
	rooms := v.rooms[level]
	best, found := int32(0), false
	for d := range int32(len(rooms)) {
		r := &rooms[d]
		if r.leaders < leaders || r.capacity(leaders) < want {
			continue
		}
		if !found {
			best, found = d, true
			continue
		}
		b := &rooms[best]
		if c := cmp.Compare(r.capacity(leaders), b.capacity(leaders)); c < 0 || c == 0 && v.beforeWithLeader(r, b, d, best) < 0 {
			best = d
		}
	}
	return best, found
}

func (r *room) capacity(leaders int32) int32 {
	if leaders > 0 {
		return r.slicesWithLeader
	}
	return r.slices
}

// mostOf returns how much the domain has that comes closest, for the message of a
// request that must have a single one. Domains that the tree only remembers don't
// count.
func (v *solver) mostOf(level int) int32 {
	rooms := v.rooms[level]
	best := int32(-1)
	for d := range int32(len(rooms)) {
		if !v.s.exists(level, d) {
			continue
		}
		if best < 0 {
			best = d
			continue
		}
		// The last one has the most where those with the least room come first.
		if later := v.beforeWithLeader(&rooms[d], &rooms[best], d, best) > 0; later == v.leastFree() {
			best = d
		}
	}
	if v.leastFree() {
		return rooms[best].pods
	}
	return rooms[best].slices
}

// several returns domains of a level that hold all slices together, the leader's
// first.
func (v *solver) several(level int, want, leaders int32) ([]int32, error) {
	sorted := v.lists[1][:0]
	for d := range int32(len(v.rooms[level])) {
		sorted = append(sorted, d)
	}
	v.lists[1] = sorted
	rooms := v.rooms[level]
	slices.SortFunc(sorted, func(a, b int32) int { return v.beforeWithLeader(&rooms[a], &rooms[b], a, b) })
	v.leaderFirst(level, sorted, v.req.Pods, leaders, v.req.SliceSize, true)

	chosen := v.lists[0][:0]
	missing, missingLeaders := want, leaders
	i := 0
	for ; missingLeaders > 0 && i < len(sorted) && rooms[sorted[i]].leaders > 0; i++ {
		d := sorted[i]
		if !v.leastFree() && rooms[d].slicesWithLeader >= missing {
			d = v.tightest(level, sorted[i:], missing, missingLeaders, true)
		}
		chosen = append(chosen, d)
		missingLeaders -= rooms[d].leaders
		missing -= rooms[d].slicesWithLeader
	}
	if missingLeaders > 0 {
		return nil, v.noFit(level, leaders-missingLeaders, want)
	}
	rest := sorted[i:]
	slices.SortFunc(rest, func(a, b int32) int { return v.before(&rooms[a], &rooms[b], a, b) })
	for i := 0; missing > 0 && i < len(rest); i++ {
		d := rest[i]
		if !v.leastFree() && rooms[d].slices >= missing {
			d = v.tightest(level, rest[i:], missing, 0, true)
		}
		chosen = append(chosen, d)
		missing -= rooms[d].slices
	}
	v.lists[0] = chosen
	if missing > 0 {
		return nil, v.noFit(level, want-missing, want)
	}
	return chosen, nil
}

// tightest returns the first domain of the list that has the least room of those
// with enough, or the first of all.
func (v *solver) tightest(level int, list []int32, need, leaders int32, bySlices bool) int32 {
	best, bestRoom := list[0], int32(-1)
	for _, d := range list {
		r := &v.rooms[level][d]
		if r.leaders < leaders {
			continue
		}
		have := r.amount(bySlices, leaders > 0)
		if have >= need && (bestRoom < 0 || have < bestRoom) {
			best, bestRoom = d, have
		}
	}
	return best
}

func (r *room) amount(bySlices, withLeader bool) int32 {
	switch {
	case bySlices && withLeader:
		return r.slicesWithLeader
	case bySlices:
		return r.slices
	case withLeader:
		return r.podsWithLeader
	}
	return r.pods
}

// leaderFirst moves the first domain to the front that can host the leader and
// leaves enough room for the workers in all of them together.
func (v *solver) leaderFirst(level int, list []int32, pods, leaders, size int32, bySlices bool) {
	if leaders == 0 || len(list) < 2 {
		return
	}
	need := pods
	if bySlices {
		need /= size
	}
	var have int32
	for _, d := range list {
		have += v.rooms[level][d].amount(bySlices, false)
	}
	for i, d := range list {
		r := &v.rooms[level][d]
		if r.leaders < leaders || have-(r.amount(bySlices, false)-r.amount(bySlices, true)) < need {
			continue
		}
		copy(list[1:i+1], list[:i])
		list[0] = d
		return
	}
}
