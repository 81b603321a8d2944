// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import "slices"

// quick places workers without slices, without a leader, by the index: it looks at
// the domains that take them and at those where Assumed counts.
func (v *solver) quick(out *Assignment) error {
	lowest, want := v.s.lay.lowest(), v.req.Pods
	for level := v.req.Level; ; level-- {
		if d, found := v.tightestByIndex(level, want); found {
			if level == lowest {
				out.Workers = append(out.Workers, Placement{Leaf: d, Pods: want})
				return nil
			}
			v.makeRooms()
			v.roomsByIndex(level, d, d+1)
			v.lists[0] = append(v.lists[0][:0], d)
			return v.descend(level, v.lists[0], out)
		}
		if v.req.Required {
			return v.noFit(level, v.largestByIndex(level), want)
		}
		if level > 0 && !v.req.Unconstrained {
			continue
		}
		if total := v.total(level); total < int64(want) {
			return v.noFit(level, int32(total), want)
		}
		if level == lowest && v.leastFree() {
			v.fillLeastFree(out)
			return nil
		}
		v.makeRooms()
		v.roomsOf(level, 0, int32(v.s.lay.size(level)))
		chosen, err := v.several(level, want, 0)
		if err != nil {
			return err
		}
		for _, d := range chosen {
			v.roomsByIndex(level, d, d+1)
		}
		return v.descend(level, chosen, out)
	}
}

// tightestByIndex returns the first domain of those with the least room that is
// enough.
func (v *solver) tightestByIndex(level int, want int32) (int32, bool) {
	best := entry{domain: -1}
	v.sh.levels[level].ascending(want, func(e entry) bool {
		if _, changed := v.find(level, e.domain); changed {
			return true
		}
		best = e
		return false
	})
	for _, e := range v.changed[level] {
		if e.count >= want && (best.domain < 0 || byCount(e, best) < 0) {
			best = e
		}
	}
	return best.domain, best.domain >= 0
}

func (v *solver) largestByIndex(level int) int32 {
	most := v.sh.levels[level].largest(func(d int32) bool {
		_, changed := v.find(level, d)
		return changed
	})
	for _, e := range v.changed[level] {
		most = max(most, e.count)
	}
	return most
}

// total returns how many pods all domains of a level hold together.
func (v *solver) total(level int) int64 {
	table := &v.sh.levels[level]
	total := table.total
	for _, e := range v.changed[level] {
		total += int64(e.count) - int64(table.at(e.domain))
	}
	return total
}

// fillLeastFree takes the leaves with the least room first until all pods have a
// place. There is room for all.
func (v *solver) fillLeastFree(out *Assignment) {
	lowest, missing := v.s.lay.lowest(), v.req.Pods
	take := func(e entry) bool {
		if pods := min(e.count, missing); pods > 0 {
			out.Workers = append(out.Workers, Placement{Leaf: e.domain, Pods: pods})
			missing -= pods
		}
		return missing > 0
	}
	v.merged = append(v.merged[:0], v.changed[lowest]...)
	changed := v.merged
	slices.SortFunc(changed, byCount)
	v.sh.levels[lowest].ascending(1, func(e entry) bool {
		if _, counted := v.find(lowest, e.domain); counted {
			return true
		}
		for len(changed) > 0 && byCount(changed[0], e) < 0 {
			first := changed[0]
			changed = changed[1:]
			if !take(first) {
				return false
			}
		}
		return take(e)
	})
	for len(changed) > 0 && missing > 0 {
		take(changed[0])
		changed = changed[1:]
	}
	slices.SortFunc(out.Workers, func(a, b Placement) int { return int(a.Leaf - b.Leaf) })
}

// roomsByIndex fills in the rooms of a range of domains and of all below them.
func (v *solver) roomsByIndex(level int, from, to int32) {
	lay := v.s.lay
	for ; ; level++ {
		v.roomsOf(level, from, to)
		if level == lay.lowest() {
			return
		}
		from, to = lay.levels[level].first[from], lay.levels[level].first[to]
	}
}

func (v *solver) roomsOf(level int, from, to int32) {
	table, rooms, changed := &v.sh.levels[level], v.rooms[level], v.changed[level]
	next, _ := v.find(level, from)
	for d := from; d < to; d++ {
		pods := table.at(d)
		if next < len(changed) && changed[next].domain == d {
			pods = changed[next].count
			next++
		}
		rooms[d] = room{pods: pods, slices: pods, podsWithLeader: pods, slicesWithLeader: pods}
	}
}
