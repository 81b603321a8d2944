// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"fleet.ai/kueue-fleet/pkg/elasticfit"
)

// growthOfEngine is the growth scenario without Kueue: the same nodes and pods, and
// the engine's own types.
func growthOfEngine(c *cluster) (func() error, error) {
	res := elasticfit.NewResources()
	names := []string{"cpu", "memory", "gpu", "pods"}
	for _, name := range names {
		res.Index(name)
	}
	pod := elasticfit.Vector{8000, 64 << 30, 1, 1}
	used := make(map[string]int64)
	for _, wl := range c.running {
		for _, domain := range domainsOf(wl) {
			used[domain.Values[0]] += int64(domain.Count)
		}
	}
	e := elasticfit.NewEngine("default", levels, res)
	var leaves []elasticfit.LeafChange
	for i := range c.nodes {
		n := node(i)
		change := elasticfit.LeafChange{ID: n.Name, Free: elasticfit.Vector{95000, 768 << 30, gpusPerNode, 109}}
		for _, level := range levels {
			change.Path = append(change.Path, n.Labels[level])
		}
		for _, amount := range pod {
			change.Used = append(change.Used, amount*used[n.Name])
		}
		leaves = append(leaves, change)
	}
	e.Apply(leaves)
	s := e.Fork()
	var kept []elasticfit.Placement
	for _, p := range keptPods(c.nodes) {
		leaf, found := s.Leaf(nodeName(p.node))
		if !found {
			return nil, fmt.Errorf("there is no leaf for node %d", p.node)
		}
		kept = append(kept, elasticfit.Placement{Leaf: leaf, Pods: p.count})
	}
	req := &elasticfit.Request{Pods: 21, Pod: pod, Level: 2, Unconstrained: true, LeastFree: true, SliceSize: 1, SliceLevel: 2}
	var out elasticfit.Assignment
	return func() error { return s.Grow(req, kept, &out) }, nil
}
