// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/kueue/pkg/features"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

// TestConstrainedModel is TestModel for jobs of which two in three ask for a rack, with
// the gate on that lets elastic ones do so. Clusters have the racks of their seed.
func TestConstrainedModel(t *testing.T) {
	ctx, scheme := prepare(t)
	features.SetFeatureGateDuringTest(t, features.FleetElasticConstrainedTopology, true)
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	start := time.Now()
	var total stats
	var failed atomic.Int64
	for i := range *sequences {
		seed := *firstSeed + uint64(i)
		q := newSequence(seed)
		q.setup.racks, q.setup.constrained = true, true
		var trace func(string, ...any)
		if *verbose {
			trace = t.Logf
			t.Logf("seed %d: %+v", seed, q.setup)
		}
		if found := play(ctx, scheme, q, &total, *strict, trace); len(found) > 0 {
			t.Error("TestConstrainedModel, not TestModel: " + explain(seed, q, found[0].Rule, func(q sequence, trace func(string, ...any)) []invariant.Violation {
				return play(ctx, scheme, q, &stats{}, *strict, trace)
			}))
			if failed.Add(1) >= int64(*keepGoing) {
				break
			}
		}
	}
	t.Logf("%d sequences in %.1f s: %d steps, %d scheduling cycles, %d admissions, %d preemptions, %d checks, at rest %d times",
		*sequences, time.Since(start).Seconds(), total.steps, total.cycles, total.admissions, total.evictions, total.checks, total.settled)
	if *sequences >= 100 && (total.admissions == 0 || total.cycles == 0 || total.settled == 0) {
		t.Error("the sequences did nothing")
	}
}
