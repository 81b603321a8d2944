// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"fmt"
	"strconv"
	"testing"
)

// FuzzUnconstrained gives leaves of any amounts, and asks for any number of pods: no
// leaf may get more than it has, all pods have a place, and a refusal is right.
func FuzzUnconstrained(f *testing.F) {
	f.Add([]byte{8, 4, 0, 3}, int32(5), int64(1), uint8(1))
	f.Add([]byte{255, 255, 1}, int32(300), int64(1), uint8(0))
	f.Add([]byte{7, 7, 7, 7, 7}, int32(9), int64(3), uint8(3))
	f.Fuzz(func(t *testing.T, free []byte, pods int32, amount int64, assumed uint8) {
		if len(free) == 0 || len(free) > 500 || pods < 1 || pods > 1_000_000 || amount < 1 || amount > 1000 {
			t.Skip()
		}
		res := NewResources()
		res.Index("gpu")
		e := NewEngine("t", []string{"rack", "host"}, res)
		var changes []LeafChange
		for i, have := range free {
			name := fmt.Sprintf("n%03d", i)
			changes = append(changes, LeafChange{ID: name, Path: []string{strconv.Itoa(i % 3), name}, Free: Vector{int64(have)}})
		}
		e.Apply(changes)
		s := e.Fork()
		room := make([]int32, len(free))
		var all int64
		for leaf := range int32(len(free)) {
			have := s.Amounts(leaf, Free)[0]
			if leaf == 0 {
				have = max(0, have-int64(assumed))
			}
			room[leaf] = int32(have / amount)
			all += int64(room[leaf])
		}
		var got Assignment
		err := s.Place(&Request{
			Pods: pods, Pod: Vector{amount}, Level: 1, Unconstrained: true, LeastFree: true, SliceSize: 1, SliceLevel: 1,
			Assumed: []LeafUsage{{Leaf: 0, Amounts: Vector{int64(assumed)}}},
		}, &got)
		if err != nil {
			if all >= int64(pods) {
				t.Fatalf("There is room for %d pods, but %d got none: %v", all, pods, err)
			}
			return
		}
		var placed int32
		for _, p := range got.Workers {
			if p.Pods < 1 || p.Pods > room[p.Leaf] {
				t.Fatalf("Leaf %d has room for %d pods and got %d", p.Leaf, room[p.Leaf], p.Pods)
			}
			placed += p.Pods
		}
		if placed != pods {
			t.Fatalf("%d of %d pods have a place", placed, pods)
		}
	})
}
