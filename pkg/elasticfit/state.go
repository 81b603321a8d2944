// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import "slices"

// Part tells the amounts of a leaf apart.
type Part int

const (
	// Free is the capacity without what pods outside of topology-aware workloads use.
	Free Part = iota
	// Used is what topology-aware workloads use.
	Used
)

// State is the flavor at one moment. It belongs to one goroutine; forks of it may
// be used by others at the same time.
type State struct {
	topology string
	levels   []string
	own      *owner
	res      *Resources
	reg      *registry
	lay      *layout
	free     rows
	used     rows
	// live, nodes and liveLeaves tell the leaves that exist now from those that
	// the tree remembers. The slices are replaced, never written to, when forks
	// may hold them.
	ownNodes   *owner
	live       []bool
	nodes      []any
	liveLeaves int
	shapes     []*shape
	filters    []*filter
}

// Fork returns a copy that changes apart from s. It costs the same for any size of
// cluster.
func (s *State) Fork() *State {
	fork := *s
	fork.own = &owner{}
	s.own = &owner{}
	fork.shapes = append([]*shape(nil), s.shapes...)
	fork.filters = append([]*filter(nil), s.filters...)
	return &fork
}

// Leaf returns the number of the leaf with the given identifier, if it exists now.
func (s *State) Leaf(id string) (int32, bool) {
	leaf, found := s.lay.byLeaf[id]
	if !found || !s.live[leaf] {
		return 0, false
	}
	return leaf, true
}

// Path returns the values of a leaf from the highest level down.
func (s *State) Path(leaf int32) []string { return s.lay.paths[leaf] }

// Leaves returns how many leaves exist now.
func (s *State) Leaves() int { return s.liveLeaves }

// exists tells whether a domain has a leaf that exists now.
func (s *State) exists(level int, domain int32) bool {
	from, to := s.lay.leaves(level, domain)
	return slices.Contains(s.live[from:to], true)
}

// Amounts returns a part of a leaf's amounts. They must not be changed.
func (s *State) Amounts(leaf int32, part Part) Vector {
	if part == Free {
		return s.free.at(leaf)
	}
	return s.used.at(leaf)
}

// AddUsage books amounts on a leaf.
func (s *State) AddUsage(leaf int32, amounts Vector) {
	row := s.writableUsage(leaf, len(amounts))
	for i, amount := range amounts {
		row[i] = addClamped(row[i], amount)
	}
	s.leafChanged(leaf)
}

// RemoveUsage takes amounts off a leaf again.
func (s *State) RemoveUsage(leaf int32, amounts Vector) {
	row := s.writableUsage(leaf, len(amounts))
	for i, amount := range amounts {
		row[i] = subClamped(row[i], amount)
	}
	s.leafChanged(leaf)
}

func (s *State) writableUsage(leaf int32, width int) Vector {
	s.widen(width)
	return s.used.forWrite(s.own, leaf)
}

// setLeaf replaces what is known of a leaf. A leaf that isn't live has no amounts.
func (s *State) setLeaf(leaf int32, live bool, node any, free, used Vector) {
	s.widen(max(len(free), len(used)))
	set(s.free.forWrite(s.own, leaf), free)
	set(s.used.forWrite(s.own, leaf), used)
	wasLive := s.live[leaf]
	if live != wasLive || s.nodes[leaf] != node {
		if s.ownNodes != s.own {
			s.ownNodes = s.own
			s.live = append([]bool(nil), s.live...)
			s.nodes = append([]any(nil), s.nodes...)
		}
		s.live[leaf], s.nodes[leaf] = live, node
		if live && !wasLive {
			s.liveLeaves++
		} else if !live && wasLive {
			s.liveLeaves--
		}
		for i, f := range s.filters {
			s.filters[i] = f.update(s, leaf, wasLive)
			for j, sh := range s.shapes {
				if sh.filter == f {
					s.shapes[j] = sh.withFilter(s, s.filters[i])
				}
			}
		}
	}
	s.leafChanged(leaf)
}

func set(row, values Vector) {
	clear(row[copy(row, values):])
}

func (sh *shape) withFilter(s *State, f *filter) *shape {
	clone := *sh
	clone.own = s.own
	clone.levels = append([]counts(nil), sh.levels...)
	clone.full = append([]int(nil), sh.full...)
	clone.filter = f
	return &clone
}

func (s *State) leafChanged(leaf int32) {
	for i, sh := range s.shapes {
		s.shapes[i] = sh.update(s, leaf)
	}
}

// widen makes room for amounts of more resources than the tables have.
func (s *State) widen(width int) {
	if width <= s.used.width {
		return
	}
	n := s.lay.size(s.lay.lowest())
	free, used := newRows(s.own, n, roundUp(width)), newRows(s.own, n, roundUp(width))
	for leaf := range int32(n) {
		set(free.forWrite(s.own, leaf), s.free.at(leaf))
		set(used.forWrite(s.own, leaf), s.used.at(leaf))
	}
	s.free, s.used = free, used
}

func roundUp(width int) int { return max(4, (width+3)/4*4) }

// filterFor returns what the rule says of the leaves, known or found out now.
func (s *State) filterFor(rule Filter) *filter {
	if rule == nil {
		return nil
	}
	key := rule.Key()
	for _, f := range s.filters {
		if f.key == key {
			return f
		}
	}
	f := newFilter(s, rule)
	s.filters = append(s.filters, f)
	return f
}

// shapeFor returns the counts for a size of pod, known or counted now.
func (s *State) shapeFor(key *shapeKey, rule Filter) *shape {
	if rule != nil {
		key.filter = rule.Key()
	}
	for _, sh := range s.shapes {
		if sh.key.equal(key) {
			s.reg.touch(sh)
			return sh
		}
	}
	sh := newShape(s, *key, s.filterFor(rule))
	s.shapes = append(s.shapes, sh)
	s.reg.want(sh, rule)
	s.reg.touch(sh)
	return sh
}
