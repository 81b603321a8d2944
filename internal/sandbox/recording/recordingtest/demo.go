// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recordingtest

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Names of the two arms of the made-up runs.
const (
	Upstream = "upstream"
	Ours     = "kueue-fleet"
)

// arms are the two managers; in the first, elastic jobs stick.
var arms = []struct {
	manager string
	stickAt int
}{{manager: Upstream, stickAt: 4}, {manager: Ours}}

// Small makes up two arms of a short story on four nodes: an elastic eval
// grows, a gang evicts it, a whole node is asked for, and a node is lost. The
// first arm fails a check.
func Small() []*recording.Recording {
	var recs []*recording.Recording
	for _, arm := range arms {
		rec := New(Options{
			Scenario: "small-fleet", Title: "An eval gives way and comes back",
			Description: "An elastic eval grows into free GPUs, gives way to a gang of higher priority, and takes its place again.",
			Manager:     arm.manager, StickAt: arm.stickAt,
			Nodes: 4, GPUsPerNode: 8, Racks: 2, Duration: 40, TimeScale: 1, Lost: 4,
			Jobs: []Job{
				{Name: "gang", Class: "training", Priority: "q1", At: 0.5, Pods: 2, PodGPUs: 4, Work: 22},
				{Name: "eval", Class: "evals", Priority: "q2", At: 1, Pods: 1, PodGPUs: 1, MaxPods: 12, Work: 180},
				{Name: "arrival", Class: "training", Priority: "q0", At: 9, Pods: 2, PodGPUs: 8, Work: 8},
				{Name: "whole-node", Class: "training", Priority: "q1", At: 11, Pods: 1, PodGPUs: 8, Work: 9},
				{Name: "shaped", Class: "evals", Priority: "q2", At: 12, Pods: 1, PodGPUs: 4, MaxPods: 3, Work: 20},
			},
		})
		peak := 0
		for _, wl := range rec.Workloads {
			for _, span := range wl.Spans {
				if wl.Job == "eval" && span.State == recording.Admitted {
					peak = max(peak, span.GPUs)
				}
			}
		}
		rec.Checks = []recording.Check{
			{
				Name: "the eval reaches its full size", Passed: peak == 12, Want: "eval holds 12 GPUs", Got: fmt.Sprintf("at most %d", peak),
				Evidence: []string{"1.05 s: eval admitted with 1 GPU", fmt.Sprintf("eval never held more than %d GPUs", peak)},
			},
			{Name: "the arrival is admitted", Passed: true, Want: "admitted within 10 s", Got: "admitted", Evidence: []string{"9.05 s: arrival waits", "9.50 s: arrival admitted"}},
		}
		rec.Comparisons = []recording.Comparison{{Measure: "most GPUs of the eval", Reference: "6", Here: strconv.Itoa(peak)}}
		recs = append(recs, rec)
	}
	recs[0].Violations = []recording.Violation{{At: 9.4, Rule: "GPUs per node", Detail: "gpu-01 holds 9 of 8 GPUs: eval 1, arrival 8"}}
	return recs
}

// Week makes up two arms of a week on 24 nodes with 192 GPUs: training comes
// and goes, evals fill what it leaves. A second stands for an hour.
func Week() []*recording.Recording {
	var recs []*recording.Recording
	for _, arm := range arms {
		recs = append(recs, New(Options{
			Scenario: "week", Title: "A week of training, with evals in the gaps",
			Description: "Training at q1 comes and goes on 192 GPUs; elastic evals at q2 fill what it leaves.",
			Manager:     arm.manager, StickAt: arm.stickAt,
			Nodes: 24, GPUsPerNode: 8, Racks: 3, Duration: 168, TimeScale: 3600, Jobs: weekJobs(),
		}))
	}
	return recs
}

func weekJobs() []Job {
	random := rand.New(rand.NewPCG(10, 16))
	var jobs []Job
	for i := range 42 {
		jobs = append(jobs, Job{
			Name: fmt.Sprintf("train-%02d", i+1), Class: "training", Priority: "q1",
			At: float64(i)*3.8 + random.Float64()*3, Pods: 1 + random.IntN(7), PodGPUs: 8, Work: 8 + random.Float64()*22,
		})
	}
	for i := range 5 {
		jobs = append(jobs, Job{
			Name: fmt.Sprintf("urgent-%d", i+1), Class: "training", Priority: "q0",
			At: 12 + float64(i)*31, Pods: 6 + random.IntN(5), PodGPUs: 8, Work: 5,
		})
	}
	for i := range 80 {
		jobs = append(jobs, Job{
			Name: fmt.Sprintf("eval-%02d", i+1), Class: "evals", Priority: "q2",
			At: float64(i) * 2.05, Pods: 1, PodGPUs: 1, MaxPods: 16 + random.IntN(16), Work: 60 + random.Float64()*120,
		})
	}
	return jobs
}
