// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// naive is a model of an engine that remembers nothing: it has a list of leaves and
// counts all of them for each request. It places workers without slices.
type naive struct {
	levels int
	leaves map[string]LeafChange
}

func (n *naive) sorted() []LeafChange {
	var result []LeafChange
	for _, leaf := range n.leaves {
		result = append(result, leaf)
	}
	slices.SortFunc(result, func(a, b LeafChange) int { return slices.Compare(a.Path, b.Path) })
	return result
}

// counts returns how many pods each leaf holds, when assumed is used besides.
func (n *naive) counts(pod Vector, assumed map[string]Vector) map[string]int32 {
	result := map[string]int32{}
	for id, leaf := range n.leaves {
		fit := int64(1 << 30)
		for i, amount := range pod {
			if amount > 0 {
				fit = min(fit, max(0, at(leaf.Free, i)-at(leaf.Used, i)-at(assumed[id], i))/amount)
			}
		}
		result[id] = int32(fit)
	}
	return result
}

func at(v Vector, i int) int64 {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// place fills the leaves with the least room first, or returns nil.
func (n *naive) place(pods int32, pod Vector, assumed map[string]Vector) map[string]int32 {
	counts := n.counts(pod, assumed)
	leaves := n.sorted()
	slices.SortStableFunc(leaves, func(a, b LeafChange) int { return cmp.Compare(counts[a.ID], counts[b.ID]) })
	for _, leaf := range leaves {
		if counts[leaf.ID] >= pods {
			return map[string]int32{leaf.ID: pods}
		}
	}
	result := map[string]int32{}
	for _, leaf := range leaves {
		if take := min(pods, counts[leaf.ID]); take > 0 {
			result[leaf.ID] = take
			pods -= take
		}
	}
	if pods > 0 {
		return nil
	}
	return result
}

func byID(s *State, placements []Placement) map[string]int32 {
	result := map[string]int32{}
	for _, p := range placements {
		result[s.lay.leafIDs[p.Leaf]] = p.Pods
	}
	return result
}

func randomLeaf(r *rand.Rand, id int) LeafChange {
	name := fmt.Sprintf("n%03d", id)
	return LeafChange{
		ID: name, Path: []string{fmt.Sprintf("b%d", id/7%3), fmt.Sprintf("r%d", id%5), name},
		Free: Vector{int64(r.IntN(40)), int64(r.IntN(12)), int64(r.IntN(400))},
		Used: Vector{int64(r.IntN(8)), int64(r.IntN(4))},
	}
}

// TestAgainstNaive changes leaves and books usage at random, and compares the answers
// with those of a model that counts everything each time.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		res := NewResources()
		for _, name := range []string{"cpu", "gpu", "pods"} {
			res.Index(name)
		}
		names := pick(r, 5, 30, 150, 300)
		e, n := NewEngine("t", []string{"block", "rack", "host"}, res), &naive{levels: 3, leaves: map[string]LeafChange{}}
		for range 40 {
			var changes []LeafChange
			for range r.IntN(8) {
				c := randomLeaf(r, r.IntN(names))
				if r.IntN(4) == 0 {
					c = LeafChange{ID: c.ID, Gone: true}
				}
				changes = append(changes, c)
				if c.Gone {
					delete(n.leaves, c.ID)
				} else {
					n.leaves[c.ID] = c
				}
			}
			e.Apply(changes)
			compareWithNaive(t, r, e.Fork(), n, seed)
			if t.Failed() {
				return
			}
		}
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func compareWithNaive(t *testing.T, r *rand.Rand, s *State, n *naive, seed uint64) {
	t.Helper()
	book := map[string]Vector{}
	for range r.IntN(4) {
		leaves := n.sorted()
		if len(leaves) == 0 {
			return
		}
		leaf := pick(r, leaves...)
		amounts := Vector{int64(r.IntN(5)), int64(r.IntN(3))}
		i, _ := s.Leaf(leaf.ID)
		s.AddUsage(i, amounts)
		if r.IntN(2) == 0 {
			s.RemoveUsage(i, amounts)
		} else {
			book[leaf.ID] = Vector{at(book[leaf.ID], 0) + amounts[0], at(book[leaf.ID], 1) + amounts[1]}
		}
	}
	pod := pick(r, Vector{1, 0, 1}, Vector{2, 1, 1}, Vector{0, 2, 1}, Vector{0, 0, 1})
	req := &Request{
		Pods: 1 + r.Int32N(pick(r, int32(3), 20, 2000)), Pod: pod, Level: 2, Unconstrained: true, LeastFree: true, SliceSize: 1, SliceLevel: 2,
	}
	assumed := map[string]Vector{}
	for id, amounts := range book {
		assumed[id] = amounts
	}
	for range r.IntN(3) {
		if len(n.leaves) == 0 {
			break
		}
		leaf := pick(r, n.sorted()...)
		i, _ := s.Leaf(leaf.ID)
		extra := Vector{int64(r.IntN(9)), 0}
		req.Assumed = append(req.Assumed, LeafUsage{Leaf: i, Amounts: extra})
		assumed[leaf.ID] = Vector{at(assumed[leaf.ID], 0) + extra[0], at(assumed[leaf.ID], 1)}
	}
	var got Assignment
	err := s.Place(req, &got)
	want := n.place(req.Pods, pod, assumed)
	if want == nil {
		if !IsNoFit(err) {
			t.Errorf("seed %d: %d pods of %v have no room, but got %v, error %v", seed, req.Pods, pod, got, err)
		}
		return
	}
	if err != nil {
		t.Errorf("seed %d: %d pods of %v: unexpected error %v, want %v", seed, req.Pods, pod, err, want)
		return
	}
	if diff := gocmp.Diff(want, byID(s, got.Workers)); diff != "" {
		t.Errorf("seed %d: unexpected places of %d pods of %v (-want,+got):\n%s", seed, req.Pods, pod, diff)
	}
}

// TestForksDoNotShareChanges books on forks from several goroutines while the engine
// changes. It is of most use with the race detector.
func TestForksDoNotShareChanges(t *testing.T) {
	res := NewResources()
	res.Index("cpu")
	e := NewEngine("t", []string{"host"}, res)
	var leaves []LeafChange
	for i := range 200 {
		name := fmt.Sprintf("n%03d", i)
		leaves = append(leaves, LeafChange{ID: name, Path: []string{name}, Free: Vector{8}})
	}
	e.Apply(leaves)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 2))
			for range 50 {
				s := e.Fork()
				leaf := r.Int32N(200)
				before := slices.Clone(s.Amounts(leaf, Used))
				s.AddUsage(leaf, Vector{3})
				var out Assignment
				req := &Request{Pods: 1 + r.Int32N(20), Pod: Vector{1 + r.Int64N(3)}, Unconstrained: true, LeastFree: true, SliceSize: 1}
				if err := s.Place(req, &out); err != nil {
					t.Errorf("Unexpected error: %v", err)
				}
				fork := s.Fork()
				fork.AddUsage(leaf, Vector{1})
				if got, want := s.Amounts(leaf, Used)[0], before[0]+3; got != want {
					t.Errorf("Unexpected usage %d after a fork's change, want %d", got, want)
				}
				s.RemoveUsage(leaf, Vector{3})
				if got := s.Amounts(leaf, Used); !slices.Equal(got, before) {
					t.Errorf("Unexpected usage %v after it was taken back, want %v", got, before)
				}
			}
		})
	}
	group.Go(func() {
		for i := range 200 {
			e.SetUsage(fmt.Sprintf("n%03d", i), Vector{int64(i % 5)})
			e.SetFree(fmt.Sprintf("n%03d", i), Vector{int64(10 + i%5)})
		}
	})
	group.Wait()
	s := e.Fork()
	for i := range int32(200) {
		if got, want := s.Amounts(i, Used)[0], int64(i%5); got != want {
			t.Errorf("Unexpected usage %d of leaf %d, want %d", got, i, want)
		}
	}
}
