// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"cmp"
	"slices"
	"sync"
)

// room is what a domain can take, and then what it is given.
type room struct {
	pods   int32
	slices int32
	// withLeader are the pods and slices that there is room for beside the leader.
	podsWithLeader   int32
	slicesWithLeader int32
	// leaders is 1 if there is room for the leader.
	leaders int32
}

// solver is the scratch space of one request. It is reused.
type solver struct {
	s   *State
	req *Request
	sh  *shape
	// rooms are by level and domain. Only those of the part of the tree that the
	// request is about are filled in.
	rooms [][]room
	// changed are, per level, the domains where Assumed counts, and what they hold.
	changed [][]entry
	limits  []uint8
	usage   []LeafUsage
	lists   [3][]int32
	merged  []entry
}

var solvers = sync.Pool{New: func() any { return &solver{} }}

// Place finds leaves for the request and writes them to out, whose slices it reuses.
// It returns a *NoFitError if there is no room, and an *UnsupportedError if it can't
// tell; out is then of no use.
func (s *State) Place(req *Request, out *Assignment) error {
	out.Workers, out.Leader = out.Workers[:0], out.Leader[:0]
	if err := req.unsupported(); err != nil {
		return err
	}
	key := shapeKey{empty: req.Empty, request: req.Pod}
	v := solvers.Get().(*solver)
	defer solvers.Put(v)
	v.s, v.req, v.sh = s, req, s.shapeFor(&key, req.Filter)
	err := v.solve(out)
	v.s, v.req, v.sh = nil, nil, nil
	return err
}

func (v *solver) solve(out *Assignment) error {
	if v.s.liveLeaves == 0 {
		return v.noDomains()
	}
	v.overlay()
	if v.req.Leader == nil && v.req.Within == "" && v.req.Pods > 0 && !v.req.sliced(v.s) {
		return v.quick(out)
	}
	return v.thorough(out)
}

// overlay counts the leaves that Assumed is about, and the domains above them.
func (v *solver) overlay() {
	lay := v.s.lay
	for len(v.changed) < len(lay.levels) {
		v.changed = append(v.changed, nil)
	}
	for level := range v.changed {
		v.changed[level] = v.changed[level][:0]
	}
	v.limits = v.limits[:0]
	if len(v.req.Assumed) == 0 {
		return
	}
	v.usage = byLeaf(append(v.usage[:0], v.req.Assumed...))
	leaves := v.changed[lay.lowest()]
	for _, usage := range v.usage {
		count, limit := v.sh.leafFit(v.s, usage.Leaf, usage.Amounts)
		leaves = append(leaves, entry{domain: usage.Leaf, count: count})
		v.limits = append(v.limits, limit)
	}
	v.changed[lay.lowest()] = leaves
	for level := lay.lowest() - 1; level >= 0; level-- {
		below, here := &v.sh.levels[level+1], v.changed[level]
		for _, e := range v.changed[level+1] {
			parent := lay.levels[level+1].parent[e.domain]
			if len(here) == 0 || here[len(here)-1].domain != parent {
				here = append(here, entry{domain: parent, count: v.sh.levels[level].at(parent)})
			}
			here[len(here)-1].count += e.count - below.at(e.domain)
		}
		v.changed[level] = here
	}
}

// find returns the position of a domain in a level's changed ones.
func (v *solver) find(level int, domain int32) (int, bool) {
	return slices.BinarySearchFunc(v.changed[level], domain, func(e entry, d int32) int { return cmp.Compare(e.domain, d) })
}

// thorough counts every domain, chooses among them and goes down from there.
func (v *solver) thorough(out *Assignment) error {
	lay := v.s.lay
	v.makeRooms()
	from, to := v.fillLeaves(0, int32(lay.size(lay.lowest())))
	v.fillUp(0, from, to)
	level, chosen, err := v.choose()
	if err != nil {
		return err
	}
	return v.descend(level, chosen, out)
}

func (v *solver) makeRooms() {
	lay := v.s.lay
	for len(v.rooms) < len(lay.levels) {
		v.rooms = append(v.rooms, nil)
	}
	for level := range lay.levels {
		if n := lay.size(level); cap(v.rooms[level]) < n {
			v.rooms[level] = make([]room, n)
		} else {
			v.rooms[level] = v.rooms[level][:n]
		}
	}
}

// fillLeaves fills in the rooms of a range of leaves.
func (v *solver) fillLeaves(from, to int32) (int32, int32) {
	s, req := v.s, v.req
	lowest := s.lay.lowest()
	rooms, table := v.rooms[lowest], &v.sh.levels[lowest]
	within, bounded := v.within()
	next, _ := v.find(lowest, from)
	changed := v.changed[lowest]
	var leader []int
	if req.Leader != nil {
		leader = s.res.positive(req.Leader)
	}
	for leaf := from; leaf < to; leaf++ {
		r := room{}
		var extra Vector
		pods := table.at(leaf)
		if next < len(changed) && changed[next].domain == leaf {
			pods, extra = changed[next].count, v.usage[next].Amounts
			next++
		}
		if v.sh.takes(s, leaf) && (!bounded || leaf >= within.from && leaf < within.to) {
			r.pods, r.podsWithLeader = pods, pods
			if req.Leader != nil {
				if fits, _ := s.fit(leaf, req.Empty, req.Leader, leader, extra, nil); fits > 0 {
					r.leaders = 1
					r.podsWithLeader, _ = s.fit(leaf, req.Empty, req.Pod, v.sh.resources, extra, req.Leader)
				}
			}
			if lowest == req.SliceLevel {
				r.slices, r.slicesWithLeader = r.pods/req.SliceSize, r.podsWithLeader/req.SliceSize
			}
		}
		rooms[leaf] = r
	}
	return from, to
}

type leafRange struct{ from, to int32 }

// within returns the leaves that Within allows.
func (v *solver) within() (leafRange, bool) {
	if v.req.Within == "" {
		return leafRange{}, false
	}
	ref, found := v.s.lay.byPath[v.req.Within]
	if !found {
		return leafRange{}, true
	}
	from, to := v.s.lay.leaves(ref.level, ref.domain)
	return leafRange{from: from, to: to}, true
}

// fillUp fills in the rooms above a range of leaves, which is that of one or more
// whole domains of the top level given.
func (v *solver) fillUp(top int, from, to int32) {
	lay := v.s.lay
	for level := lay.lowest() - 1; level >= top; level-- {
		if from == to {
			return
		}
		parent := lay.levels[level+1].parent
		from, to = parent[from], parent[to-1]+1
		for domain := from; domain < to; domain++ {
			v.rooms[level][domain] = v.sum(level, domain)
		}
	}
}

// sum returns what a domain has room for by its children. Where the leader goes
// costs the domain what it costs the child that loses least by it.
func (v *solver) sum(level int, domain int32) room {
	first, last := v.s.lay.children(level, domain)
	inner := v.req.innerSize(level + 1)
	var r room
	hosts := false
	var podLoss, sliceLoss int32
	for _, child := range v.rooms[level+1][first:last] {
		pods, podsWithLeader := child.pods, child.podsWithLeader
		if inner > 0 {
			pods -= pods % inner
			podsWithLeader -= podsWithLeader % inner
		}
		r.pods += pods
		r.slices += child.slices
		r.leaders = max(r.leaders, child.leaders)
		if v.req.Leader != nil && child.leaders == 0 {
			continue
		}
		pod, slice := pods-podsWithLeader, child.slices-child.slicesWithLeader
		if !hosts {
			hosts, podLoss, sliceLoss = true, pod, slice
			continue
		}
		podLoss, sliceLoss = min(podLoss, pod), min(sliceLoss, slice)
	}
	if hosts {
		r.podsWithLeader, r.slicesWithLeader = r.pods-podLoss, r.slices-sliceLoss
	}
	if level == v.req.SliceLevel {
		r.slices, r.slicesWithLeader = r.pods/v.req.SliceSize, r.podsWithLeader/v.req.SliceSize
	}
	return r
}
