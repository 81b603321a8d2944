// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"slices"
	"sync"
	"sync/atomic"
)

// maxShapes is how many sizes of pods an engine keeps counts for. The one that was
// asked for least recently makes room for a new one.
const maxShapes = 16

// registry collects the sizes of pods that forks were asked for, so that the next
// fork finds them counted. Forks of one engine share it.
type registry struct {
	clock atomic.Int64

	lock   sync.Mutex
	wanted []wantedShape
}

type wantedShape struct {
	key  shapeKey
	rule Filter
	used *int64
}

func (r *registry) touch(sh *shape) { atomic.StoreInt64(sh.used, r.clock.Add(1)) }

func (r *registry) want(sh *shape, rule Filter) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(r.wanted) < maxShapes {
		r.wanted = append(r.wanted, wantedShape{key: sh.key, rule: rule, used: sh.used})
	}
}

func (r *registry) take() []wantedShape {
	r.lock.Lock()
	defer r.lock.Unlock()
	wanted := r.wanted
	r.wanted = nil
	return wanted
}

// Engine holds the state of one flavor across scheduling cycles. Its methods may be
// called from several goroutines.
type Engine struct {
	lock  sync.Mutex
	state *State
}

// NewEngine returns an engine of a flavor without nodes. The topology and its levels,
// from the highest down, are named in messages.
func NewEngine(topology string, levels []string, res *Resources) *Engine {
	base := &State{topology: topology, levels: slices.Clone(levels), own: &owner{}, res: res, reg: &registry{}}
	return &Engine{state: newState(base, newLayout(len(levels), nil))}
}

// newState returns an empty state with base's settings and the given tree.
func newState(base *State, lay *layout) *State {
	n := lay.size(lay.lowest())
	width := roundUp(base.res.Len())
	return &State{
		topology: base.topology, levels: base.levels, own: base.own, res: base.res, reg: base.reg, lay: lay,
		free: newRows(base.own, n, width), used: newRows(base.own, n, width),
		ownNodes: base.own, live: make([]bool, n), nodes: make([]any, n),
	}
}

// LeafChange says what a leaf is like now.
type LeafChange struct {
	// ID identifies the leaf; Path holds its values from the highest level down.
	ID   string
	Path []string
	// Gone tells that the leaf doesn't exist any more. Nothing else is looked at.
	Gone bool
	// Node is given to filters.
	Node any
	Free Vector
	Used Vector
}

// Apply brings the engine up to date with what changed. A leaf that it has never
// seen, or that has moved, makes it build its tree anew; everything else costs what
// changed.
func (e *Engine) Apply(changes []LeafChange) {
	e.lock.Lock()
	defer e.lock.Unlock()
	s := e.state
	if slices.ContainsFunc(changes, func(c LeafChange) bool { return !c.Gone && !s.knows(c) }) {
		e.state = s.rebuilt(changes)
		return
	}
	for _, c := range changes {
		leaf, found := s.lay.byLeaf[c.ID]
		switch {
		case !found:
		case c.Gone:
			s.setLeaf(leaf, false, nil, nil, nil)
		default:
			s.setLeaf(leaf, true, c.Node, c.Free, c.Used)
		}
	}
}

// SetUsage replaces what topology-aware workloads use on a leaf.
func (e *Engine) SetUsage(id string, used Vector) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if leaf, found := e.state.Leaf(id); found {
		set(e.state.writableUsage(leaf, len(used)), used)
		e.state.leafChanged(leaf)
	}
}

// SetFree replaces the capacity that is left to topology-aware workloads on a leaf.
func (e *Engine) SetFree(id string, free Vector) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if leaf, found := e.state.Leaf(id); found {
		e.state.widen(len(free))
		set(e.state.free.forWrite(e.state.own, leaf), free)
		e.state.leafChanged(leaf)
	}
}

// Fork returns the state as it is now.
func (e *Engine) Fork() *State {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.adopt()
	return e.state.Fork()
}

// adopt starts to keep counts for the sizes of pods that forks had to count on their
// own.
func (e *Engine) adopt() {
	s := e.state
	for _, w := range s.reg.take() {
		if slices.ContainsFunc(s.shapes, func(sh *shape) bool { return sh.key.equal(&w.key) }) {
			continue
		}
		if len(s.shapes) >= maxShapes {
			oldest := 0
			for i := range s.shapes {
				if atomic.LoadInt64(s.shapes[i].used) < atomic.LoadInt64(s.shapes[oldest].used) {
					oldest = i
				}
			}
			s.shapes = slices.Delete(s.shapes, oldest, oldest+1)
			s.filters = slices.DeleteFunc(s.filters, func(f *filter) bool {
				return !slices.ContainsFunc(s.shapes, func(sh *shape) bool { return sh.filter == f })
			})
		}
		sh := newShape(s, w.key, s.filterFor(w.rule))
		sh.used = w.used
		s.shapes = append(s.shapes, sh)
	}
}

// knows tells whether the change's leaf has its place in the tree.
func (s *State) knows(c LeafChange) bool {
	leaf, found := s.lay.byLeaf[c.ID]
	return found && slices.Equal(s.lay.paths[leaf], c.Path)
}

// rebuilt returns a state with a tree of the leaves that exist after the changes.
func (s *State) rebuilt(changes []LeafChange) *State {
	latest := make(map[string]LeafChange, len(changes))
	for _, c := range changes {
		latest[c.ID] = c
	}
	leaves := make([]leafPath, 0, s.liveLeaves+len(latest))
	for leaf, id := range s.lay.leafIDs {
		if _, changed := latest[id]; !changed && s.live[leaf] {
			leaves = append(leaves, leafPath{id: id, path: s.lay.paths[leaf]})
		}
	}
	for id, c := range latest {
		if !c.Gone {
			leaves = append(leaves, leafPath{id: id, path: slices.Clone(c.Path)})
		}
	}
	result := newState(s, newLayout(len(s.lay.levels), leaves))
	for leaf, id := range result.lay.leafIDs {
		leaf := int32(leaf)
		if c, changed := latest[id]; changed {
			result.setLeaf(leaf, true, c.Node, c.Free, c.Used)
		} else {
			old := s.lay.byLeaf[id]
			result.setLeaf(leaf, true, s.nodes[old], s.free.at(old), s.used.at(old))
		}
	}
	for _, sh := range s.shapes {
		var rule Filter
		if sh.filter != nil {
			rule = sh.filter.rule
		}
		again := newShape(result, sh.key, result.filterFor(rule))
		again.used = sh.used
		result.shapes = append(result.shapes, again)
	}
	return result
}
