// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/util/tas"

	"fleet.ai/kueue-fleet/pkg/elasticfit"
)

// snapshot is what one scheduling cycle sees of a flavor.
type snapshot struct {
	flavor *flavor
	state  *elasticfit.State

	// The rest is scratch space of Find and of the bookings.
	request elasticfit.Request
	result  elasticfit.Assignment
	booking elasticfit.Vector
}

// AddUsage implements schdcache.FitSnapshot.
func (s *snapshot) AddUsage(domain tas.TopologyDomainID, usage resources.Requests) {
	if leaf, found := s.state.Leaf(string(domain)); found {
		s.state.AddUsage(leaf, s.amounts(usage))
	}
}

// RemoveUsage implements schdcache.FitSnapshot.
func (s *snapshot) RemoveUsage(domain tas.TopologyDomainID, usage resources.Requests) {
	if leaf, found := s.state.Leaf(string(domain)); found {
		s.state.RemoveUsage(leaf, s.amounts(usage))
	}
}

func (s *snapshot) amounts(usage resources.Requests) elasticfit.Vector {
	clear(s.booking)
	s.booking = s.flavor.engines.vector(s.booking, usage)
	return s.booking
}

// Amounts implements schdcache.FitSnapshot.
func (s *snapshot) Amounts(domain tas.TopologyDomainID) (free, usage resources.Requests) {
	leaf, found := s.state.Leaf(string(domain))
	if !found {
		return resources.NewRequests(), resources.NewRequests()
	}
	e := s.flavor.engines
	return e.requests(s.state.Amounts(leaf, elasticfit.Free)), e.requests(s.state.Amounts(leaf, elasticfit.Used))
}

// Find implements schdcache.FitSnapshot.
func (s *snapshot) Find(r *schdcache.FitRequest) (schdcache.FitResult, bool) {
	if err := s.translate(r); err != nil {
		return s.refuse(err)
	}
	err := s.state.Place(&s.request, &s.result)
	var noFit *elasticfit.NoFitError
	switch {
	case errors.As(err, &noFit):
		s.flavor.engines.counts.add(NoFit)
		return schdcache.FitResult{Reason: noFit.Error()}, true
	case err != nil:
		return s.refuse(err)
	}
	s.flavor.engines.counts.add(Placed)
	result := schdcache.FitResult{Workers: s.assignment(s.result.Workers)}
	if r.LeaderRequests != nil {
		result.Leader = s.assignment(s.result.Leader)
	}
	return result, true
}

func (s *snapshot) refuse(err error) (schdcache.FitResult, bool) {
	outcome := OtherError
	var unsupported *elasticfit.UnsupportedError
	if errors.As(err, &unsupported) {
		outcome = Outcome(unsupported.Reason)
	}
	s.flavor.engines.counts.add(outcome)
	return schdcache.FitResult{}, false
}

// translate writes the request in the engine's terms to s.request.
func (s *snapshot) translate(r *schdcache.FitRequest) error {
	f, e := s.flavor, s.flavor.engines
	rule, err := f.filter(r)
	if err != nil {
		return err
	}
	clear(s.request.Pod)
	assumed := s.request.Assumed[:0]
	s.request = elasticfit.Request{
		Pods: r.Count, Pod: e.vector(s.request.Pod, r.Requests), Level: r.RequestedLevel,
		Required: r.Required, Unconstrained: r.Unconstrained,
		LeastFree: features.Enabled(features.TASProfileMixed),
		SliceSize: r.SliceSize, SliceLevel: r.SliceLevel,
		Empty: r.SimulateEmpty, Within: string(r.ReplacementDomain),
		Balanced:    features.Enabled(features.TASBalancedPlacement),
		Preferences: features.Enabled(features.TASRespectNodeAffinityPreferred) && prefers(r.NodeAffinity),
	}
	if rule != nil {
		s.request.Filter = rule
	}
	if r.LeaderRequests != nil {
		s.request.Leader = e.vector(elasticfit.Vector{}, r.LeaderRequests)
	}
	for i, layer := range r.Layers {
		l := elasticfit.Layer{Level: slices.Index(f.levels, layer.Topology), Size: layer.Size}
		s.request.Layers = append(s.request.Layers, elasticfit.NamedLayer{Layer: l, Name: layer.Topology})
		if i > 0 {
			s.request.Inner = append(s.request.Inner, l)
		}
	}
	for domain, usage := range r.AssumedUsage {
		if leaf, found := s.state.Leaf(string(domain)); found {
			assumed = append(assumed, elasticfit.LeafUsage{Leaf: leaf, Amounts: e.vector(nil, usage)})
		}
	}
	s.request.Assumed = assumed
	return nil
}

func prefers(affinity *corev1.NodeAffinity) bool {
	return affinity != nil && len(affinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}

// assignment returns the placements with the values of their leaves: all of them, or
// that of the node alone.
func (s *snapshot) assignment(placements []elasticfit.Placement) *tas.TopologyAssignment {
	from := 0
	if s.flavor.nodes {
		from = len(s.flavor.levels) - 1
	}
	result := &tas.TopologyAssignment{
		Levels:  s.flavor.levels[from:],
		Domains: make([]tas.TopologyDomainAssignment, 0, len(placements)),
	}
	for _, p := range placements {
		result.Domains = append(result.Domains, tas.TopologyDomainAssignment{
			Values: s.state.Path(p.Leaf)[from:], Count: p.Pods,
		})
	}
	return result
}
