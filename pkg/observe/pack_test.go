// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPack(t *testing.T) {
	// Two racks of two nodes with 8 GPUs each.
	leaves := func(used ...int64) []Leaf {
		return []Leaf{
			{Values: []string{"a", "a1"}, Capacity: 8, Usage: used[0]}, {Values: []string{"a", "a2"}, Capacity: 8, Usage: used[1]},
			{Values: []string{"b", "b1"}, Capacity: 8, Usage: used[2]}, {Values: []string{"b", "b2"}, Capacity: 8, Usage: used[3]},
		}
	}
	cases := map[string]struct {
		leaves []Leaf
		shape  *Shape
		want   Packing
	}{
		"nothing waits": {
			leaves: leaves(4, 8, 0, 4),
			want:   Packing{Allocated: 16, Free: 16, Levels: []LevelPacking{{LargestFree: 12}, {LargestFree: 8}}},
		},
		"the free GPUs are in pieces": {
			leaves: leaves(4, 4, 4, 4),
			shape:  &Shape{Pods: 1, Each: 8},
			want:   Packing{Allocated: 16, Free: 16, Levels: []LevelPacking{{LargestFree: 8, Unusable: 16}, {LargestFree: 4, Unusable: 16}}},
		},
		"a rest on each node": {
			leaves: leaves(3, 8, 8, 8),
			shape:  &Shape{Pods: 1, Each: 2},
			want:   Packing{Allocated: 27, Free: 5, Levels: []LevelPacking{{LargestFree: 5, Unusable: 1}, {LargestFree: 5, Unusable: 1}}},
		},
		"a rack holds the group and another doesn't": {
			leaves: leaves(0, 0, 0, 8),
			shape:  &Shape{Pods: 2, Each: 8},
			want:   Packing{Allocated: 8, Free: 24, Levels: []LevelPacking{{LargestFree: 16, Unusable: 8}, {LargestFree: 8}}},
		},
		"a node has more pods than it can hold": {
			leaves: leaves(10, 8, 8, 8),
			shape:  &Shape{Pods: 1, Each: 1},
			want:   Packing{Allocated: 34, Levels: []LevelPacking{{}, {}}},
		},
		"no nodes": {
			shape: &Shape{Pods: 1, Each: 1},
			want:  Packing{Levels: []LevelPacking{{}, {}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Pack(2, tc.leaves, tc.shape)); diff != "" {
				t.Errorf("unexpected packing (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSmallerShape(t *testing.T) {
	cases := map[string]struct {
		a, b Shape
		want bool
	}{
		"less in all":         {Shape{Pods: 1, Each: 8}, Shape{Pods: 2, Each: 8}, true},
		"more in all":         {Shape{Pods: 3, Each: 1}, Shape{Pods: 1, Each: 2}, false},
		"as much, in pieces":  {Shape{Pods: 2, Each: 4}, Shape{Pods: 1, Each: 8}, true},
		"as much, in a piece": {Shape{Pods: 1, Each: 8}, Shape{Pods: 2, Each: 4}, false},
		"the same":            {Shape{Pods: 1, Each: 8}, Shape{Pods: 1, Each: 8}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.smaller(tc.b); got != tc.want {
				t.Errorf("smaller(%v, %v) = %t, want %t", tc.a, tc.b, got, tc.want)
			}
		})
	}
}
