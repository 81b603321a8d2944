// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// gpuPod is a pod that is ready as soon as it is bound. Negative times have
// not come.
func gpuPod(job, node string, gpus int, bound, gone float64) recording.Pod {
	pod := recording.Pod{Name: job, UID: job + node, Job: job, Node: node, GPUs: gpus, Created: bound, Bound: &bound, Ready: &bound}
	if gone >= 0 {
		pod.Gone = &gone
	}
	return pod
}

func span(from, to float64, state recording.State, gpus int) recording.Span {
	s := recording.Span{From: from, State: state, GPUs: gpus}
	if to >= 0 {
		s.To = &to
	}
	return s
}

func TestSweep(t *testing.T) {
	type level struct {
		From, To    float64
		Held        map[string]int
		Total, Away int
	}
	nodes := []recording.Node{{Name: "a", GPUs: 8}, {Name: "b", GPUs: 8}}
	cases := map[string]struct {
		rec  recording.Recording
		want []level
	}{
		"an empty fleet is one level": {
			rec:  recording.Recording{Duration: 5, Nodes: nodes},
			want: []level{{From: 0, To: 5, Held: map[string]int{}}},
		},
		"a run of no length has no level": {
			rec: recording.Recording{Nodes: nodes, Pods: []recording.Pod{gpuPod("x", "a", 1, 0, -1)}},
		},
		"levels change where pods come and go, and the last lasts to the end": {
			rec: recording.Recording{Duration: 10, Nodes: nodes, Pods: []recording.Pod{
				gpuPod("x", "a", 4, 1, 3), gpuPod("y", "b", 2, 2, -1),
			}},
			want: []level{
				{From: 0, To: 1, Held: map[string]int{}},
				{From: 1, To: 2, Held: map[string]int{"x": 4}, Total: 4},
				{From: 2, To: 3, Held: map[string]int{"x": 4, "y": 2}, Total: 6},
				{From: 3, To: 10, Held: map[string]int{"y": 2}, Total: 2},
			},
		},
		"pods without a node, without GPUs, and without a life hold nothing": {
			rec: recording.Recording{Duration: 2, Nodes: nodes, Pods: []recording.Pod{
				{Job: "unbound", GPUs: 4}, gpuPod("head", "a", 0, 0, -1), gpuPod("none", "a", 3, 1, 1),
			}},
			want: []level{{From: 0, To: 2, Held: map[string]int{}}},
		},
		"a pod that outlives the run counts to its end": {
			rec:  recording.Recording{Duration: 2, Nodes: nodes, Pods: []recording.Pod{gpuPod("x", "a", 4, 0, 9)}},
			want: []level{{From: 0, To: 2, Held: map[string]int{"x": 4}, Total: 4}},
		},
		"pods outside the queue have a key of their own": {
			rec:  recording.Recording{Duration: 2, Nodes: nodes, Pods: []recording.Pod{gpuPod("", "a", 4, 0, -1)}},
			want: []level{{From: 0, To: 2, Held: map[string]int{Outside: 4}, Total: 4}},
		},
		"only what is free on a node that is away is away": {
			rec: recording.Recording{Duration: 4, Nodes: []recording.Node{
				{Name: "a", GPUs: 8, Away: []recording.Away{{From: 1, To: ptr.To(3.0), Why: "cordoned"}}}, {Name: "b", GPUs: 8},
			}, Pods: []recording.Pod{gpuPod("x", "a", 6, 0, 2)}},
			want: []level{
				{From: 0, To: 1, Held: map[string]int{"x": 6}, Total: 6},
				{From: 1, To: 2, Held: map[string]int{"x": 6}, Total: 6, Away: 2},
				{From: 2, To: 3, Held: map[string]int{}, Away: 8},
				{From: 3, To: 4, Held: map[string]int{}},
			},
		},
		"a node that is away for two reasons counts once": {
			rec: recording.Recording{Duration: 3, Nodes: []recording.Node{{Name: "a", GPUs: 8, Away: []recording.Away{
				{From: 0, To: ptr.To(2.0), Why: "cordoned"}, {From: 1, Why: "lost"},
			}}}},
			want: []level{
				{From: 0, To: 1, Held: map[string]int{}, Away: 8},
				{From: 1, To: 2, Held: map[string]int{}, Away: 8},
				{From: 2, To: 3, Held: map[string]int{}, Away: 8},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []level
			Sweep(&tc.rec, ByJob, func(l Level) {
				got = append(got, level{From: l.From, To: l.To, Held: maps.Clone(l.Held), Total: l.Total, Away: l.Away})
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("levels (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestKeysOfPods(t *testing.T) {
	rec := &recording.Recording{
		Jobs: []recording.Job{{Name: "train", Class: "training", Priority: "q1"}, {Name: "plain"}},
		Workloads: []recording.Workload{
			{Job: "train", Group: "rollouts", Priority: "q2"}, {Job: "train", Group: "trainer", Priority: ""},
		},
	}
	cases := map[string]struct {
		pod                     recording.Pod
		wantClass, wantPriority string
	}{
		"a pod has its job's class and priority":          {pod: recording.Pod{Job: "train", Group: "trainer"}, wantClass: "training", wantPriority: "q1"},
		"the priority of a group comes before the job's":  {pod: recording.Pod{Job: "train", Group: "rollouts"}, wantClass: "training", wantPriority: "q2"},
		"a job may have neither":                          {pod: recording.Pod{Job: "plain"}, wantClass: None, wantPriority: None},
		"a job that was not recorded has neither":         {pod: recording.Pod{Job: "ghost"}, wantClass: None, wantPriority: None},
		"a pod without a job is outside, whatever it has": {pod: recording.Pod{Group: "rollouts"}, wantClass: Outside, wantPriority: Outside},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ByClass(rec)(tc.pod); got != tc.wantClass {
				t.Errorf("class is %q, want %q", got, tc.wantClass)
			}
			if got := ByPriority(rec)(tc.pod); got != tc.wantPriority {
				t.Errorf("priority is %q, want %q", got, tc.wantPriority)
			}
		})
	}
}
