// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/featuregate"

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/workload"
)

var (
	instances = flag.Int("instances", 3000, "how many random requests to compare")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first random cluster")
)

// perBatch is how many requests are compared before the gates are drawn anew.
const perBatch = 500

// gates are drawn at random for a batch: the share of batches, in per cent, in which
// each is on.
var gates = map[featuregate.Feature]int{
	features.TASProfileMixed:                     70,
	features.TASBalancedPlacement:                10,
	features.TASRespectNodeAffinityPreferred:     25,
	features.TASHandleOverlappingFlavors:         70,
	features.TASCacheNodeMatchResults:            70,
	features.TASCachingRemainingResources:        70,
	features.TASCacheTopologyTree:                50,
	features.VectorizedResourceRequests:          70,
	features.TASMultiLayerTopology:               90,
	features.ElasticJobsViaWorkloadSlicesWithTAS: 80,
}

// TestEqualsUpstream compares the answers of the engine and of Kueue's algorithm on
// random clusters that change, with usage booked and taken back in between.
func TestEqualsUpstream(t *testing.T) {
	engines := New()
	done := 0
	for seed := *firstSeed; done < *instances; seed++ {
		done += compareBatch(t, engines, seed)
		if t.Failed() {
			break
		}
	}
	outcomes := engines.Outcomes()
	t.Logf("%d requests compared, outcomes of the engine: %v", done, outcomes)
	for _, outcome := range []Outcome{Placed, NoFit} {
		if outcomes[outcome] < int64(done/10) {
			t.Errorf("Too few requests with outcome %s: %d of %d", outcome, outcomes[outcome], done)
		}
	}
	for _, outcome := range []Outcome{OtherError, "NegativeAmount"} {
		if outcomes[outcome] > 0 {
			t.Errorf("Unexpected outcome %s of %d requests", outcome, outcomes[outcome])
		}
	}
}

func compareBatch(t *testing.T, engines *Engines, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	compared := 0
	t.Run("", func(t *testing.T) {
		for _, gate := range sortedGates() {
			features.SetFeatureGateDuringTest(t, gate, r.IntN(100) < gates[gate])
		}
		for compared < perBatch {
			compared += compareWorld(t, r, engines, seed)
			if t.Failed() {
				return
			}
		}
	})
	return compared
}

// compareWorld compares requests on one cluster over some scheduling cycles.
func compareWorld(t *testing.T, r *rand.Rand, engines *Engines, seed uint64) int {
	t.Helper()
	w, err := newWorld(r, engines)
	if err != nil {
		t.Fatalf("Failed to make the caches: %v", err)
	}
	compared := 0
	for range 1 + r.IntN(5) {
		for range r.IntN(6) {
			w.change()
		}
		var queues [2]*schdcache.ClusterQueueSnapshot
		for i, c := range w.caches {
			snapshot, err := c.Snapshot(context.Background())
			if err != nil {
				t.Fatalf("Failed to take a snapshot: %v", err)
			}
			queues[i] = snapshot.ClusterQueue(queueName)
		}
		for range 1 + r.IntN(6) {
			compared += w.compareCycle(t, queues, seed)
			if t.Failed() {
				return compared
			}
		}
	}
	return compared
}

// compareCycle compares one request, and sometimes books usage before.
func (w *world) compareCycle(t *testing.T, queues [2]*schdcache.ClusterQueueSnapshot, seed uint64) int {
	t.Helper()
	var undo []func()
	for range w.r.IntN(3) {
		info := workload.NewInfo(w.workload("simulated", pick(w.r, w.flavors...), w.randomAssignment(2), w.perPod()))
		if len(w.workloads) > 0 && w.r.IntN(2) == 0 {
			info = workload.NewInfo(pick(w.r, w.workloads...))
		}
		remove := w.r.IntN(2) == 0
		for _, q := range queues {
			if remove {
				undo = append(undo, q.SimulateUsageRemoval(info.Usage()))
			} else {
				undo = append(undo, q.SimulateUsageAddition(info.Usage()))
			}
		}
		if want, got := queues[0].Fits(info.Usage()), queues[1].Fits(info.Usage()); want != got {
			t.Errorf("Fits gives %v for Kueue's algorithm, %v for the engine, seed %d", want, got, seed)
		}
	}
	requests, options := w.requests()
	var results [2]schdcache.TASAssignmentsResult
	// Kueue's choice among the domains of a broken slice follows the order of a map.
	for range 10 {
		for i, q := range queues {
			results[i] = find(q, requests, options)
		}
		if reflect.DeepEqual(results[0], results[1]) {
			break
		}
	}
	if features.Enabled(features.TASBalancedPlacement) && anyPreferred(requests) {
		// Both answers are Kueue's. They depend on the order in which its tree was made
		// from a map: the entropy of domains is a sum of fractions in that order.
		return 0
	}
	if diff := cmp.Diff(results[0], results[1], cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("Different answers, seed %d (-Kueue,+engine):\n%s\nlevels %v requests %+v", seed, diff, w.levels, describe(requests))
	}
	// Most cycles keep what was booked.
	if w.r.IntN(3) == 0 {
		for _, f := range undo {
			f()
		}
	}
	return 1
}

func anyPreferred(byFlavor schdcache.WorkloadTASRequests) bool {
	for _, requests := range byFlavor {
		for _, tr := range requests {
			if tr.PodSet.TopologyRequest != nil && tr.PodSet.TopologyRequest.Preferred != nil {
				return true
			}
		}
	}
	return false
}

// find returns nil if Kueue panics: its balanced placement divides by zero when there
// are fewer pods to place than a slice has.
func find(q *schdcache.ClusterQueueSnapshot, requests schdcache.WorkloadTASRequests, options []schdcache.FindTopologyAssignmentsOption) (result schdcache.TASAssignmentsResult) {
	defer func() {
		if cause := recover(); cause != nil {
			if !features.Enabled(features.TASBalancedPlacement) {
				panic(cause)
			}
			result = nil
		}
	}()
	return q.FindTopologyAssignmentsForWorkload(context.Background(), requests, options...)
}
