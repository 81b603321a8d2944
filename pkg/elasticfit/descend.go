// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"cmp"
	"slices"
)

// descend hands the pods down from the chosen domains to the leaves.
//
// Down to the slices' level all pods are dealt out anew on each level, over the
// children of all domains chosen above. Below it each domain deals out what it got.
func (v *solver) descend(level int, chosen []int32, out *Assignment) error {
	lay, req := v.s.lay, v.req
	list, spare := v.lists[2][:0], chosen
	list, ok := v.deal(list, level, chosen, req.Pods, v.leaders(), req.SliceSize, true)
	for ; ok && level < min(lay.lowest(), req.SliceLevel); level++ {
		lower := v.lists[1][:0]
		for _, domain := range list {
			lower = v.appendChildren(lower, level, domain)
		}
		v.lists[1] = lower
		list, ok = v.dealSlices(list[:0], level+1, lower)
	}
	for ; ok && level < lay.lowest(); level++ {
		next := spare[:0]
		size := max(1, req.innerSize(level+1))
		for _, domain := range list {
			lower := v.appendChildren(v.lists[1][:0], level, domain)
			v.lists[1] = lower
			// Below the slices' level nothing is counted in slices yet, so the order
			// is that of the pods, those with least room first.
			v.sort(level+1, lower)
			if size > 1 {
				for _, child := range lower {
					r := &v.rooms[level+1][child]
					r.slices, r.slicesWithLeader = r.pods/size, r.podsWithLeader/size
				}
			}
			r := v.rooms[level][domain]
			if next, ok = v.deal(next, level+1, lower, r.pods, r.leaders, size, size > 1); !ok {
				break
			}
		}
		list, spare = next, list
	}
	v.lists[2], v.lists[0] = list, spare
	if !ok {
		return &UnsupportedError{Reason: Unplaceable}
	}
	slices.Sort(list)
	for _, leaf := range list {
		r := v.rooms[lay.lowest()][leaf]
		if req.Leader != nil && r.leaders > 0 {
			out.Leader = append(out.Leader, Placement{Leaf: leaf, Pods: r.leaders})
		}
		if r.pods > 0 {
			out.Workers = append(out.Workers, Placement{Leaf: leaf, Pods: r.pods})
		}
	}
	return nil
}

func (v *solver) appendChildren(list []int32, level int, domain int32) []int32 {
	first, last := v.s.lay.children(level, domain)
	for child := first; child < last; child++ {
		list = append(list, child)
	}
	return list
}

func (v *solver) sort(level int, list []int32) {
	rooms := v.rooms[level]
	slices.SortFunc(list, func(a, b int32) int { return v.before(&rooms[a], &rooms[b], a, b) })
}

// dealSlices puts the domains of a list in order and deals all slices of the request
// out to them. Where one domain is enough for all, it is found without an order.
func (v *solver) dealSlices(dst []int32, level int, list []int32) ([]int32, bool) {
	req, rooms := v.req, v.rooms[level]
	if req.Leader == nil && !v.leastFree() {
		best := int32(-1)
		for _, d := range list {
			if r := &rooms[d]; r.slices >= req.Pods/req.SliceSize && (best < 0 || tighter(r, &rooms[best], d, best)) {
				best = d
			}
		}
		if best >= 0 {
			one := [1]int32{best}
			return v.deal(dst, level, one[:], req.Pods, 0, req.SliceSize, true)
		}
	}
	v.sort(level, list)
	return v.deal(dst, level, list, req.Pods, v.leaders(), req.SliceSize, true)
}

// tighter tells whether room a of domain x is preferred to room b of domain y when
// both are enough.
func tighter(a, b *room, x, y int32) bool {
	return cmp.Or(cmp.Compare(a.slices, b.slices), cmp.Compare(a.pods, b.pods), cmp.Compare(x, y)) < 0
}

// deal gives pods, or slices of them, to the domains of an ordered list until all
// have a place, and appends those that it came by to dst. What a domain gets is
// written to its room. It reports whether all have a place.
func (v *solver) deal(dst []int32, level int, list []int32, pods, leaders, size int32, bySlices bool) ([]int32, bool) {
	v.leaderFirst(level, list, pods, leaders, size, bySlices)
	missing, unit := pods, int32(1)
	if bySlices {
		missing, unit = pods/size, size
	}
	for i, d := range list {
		r := &v.rooms[level][d]
		withLeader := leaders > 0
		if !v.leastFree() && r.amount(bySlices, withLeader) >= missing && r.leaders >= leaders {
			d = v.tightest(level, list[i:], missing, leaders, bySlices)
			r = &v.rooms[level][d]
		}
		dst = append(dst, d)
		have := r.amount(bySlices, withLeader)
		done := have >= missing && r.leaders >= leaders
		have = min(have, missing)
		r.leaders = min(r.leaders, leaders)
		r.pods = have * unit
		if bySlices {
			r.slices = have
		}
		if done {
			return dst, true
		}
		leaders -= r.leaders
		missing -= have
	}
	return dst, false
}
