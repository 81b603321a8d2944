// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"slices"
	"strings"
)

// layout is the tree of domains of one flavor: per level, the domains in the order
// of their paths. So the children of a domain lie next to each other, and comparing
// two domains of a level is comparing their numbers. It never changes.
type layout struct {
	levels []layoutLevel
	// leafIDs and paths are those of the lowest level's domains.
	leafIDs []string
	paths   [][]string
	byLeaf  map[string]int32
	byPath  map[string]domainRef
}

type layoutLevel struct {
	// parent and first are by domain: the parent on the level above, and the first
	// child on the level below. first has one more entry than there are domains.
	parent []int32
	first  []int32
}

type domainRef struct {
	level  int
	domain int32
}

type leafPath struct {
	id   string
	path []string
}

func pathID(path []string) string { return strings.Join(path, ",") }

// newLayout returns the tree of the leaves, whose paths are all depth long.
func newLayout(depth int, leaves []leafPath) *layout {
	slices.SortFunc(leaves, func(a, b leafPath) int { return slices.Compare(a.path, b.path) })
	l := &layout{
		levels: make([]layoutLevel, depth),
		byLeaf: make(map[string]int32, len(leaves)),
		byPath: make(map[string]domainRef, len(leaves)),
	}
	for i, leaf := range leaves {
		shared := 0
		if i > 0 {
			for shared < depth-1 && leaves[i-1].path[shared] == leaf.path[shared] {
				shared++
			}
		}
		for level := shared; level < depth; level++ {
			domains := &l.levels[level]
			parent := int32(-1)
			if level > 0 {
				parent = int32(len(l.levels[level-1].parent) - 1)
			}
			if level < depth-1 {
				domains.first = append(domains.first, int32(len(l.levels[level+1].parent)))
			}
			l.byPath[pathID(leaf.path[:level+1])] = domainRef{level: level, domain: int32(len(domains.parent))}
			domains.parent = append(domains.parent, parent)
		}
		l.byLeaf[leaf.id] = int32(i)
		l.leafIDs = append(l.leafIDs, leaf.id)
		l.paths = append(l.paths, leaf.path)
	}
	for level := range depth - 1 {
		l.levels[level].first = append(l.levels[level].first, int32(len(l.levels[level+1].parent)))
	}
	return l
}

func (l *layout) lowest() int { return len(l.levels) - 1 }

func (l *layout) size(level int) int { return len(l.levels[level].parent) }

// children returns the range of a domain's children on the level below.
func (l *layout) children(level int, domain int32) (int32, int32) {
	first := l.levels[level].first
	return first[domain], first[domain+1]
}

// leaves returns the range of the leaves below a domain.
func (l *layout) leaves(level int, domain int32) (int32, int32) {
	from, to := domain, domain+1
	for ; level < l.lowest(); level++ {
		first := l.levels[level].first
		from, to = first[from], first[to]
	}
	return from, to
}
