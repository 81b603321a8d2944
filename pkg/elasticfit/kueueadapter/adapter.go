// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kueueadapter lets engines of package elasticfit place the pods of Kueue's
// topology-aware workloads. It turns Kueue's amounts, nodes and requests into the
// engine's, and its answers back.
package kueueadapter

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/util/tas"

	"fleet.ai/kueue-fleet/pkg/elasticfit"
)

// Engines implements schdcache.TopologyFit.
type Engines struct {
	resources *elasticfit.Resources
	counts    counts
}

var (
	_ schdcache.TopologyFit = (*Engines)(nil)
	_ schdcache.FlavorFit   = (*flavor)(nil)
	_ schdcache.FitSnapshot = (*snapshot)(nil)
)

// New returns a factory of engines.
func New() *Engines {
	return &Engines{resources: elasticfit.NewResources()}
}

// Outcomes returns how many requests there were so far, by outcome: Placed, NoFit,
// or the reason for which the request was left to Kueue's algorithm.
func (e *Engines) Outcomes() map[Outcome]int64 { return e.counts.all() }

// ForFlavor implements schdcache.TopologyFit.
func (e *Engines) ForFlavor(topology kueue.TopologyReference, levels []string, tolerations []corev1.Toleration) schdcache.FlavorFit {
	return &flavor{
		engines: e, engine: elasticfit.NewEngine(string(topology), levels, e.resources),
		levels: levels, tolerations: tolerations,
		nodes: len(levels) > 0 && tas.IsLowestLevelHostname(levels),
	}
}

type flavor struct {
	engines     *Engines
	engine      *elasticfit.Engine
	levels      []string
	tolerations []corev1.Toleration
	// nodes tells that the leaves are nodes.
	nodes bool

	// lock guards filters, by their keys.
	lock    sync.Mutex
	filters map[string]*nodeFilter
}

// Update implements schdcache.FlavorFit.
func (f *flavor) Update(leaves []schdcache.FitLeaf, gone []tas.TopologyDomainID) {
	changes := make([]elasticfit.LeafChange, 0, len(leaves)+len(gone))
	for _, id := range gone {
		changes = append(changes, elasticfit.LeafChange{ID: string(id), Gone: true})
	}
	for i := range leaves {
		leaf := &leaves[i]
		change := elasticfit.LeafChange{
			ID: string(leaf.ID), Path: leaf.Values,
			Free: f.engines.vector(nil, leaf.Free), Used: f.engines.vector(nil, leaf.Usage),
		}
		if leaf.Node != nil {
			change.Node = leaf.Node
		}
		changes = append(changes, change)
	}
	f.engine.Apply(changes)
}

// Snapshot implements schdcache.FlavorFit.
func (f *flavor) Snapshot() schdcache.FitSnapshot {
	return &snapshot{flavor: f, state: f.engine.Fork()}
}

// vector appends the amounts to v, which is empty.
func (e *Engines) vector(v elasticfit.Vector, amounts resources.Requests) elasticfit.Vector {
	if amounts == nil {
		return v
	}
	amounts.ForEach(func(name corev1.ResourceName, amount int64) {
		v = v.Set(e.resources.Index(string(name)), amount)
	})
	return v
}

func (e *Engines) requests(v elasticfit.Vector) resources.Requests {
	amounts := make(map[corev1.ResourceName]int64)
	for i, amount := range v {
		if amount != 0 {
			amounts[corev1.ResourceName(e.resources.Name(i))] = amount
		}
	}
	return resources.NewRequestsFromMap(amounts)
}
