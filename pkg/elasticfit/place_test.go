// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// fleet is two racks of two nodes with 8 GPUs each, in one block, and a node in a
// rack and block of its own.
func fleet(t *testing.T) *State {
	t.Helper()
	res := NewResources()
	res.Index("gpu")
	res.Index("pods")
	e := NewEngine("dc", []string{"block", "rack", "host"}, res)
	leaf := func(block, rack, host string, used int64) LeafChange {
		return LeafChange{ID: host, Path: []string{block, rack, host}, Node: host, Free: Vector{8, 110}, Used: Vector{used, used}}
	}
	e.Apply([]LeafChange{
		leaf("b1", "r1", "n1", 7), leaf("b1", "r1", "n2", 4), leaf("b1", "r2", "n3", 0), leaf("b1", "r2", "n4", 2), leaf("b2", "r3", "n5", 0),
	})
	return e.Fork()
}

type notOn string

func (f notOn) Key() string { return string(f) }

func (f notOn) Exclusion(node any) string {
	if node == string(f) {
		return "nodeSelector"
	}
	return ""
}

func TestPlace(t *testing.T) {
	pod := Vector{1, 1}
	cases := map[string]struct {
		request    Request
		want       map[string]int32
		wantLeader map[string]int32
		wantError  string
	}{
		"an unconstrained pod goes to the node with the least room": {
			request: Request{Pods: 1, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true},
			want:    map[string]int32{"n1": 1},
		},
		"unconstrained pods stay on one node if there is one": {
			request: Request{Pods: 5, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true},
			want:    map[string]int32{"n4": 5},
		},
		"more unconstrained pods than a node holds fill the nodes with the least room first": {
			request: Request{Pods: 10, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true},
			want:    map[string]int32{"n1": 1, "n2": 4, "n4": 5},
		},
		"what is assumed on a node is not given away": {
			request: Request{Pods: 1, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true, Assumed: []LeafUsage{{Leaf: 0, Amounts: Vector{1, 1}}}},
			want:    map[string]int32{"n2": 1},
		},
		"what one leaf is assumed to have twice is added up": {
			request: Request{Pods: 1, Pod: Vector{3, 1}, Level: 2, Unconstrained: true, LeastFree: true,
				Assumed: []LeafUsage{{Leaf: 1, Amounts: Vector{1}}, {Leaf: 1, Amounts: Vector{1, 1}}}},
			want: map[string]int32{"n3": 1},
		},
		"preferred pods stay in the rack that holds them tightest": {
			request: Request{Pods: 4, Pod: pod, Level: 1},
			want:    map[string]int32{"n2": 4},
		},
		"preferred pods go to a block when no rack holds them": {
			request: Request{Pods: 17, Pod: pod, Level: 1},
			want:    map[string]int32{"n3": 8, "n4": 6, "n2": 3},
		},
		"preferred pods take several blocks when none holds them": {
			request: Request{Pods: 20, Pod: pod, Level: 1},
			want:    map[string]int32{"n3": 8, "n4": 4, "n5": 8},
		},
		"required pods don't leave the level": {
			request:   Request{Pods: 17, Pod: pod, Level: 1, Required: true},
			wantError: `topology "dc" allows to fit only 14 out of 17 pod(s)`,
		},
		"the leader goes with its workers": {
			request:    Request{Pods: 7, Pod: pod, Leader: Vector{7, 1}, Level: 1, Required: true},
			want:       map[string]int32{"n3": 1, "n4": 6},
			wantLeader: map[string]int32{"n3": 1},
		},
		"slices are not split": {
			request: Request{Pods: 12, Pod: pod, Level: 1, Required: true, SliceSize: 3, SliceLevel: 2},
			want:    map[string]int32{"n3": 6, "n4": 6},
		},
		"a request that is too large names what is scarce": {
			request:   Request{Pods: 1, Pod: Vector{9, 1}, Level: 2, Unconstrained: true, LeastFree: true, Filter: notOn("n5")},
			wantError: `topology "dc" doesn't allow to fit any of 1 pod(s). Total nodes: 5; excluded: nodeSelector: 1, resource "gpu": 4`,
		},
		"pods stay within a domain": {
			request: Request{Pods: 1, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true, Within: "b2"},
			want:    map[string]int32{"n5": 1},
		},
		"what a domain lacks is told from what is outside": {
			request:   Request{Pods: 9, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true, Within: "b2,r3"},
			wantError: `topology "dc" allows to fit only 8 out of 9 pod(s). Total nodes: 5; excluded: topologyDomain: 4`,
		},
		"usage is left out to see what preemption could bring": {
			request: Request{Pods: 8, Pod: pod, Level: 2, Required: true, Empty: true},
			want:    map[string]int32{"n1": 8},
		},
		"balanced placement is left to Kueue": {
			request:   Request{Pods: 1, Pod: pod, Level: 1, Balanced: true},
			wantError: "the fit engine doesn't do this: BalancedPlacement",
		},
		"preferred node affinity is left to Kueue": {
			request:   Request{Pods: 1, Pod: pod, Level: 1, Preferences: true},
			wantError: "the fit engine doesn't do this: PreferredNodeAffinity",
		},
		"a negative amount is left to Kueue": {
			request:   Request{Pods: 1, Pod: Vector{-1, 1}, Level: 1},
			wantError: "the fit engine doesn't do this: NegativeAmount",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := fleet(t)
			if tc.request.SliceSize == 0 {
				tc.request.SliceSize, tc.request.SliceLevel = 1, 2
			}
			var got Assignment
			err := s.Place(&tc.request, &got)
			if tc.wantError != "" {
				if err == nil || err.Error() != tc.wantError {
					t.Fatalf("Unexpected error %v, want %s", err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatalf("Unexpected error: %v", err)
			}
			if diff := gocmp.Diff(tc.want, byID(s, got.Workers)); diff != "" {
				t.Errorf("Unexpected places (-want,+got):\n%s", diff)
			}
			if tc.wantLeader != nil {
				if diff := gocmp.Diff(tc.wantLeader, byID(s, got.Leader)); diff != "" {
					t.Errorf("Unexpected places of the leader (-want,+got):\n%s", diff)
				}
			}
		})
	}
}

func TestGrowKeepsPods(t *testing.T) {
	cases := map[string]struct {
		pods int32
		kept []Placement
		want map[string]int32
	}{
		"a new pod joins where there is room beside the kept ones": {
			pods: 5, kept: []Placement{{Leaf: 1, Pods: 4}}, want: map[string]int32{"n1": 1, "n2": 4},
		},
		"pods on one node are added up": {
			pods: 4, kept: []Placement{{Leaf: 0, Pods: 1}, {Leaf: 1, Pods: 1}}, want: map[string]int32{"n1": 1, "n2": 3},
		},
		"nothing is placed when nothing is missing": {
			pods: 1, kept: []Placement{{Leaf: 4, Pods: 1}}, want: map[string]int32{"n5": 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := fleet(t)
			var got Assignment
			req := &Request{Pods: tc.pods, Pod: Vector{1, 1}, Level: 2, Unconstrained: true, LeastFree: true, SliceSize: 1, SliceLevel: 2}
			if err := s.Grow(req, tc.kept, &got); err != nil {
				t.Fatalf("Unexpected error: %v", err)
			}
			if diff := gocmp.Diff(tc.want, byID(s, got.Workers)); diff != "" {
				t.Errorf("Unexpected places (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestPlaceWithoutNodes(t *testing.T) {
	s := NewEngine("dc", []string{"block", "host"}, NewResources()).Fork()
	err := s.Place(&Request{Pods: 1, Pod: Vector{1}, SliceSize: 1, SliceLevel: 1}, &Assignment{})
	if err == nil || err.Error() != "no topology domains at level: block" {
		t.Errorf("Unexpected error %v", err)
	}
}

func TestGrowthAllocatesLittle(t *testing.T) {
	s := fleet(t)
	req := &Request{Pods: 5, Pod: Vector{1, 1}, Level: 2, Unconstrained: true, LeastFree: true, SliceSize: 1, SliceLevel: 2}
	kept := []Placement{{Leaf: 1, Pods: 4}}
	var got Assignment
	allocs := testing.AllocsPerRun(100, func() {
		if err := s.Grow(req, kept, &got); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 8 {
		t.Errorf("A growth makes %v allocations, want 8 at most", allocs)
	}
}
