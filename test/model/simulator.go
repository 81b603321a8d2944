// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"errors"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/kueue/pkg/cache/scheduler/simulator"
)

// failingSimulator makes the next snapshots fail. Nodes and pods of the model have
// no taints and no selectors of their own, so every candidate is feasible.
type failingSimulator struct{ failures int }

func (f *failingSimulator) NewFeasibilityChecker(context.Context, []*corev1.Node) (simulator.NodeFeasibilityChecker, error) {
	if f.failures > 0 {
		f.failures--
		return nil, errors.New("the model lets this snapshot fail")
	}
	return feasible{}, nil
}

type feasible struct{}

func (feasible) FindFeasibleNodes(_ context.Context, candidates iter.Seq[simulator.Candidate], _ *simulator.PodRequirements,
	stats *simulator.NodeExclusionStats,
) ([]simulator.MatchedCandidate, error) {
	var out []simulator.MatchedCandidate
	for candidate := range candidates {
		stats.TotalNodes++
		matched, ok := candidate.(simulator.MatchedCandidate)
		if !ok {
			return nil, fmt.Errorf("failed to match candidate of type %T", candidate)
		}
		out = append(out, matched)
	}
	return out, nil
}
