// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import "math"

// shapeKey is all that the number of pods a leaf holds depends on, besides what is
// free there.
type shapeKey struct {
	filter string
	// empty tells that the usage of topology-aware workloads is left out.
	empty   bool
	request Vector
}

func (k *shapeKey) equal(other *shapeKey) bool {
	return k.empty == other.empty && k.filter == other.filter && k.request.equal(other.request)
}

// shape keeps, for one size of pod, how many of them every domain of every level
// holds.
type shape struct {
	own *owner
	key shapeKey
	// resources are the indexes of what the pod asks for, in the order of their
	// names: of two that are equally scarce, the first one is named.
	resources []int
	filter    *filter
	levels    []counts
	// full is by position in resources: how many leaves hold no pod for want of it.
	full []int
	// used is the registry's clock at the last request of this shape.
	used *int64
}

// fit returns how many pods of the request a leaf has room for, when extra and more
// are used there besides, and the position in resources of what limits it.
func (s *State) fit(leaf int32, empty bool, request Vector, resources []int, extra, more Vector) (int32, uint8) {
	free, used := s.free.at(leaf), s.used.at(leaf)
	best, limit := int64(math.MaxInt32), uint8(noLimit)
	for i, r := range resources {
		var room int64
		if r < len(free) {
			room = free[r]
			if !empty {
				room = subClamped(room, used[r])
			}
		}
		if r < len(extra) {
			room = subClamped(room, extra[r])
		}
		if r < len(more) {
			room = subClamped(room, more[r])
		}
		if room < request[r] {
			// Nothing is scarcer, and of several the first name counts.
			return 0, uint8(i)
		}
		if room /= request[r]; room < best || limit == noLimit {
			best, limit = min(room, math.MaxInt32), uint8(i)
		}
	}
	return int32(best), limit
}

// takes tells whether the shape's filter lets its pods onto a leaf.
func (sh *shape) takes(s *State, leaf int32) bool {
	return s.live[leaf] && (sh.filter == nil || sh.filter.excluded[leaf] == 0)
}

// leafFit returns how many pods a leaf holds when extra is used there besides.
func (sh *shape) leafFit(s *State, leaf int32, extra Vector) (int32, uint8) {
	if !sh.takes(s, leaf) {
		return 0, noLimit
	}
	return s.fit(leaf, sh.key.empty, sh.key.request, sh.resources, extra, nil)
}

func newShape(s *State, key shapeKey, f *filter) *shape {
	sh := &shape{own: s.own, key: key, filter: f, used: new(int64)}
	sh.key.request = append(Vector(nil), key.request...)
	sh.resources = s.res.positive(key.request)
	sh.full = make([]int, len(sh.resources))
	lay := s.lay
	for level := range lay.levels {
		sh.levels = append(sh.levels, newCounts(s.own, lay.size(level)))
	}
	leaves := &sh.levels[lay.lowest()]
	for leaf := range int32(leaves.n) {
		count, limit := sh.leafFit(s, leaf, nil)
		page := leaves.pages[leaf>>pageBits]
		page.values[leaf&pageMask], page.limits[leaf&pageMask] = count, limit
		if count == 0 && limit != noLimit {
			sh.full[limit]++
		}
		at := leaf
		for level := lay.lowest() - 1; level >= 0 && count > 0; level-- {
			at = lay.levels[level+1].parent[at]
			sh.levels[level].pages[at>>pageBits].values[at&pageMask] += count
		}
	}
	for level := range sh.levels {
		sh.levels[level].rebuild()
	}
	return sh
}

// update returns the shape with one leaf counted anew.
func (sh *shape) update(s *State, leaf int32) *shape {
	count, limit := sh.leafFit(s, leaf, nil)
	lay := s.lay
	leaves := &sh.levels[lay.lowest()]
	oldCount, oldLimit := leaves.at(leaf), leaves.limit(leaf)
	if count == oldCount && limit == oldLimit {
		return sh
	}
	if sh.own != s.own {
		clone := *sh
		clone.own = s.own
		clone.levels = append([]counts(nil), sh.levels...)
		clone.full = append([]int(nil), sh.full...)
		sh = &clone
		leaves = &sh.levels[lay.lowest()]
	}
	if limit != oldLimit {
		leaves.setLimit(s.own, leaf, limit)
	}
	if oldCount == 0 && oldLimit != noLimit {
		sh.full[oldLimit]--
	}
	if count == 0 && limit != noLimit {
		sh.full[limit]++
	}
	if count == oldCount {
		return sh
	}
	leaves.set(s.own, leaf, count)
	at := leaf
	for level := lay.lowest() - 1; level >= 0; level-- {
		at = lay.levels[level+1].parent[at]
		table := &sh.levels[level]
		table.set(s.own, at, table.at(at)+count-oldCount)
	}
	return sh
}
