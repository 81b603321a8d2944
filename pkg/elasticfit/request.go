// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"errors"
	"fmt"
)

// Request asks for the leaves of a group of equal pods, and of one leader pod that
// goes with them. Its fields must be consistent, as the algorithm's callers make
// them: levels exist, SliceLevel is at or below Level, the inner layers go down from
// there and their sizes divide one another.
type Request struct {
	// Pods is how many pods to place.
	Pods int32
	// Pod is what one pod asks for, its own pod slot included.
	Pod Vector
	// Leader is what the leader asks for. It is nil if there is none.
	Leader Vector
	// Level is the level on which one domain is to hold all pods: it must if
	// Required is set; with neither flag, domains above it are tried too, and then
	// several; if Unconstrained is set, several domains of the level will do.
	Level         int
	Required      bool
	Unconstrained bool
	// LeastFree lets unconstrained pods fill the domains with the least room first.
	LeastFree bool
	// SliceSize pods each must be in one domain of SliceLevel. Without slices it is
	// 1, and SliceLevel the lowest level.
	SliceSize  int32
	SliceLevel int
	// Inner are further layers of slices below SliceLevel, from the top down.
	Inner []Layer
	// Layers are all layers, for messages. They are looked at if Inner is not empty.
	Layers []NamedLayer
	// Filter says which leaves may take a worker. If it is nil, all may.
	Filter Filter
	// Empty leaves out what topology-aware workloads use.
	Empty bool
	// Assumed is used besides what the state knows.
	Assumed []LeafUsage
	// Within is the identifier of the path of the domain that must hold all pods,
	// or "".
	Within string
	// Balanced and Preferences ask for what the engine can't do yet.
	Balanced    bool
	Preferences bool
}

// Layer is a level, and how many pods each must be together there.
type Layer struct {
	Level int
	Size  int32
}

// NamedLayer is a Layer with the name of its level.
type NamedLayer struct {
	Layer
	Name string
}

// LeafUsage is an amount on a leaf.
type LeafUsage struct {
	Leaf    int32
	Amounts Vector
}

// Placement is a number of pods on a leaf.
type Placement struct {
	Leaf int32
	Pods int32
}

// Assignment is where pods go, in the order of the leaves.
type Assignment struct {
	Workers []Placement
	Leader  []Placement
}

// NoFitError says why pods can't be placed. Its text is Kueue's.
type NoFitError struct{ message string }

func (e *NoFitError) Error() string { return e.message }

// Reason tells what a request has that the engine can't do.
type Reason string

// The reasons of UnsupportedError.
const (
	// BalancedPlacement is Kueue's gate TASBalancedPlacement.
	BalancedPlacement Reason = "BalancedPlacement"
	// PreferredNodeAffinity is the order by preferred node affinity.
	PreferredNodeAffinity Reason = "PreferredNodeAffinity"
	// NegativeAmount is a request for less than nothing.
	NegativeAmount Reason = "NegativeAmount"
	// Unplaceable is a request whose pods have room by the count of their domain,
	// but none could be found for all of them.
	Unplaceable Reason = "Unplaceable"
)

// UnsupportedError says that the engine has no answer. The caller asks Kueue's own
// algorithm.
type UnsupportedError struct{ Reason Reason }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the fit engine doesn't do this: %s", e.Reason)
}

// IsNoFit tells whether err says that there is no room.
func IsNoFit(err error) bool {
	var noFit *NoFitError
	return errors.As(err, &noFit)
}

func (r *Request) unsupported() error {
	switch {
	case r.Balanced && !r.Required && !r.Unconstrained:
		return &UnsupportedError{Reason: BalancedPlacement}
	case r.Preferences:
		return &UnsupportedError{Reason: PreferredNodeAffinity}
	case r.Pods < 0 || r.SliceSize < 1 || r.Pod.hasNegative() || r.Leader.hasNegative():
		return &UnsupportedError{Reason: NegativeAmount}
	}
	return nil
}

// sliced tells whether pods are to be kept together in slices.
func (r *Request) sliced(s *State) bool {
	return r.SliceSize != 1 || r.SliceLevel != s.lay.lowest() || len(r.Inner) > 0
}

// innerSize returns the size of the inner slices on a level, or 0. A layer's size
// holds for the levels between it and the layer above too.
func (r *Request) innerSize(level int) int32 {
	if level <= r.SliceLevel {
		return 0
	}
	for _, layer := range r.Inner {
		if level <= layer.Level {
			return layer.Size
		}
	}
	return 0
}
