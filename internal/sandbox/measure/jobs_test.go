// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Figures that were computed on the way differ in the last bits.
var about = cmpopts.EquateApprox(1e-9, 1e-9)

func TestStates(t *testing.T) {
	cases := map[string]struct {
		workloads []recording.Workload
		want      []recording.Span
	}{
		"a job without Workloads has no state": {},
		"neighbours that are equal are one": {
			workloads: []recording.Workload{{Job: "j", Spans: []recording.Span{span(1, 2, recording.Pending, 4), span(2, 3, recording.Pending, 4), span(3, -1, recording.Admitted, 4)}}},
			want:      []recording.Span{span(1, 3, recording.Pending, 4), span(3, 10, recording.Admitted, 4)},
		},
		"a growth that waits does not hide what is held": {
			workloads: []recording.Workload{
				{Name: "first", Job: "j", Spans: []recording.Span{span(0, 4, recording.Admitted, 1), span(4, -1, recording.Done, 0)}},
				{Name: "second", Job: "j", Replaces: "first", Spans: []recording.Span{span(2, 4, recording.Pending, 2), span(4, -1, recording.Admitted, 2)}},
			},
			want: []recording.Span{span(0, 4, recording.Admitted, 1), span(4, 10, recording.Admitted, 2)},
		},
		"a slice and its successor do not add up": {
			workloads: []recording.Workload{
				{Name: "second", Job: "j", Replaces: "first", Spans: []recording.Span{span(4, -1, recording.Admitted, 2)}},
				{Name: "first", Job: "j", Spans: []recording.Span{span(0, 5, recording.Admitted, 1), span(5, -1, recording.Done, 0)}},
			},
			want: []recording.Span{span(0, 4, recording.Admitted, 1), span(4, 10, recording.Admitted, 2)},
		},
		"groups add up, without the head": {
			workloads: []recording.Workload{
				{Name: "h", Job: "j", Group: HeadGroup, Spans: []recording.Span{span(0, -1, recording.Admitted, 0)}},
				{Name: "a", Job: "j", Group: "a", Spans: []recording.Span{span(1, -1, recording.Admitted, 2)}},
				{Name: "b", Job: "j", Group: "b", Spans: []recording.Span{span(0, 3, recording.Pending, 4), span(3, -1, recording.Admitted, 4)}},
			},
			want: []recording.Span{span(0, 1, recording.Pending, 4), span(1, 3, recording.Admitted, 2), span(3, 10, recording.Admitted, 6)},
		},
		"other jobs do not matter": {
			workloads: []recording.Workload{{Job: "other", Spans: []recording.Span{span(0, -1, recording.Admitted, 8)}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := &recording.Recording{Duration: 10, Workloads: tc.workloads}
			if diff := cmp.Diff(tc.want, States(rec, "j")); diff != "" {
				t.Errorf("states (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestJob(t *testing.T) {
	evicted := []recording.Span{
		span(1, 2, recording.Pending, 4), span(2, 5, recording.Admitted, 4), span(5, 6, recording.Draining, 4),
		span(6, 7, recording.BackingOff, 4), span(7, 8, recording.Pending, 4), span(8, 9, recording.Admitted, 4), span(9, -1, recording.Done, 0),
	}
	evicted[2].Reason = "Preempted"
	cases := map[string]struct {
		rec  recording.Recording
		want JobFigures
	}{
		"a job that is never admitted waits to the end of the run": {
			rec: recording.Recording{
				Duration: 10, Jobs: []recording.Job{{Name: "j", Submitted: 4}},
				Workloads: []recording.Workload{{Job: "j", Spans: []recording.Span{span(4, -1, recording.Pending, 8)}}},
			},
			want: JobFigures{Name: "j", FirstWait: 6, TotalWait: 6},
		},
		"the time before the Workload exists is waiting, times are of the story, hours too": {
			rec: recording.Recording{
				Duration: 10, TimeScale: 3600, Jobs: []recording.Job{{Name: "j", Class: "c", Priority: "q1", Submitted: 1, Finished: ptr.To(8.0)}},
				Workloads: []recording.Workload{{Job: "j", Spans: []recording.Span{span(2, 3, recording.Pending, 8), span(3, 8, recording.Admitted, 8), span(8, -1, recording.Done, 0)}}},
				Pods:      []recording.Pod{gpuPod("j", "a", 8, 3, 8)},
			},
			want: JobFigures{Name: "j", Class: "c", Priority: "q1", Admitted: ptr.To(3.0), FirstWait: 7200, TotalWait: 7200, PeakGPUs: 8, GPUHours: 40, ReadyGPUHours: 40},
		},
		"an evicted job waits again, but not while it drains": {
			rec: recording.Recording{
				Duration: 10, Jobs: []recording.Job{{Name: "j", Submitted: 1, Finished: ptr.To(9.0)}},
				Workloads: []recording.Workload{{Name: "w", Job: "j", Spans: evicted}},
			},
			want: JobFigures{
				Name: "j", Admitted: ptr.To(2.0), FirstWait: 1, TotalWait: 3,
				Evictions: []Eviction{{At: 5, Workload: "w", Reason: "Preempted", GPUs: 4}},
			},
		},
		"a job that was refused never waits": {
			rec: recording.Recording{
				Duration: 10, Jobs: []recording.Job{{Name: "j", Submitted: 1}}, Events: []recording.Event{{Job: "j", What: "rejected"}},
			},
			want: JobFigures{Name: "j", Rejected: true},
		},
		"unless it got in later": {
			rec: recording.Recording{
				Duration: 10, Jobs: []recording.Job{{Name: "j", Submitted: 1}}, Events: []recording.Event{{Job: "j", What: "rejected"}},
				Workloads: []recording.Workload{{Job: "j", Spans: []recording.Span{span(4, -1, recording.Admitted, 8)}}},
			},
			want: JobFigures{Name: "j", Admitted: ptr.To(4.0), FirstWait: 3, TotalWait: 3},
		},
		"another job was refused": {
			rec:  recording.Recording{Duration: 10, Jobs: []recording.Job{{Name: "j", Submitted: 1}}, Events: []recording.Event{{Job: "k", What: "rejected"}}},
			want: JobFigures{Name: "j", FirstWait: 9, TotalWait: 9},
		},
		"sizes are counted in steps": {
			rec: recording.Recording{
				Duration: 10, Jobs: []recording.Job{{Name: "j"}},
				Workloads: []recording.Workload{
					{Name: "1", Job: "j", Spans: []recording.Span{span(0, 1, recording.Admitted, 1), span(1, -1, recording.Done, 0)}},
					{Name: "2", Job: "j", Replaces: "1", Spans: []recording.Span{span(1, 2, recording.Admitted, 2), span(2, -1, recording.Done, 0)}},
					{Name: "3", Job: "j", Replaces: "2", Spans: []recording.Span{span(2, 4, recording.Admitted, 5), span(4, -1, recording.Admitted, 3)}},
				},
				Pods: []recording.Pod{gpuPod("j", "a", 3, 0, 4), gpuPod("j", "a", 2, 4, -1)},
			},
			want: JobFigures{
				Name: "j", Admitted: ptr.To(0.0), Grown: 2, Shrunk: 1, PeakGPUs: 3,
				GPUHours: 24.0 / 3600, ReadyGPUHours: 24.0 / 3600,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Job(&tc.rec, tc.rec.Jobs[0]), about, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("figures (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestReadySeconds(t *testing.T) {
	cases := map[string]struct {
		pod  recording.Pod
		want float64
	}{
		"never ready":                             {pod: recording.Pod{}},
		"ready to the end of the run":             {pod: recording.Pod{Ready: ptr.To(4.0)}, want: 6},
		"ready until it was asked to stop":        {pod: recording.Pod{Ready: ptr.To(4.0), Stopping: ptr.To(7.0), Gone: ptr.To(9.0)}, want: 3},
		"gone without having been asked":          {pod: recording.Pod{Ready: ptr.To(4.0), Gone: ptr.To(9.0)}, want: 5},
		"unready in between and from then on":     {pod: recording.Pod{Ready: ptr.To(4.0), Unready: []recording.Interval{{From: 5, To: ptr.To(6.0)}, {From: 8}}}, want: 3},
		"asked to stop before it was ever ready":  {pod: recording.Pod{Ready: ptr.To(4.0), Stopping: ptr.To(3.0), Gone: ptr.To(5.0)}},
		"unready after it was asked to stop only": {pod: recording.Pod{Ready: ptr.To(4.0), Stopping: ptr.To(6.0), Unready: []recording.Interval{{From: 6}}}, want: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := readySeconds(&recording.Recording{Duration: 10}, tc.pod); got != tc.want {
				t.Errorf("got %g s, want %g s", got, tc.want)
			}
		})
	}
}
