// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// life is a pod with one GPU.
func life(created, bound, ready, stopping, gone float64) recording.Pod {
	pod := recording.Pod{Job: "j", GPUs: 1, Created: created, Bound: &bound, Ready: &ready}
	if stopping >= 0 {
		pod.Stopping = &stopping
	}
	if gone >= 0 {
		pod.Gone = &gone
	}
	return pod
}

func TestLost(t *testing.T) {
	// Hours of the story are seconds of the run.
	const scale = 3600
	evictedAt5 := []recording.Workload{{Name: "w", Job: "j", Spans: []recording.Span{
		span(0, 5, recording.Admitted, 2), span(5, 6, recording.Draining, 2), span(6, 7, recording.Pending, 2), span(7, -1, recording.Admitted, 2),
	}}}
	first := []recording.Pod{life(0, 0, 1, 5, 6), life(0, 0, 1, 5.5, 6)}
	cases := map[string]struct {
		job       recording.Job
		workloads []recording.Workload
		pods      []recording.Pod
		want      Lost
	}{
		"nothing is lost without an eviction: first starts and scale-downs are not": {
			workloads: []recording.Workload{{Job: "j", Spans: []recording.Span{span(0, -1, recording.Admitted, 2)}}},
			pods:      []recording.Pod{life(0, 0, 3, -1, -1), life(0, 0, 3, 5, 6)},
		},
		"an eviction costs the time of draining and the start of those that come again": {
			workloads: evictedAt5,
			pods:      append([]recording.Pod{life(7, 7, 9, -1, -1), life(7.5, 7.5, 9, -1, -1)}, first...),
			want:      Lost{Draining: 1.5, StartingAgain: 3.5},
		},
		"a pod beyond those that were stopped starts for the first time": {
			workloads: evictedAt5,
			pods:      append([]recording.Pod{life(7, 7, 8, -1, -1), life(7, 7, 8, -1, -1), life(9, 9, 10, -1, -1)}, first...),
			want:      Lost{Draining: 1.5, StartingAgain: 2},
		},
		"only the evicted group's pods count": {
			workloads: []recording.Workload{{Name: "w", Job: "j", Group: "rollouts", Spans: []recording.Span{
				span(0, 5, recording.Admitted, 1), span(5, 6, recording.Draining, 1), span(6, -1, recording.Pending, 1),
			}}},
			pods: []recording.Pod{life(0, 0, 1, 5, 6)},
		},
		"an eviction that leaves no draining state still stopped its pods": {
			workloads: []recording.Workload{{Name: "w", Job: "j", Spans: []recording.Span{
				span(0, 5, recording.Admitted, 2), span(5, -1, recording.Pending, 2),
			}}},
			pods: first,
			want: Lost{Draining: 1.5},
		},
		"two evictions add up": {
			workloads: []recording.Workload{{Name: "w", Job: "j", Spans: []recording.Span{
				span(0, 2, recording.Admitted, 1), span(2, 3, recording.Draining, 1), span(3, 4, recording.Admitted, 1),
				span(4, 5, recording.Draining, 1), span(5, -1, recording.Admitted, 1),
			}}},
			pods: []recording.Pod{life(0, 0, 1, 2, 3), life(3, 3, 3.5, 4, 5), life(5, 5, 6, -1, -1)},
			want: Lost{Draining: 2, StartingAgain: 1.5},
		},
		"work done again is as measured": {
			job:  recording.Job{ItemsDone: 3, ItemsRedone: 1, RedoneGPUSeconds: 0.25},
			pods: []recording.Pod{life(0, 0, 2, -1, -1)},
			want: Lost{Redone: 0.25},
		},
		"or the share of the starts that came to nothing": {
			job:  recording.Job{ItemsDone: 3, ItemsRedone: 1},
			pods: []recording.Pod{life(0, 0, 2, -1, -1)},
			want: Lost{Redone: 2, Estimated: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.job.Name = "j"
			rec := &recording.Recording{Duration: 10, TimeScale: scale, Workloads: tc.workloads, Pods: tc.pods}
			if diff := cmp.Diff(tc.want, lostOf(rec, tc.job), about); diff != "" {
				t.Errorf("lost (-want,+got):\n%s", diff)
			}
		})
	}
}
