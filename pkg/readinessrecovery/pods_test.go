// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

type podChange func(*corev1.Pod)

func makePod(group string, changes ...podChange) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"group": group}}}
	pod.Status.Phase = corev1.PodRunning
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, at metav1.Time) podChange {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: at})
	}
}

func phase(p corev1.PodPhase) podChange { return func(pod *corev1.Pod) { pod.Status.Phase = p } }
func terminating(pod *corev1.Pod)       { pod.DeletionTimestamp = new(ago(0)) }
func labelled(pod *corev1.Pod)          { pod.Labels["new"] = "label" }

var (
	isReady    = condition(corev1.PodReady, corev1.ConditionTrue, ago(time.Hour))
	isNotReady = condition(corev1.PodReady, corev1.ConditionFalse, ago(time.Minute))
)

func TestRunsAndChangeMatters(t *testing.T) {
	cases := map[string]struct {
		before, after *corev1.Pod
		wantRuns      bool
		wantMatters   bool
	}{
		"a pod that waits for a node":    {before: makePod("a", phase(corev1.PodPending)), after: makePod("a", phase(corev1.PodPending), labelled)},
		"a pod that starts":              {before: makePod("a", phase(corev1.PodPending)), after: makePod("a")},
		"a pod that becomes ready":       {before: makePod("a", isNotReady), after: makePod("a", isReady), wantRuns: true, wantMatters: true},
		"a pod that is ready still":      {before: makePod("a", isReady), after: makePod("a", isReady, labelled), wantRuns: true},
		"a pod whose container restarts": {before: makePod("a", isReady), after: makePod("a", isNotReady), wantMatters: true},
		"a pod that succeeds":            {before: makePod("a", isNotReady), after: makePod("a", isNotReady, phase(corev1.PodSucceeded)), wantRuns: true, wantMatters: true},
		"a ready pod that succeeds":      {before: makePod("a", isReady), after: makePod("a", isNotReady, phase(corev1.PodSucceeded)), wantRuns: true},
		"a pod that fails":               {before: makePod("a", isReady), after: makePod("a", isNotReady, phase(corev1.PodFailed)), wantMatters: true},
		"a ready pod that goes":          {before: makePod("a", isReady), after: makePod("a", isReady, terminating), wantMatters: true},
		"an unready pod that goes":       {before: makePod("a", isNotReady), after: makePod("a", isNotReady, terminating), wantMatters: true},
		"a pod on its way out":           {before: makePod("a", isReady, terminating), after: makePod("a", isNotReady, terminating)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.wantRuns, Runs(tc.after)); diff != "" {
				t.Errorf("Runs() (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantMatters, ChangeMatters(tc.before, tc.after)); diff != "" {
				t.Errorf("ChangeMatters() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	admittedAt := now.Add(-time.Minute)
	scheduled := func(at metav1.Time) podChange { return condition(corev1.PodScheduled, corev1.ConditionTrue, at) }
	early, same := scheduled(ago(time.Hour)), scheduled(ago(time.Minute))
	cases := map[string]struct {
		pods        []*corev1.Pod
		want        Counts
		wantEarlier bool
	}{
		"no pods": {want: Counts{}},
		"ready pods by group": {
			pods: []*corev1.Pod{makePod("head", isReady, early), makePod("workers", isReady, early), makePod("workers", isReady, early)},
			want: cluster(1, 2),
		},
		"an earlier pod isn't ready": {
			pods: []*corev1.Pod{makePod("head", isReady, early), makePod("workers", isNotReady, early)}, want: Counts{"head": 1}, wantEarlier: true,
		},
		"a pod of the same second is a new one": {pods: []*corev1.Pod{makePod("workers", isNotReady, same)}, want: Counts{}},
		"an earlier pod goes":                   {pods: []*corev1.Pod{makePod("workers", isNotReady, early, terminating)}, want: Counts{}},
		"a pod without a node": {
			pods: []*corev1.Pod{makePod("workers", condition(corev1.PodScheduled, corev1.ConditionFalse, ago(time.Hour)))}, want: Counts{},
		},
		"a pod that nobody has looked at": {pods: []*corev1.Pod{makePod("workers", phase(corev1.PodPending))}, want: Counts{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var pods []corev1.Pod
			for _, pod := range tc.pods {
				pods = append(pods, *pod)
			}
			got, earlier := Observe(pods, func(pod *corev1.Pod) kueue.PodSetReference {
				return kueue.PodSetReference(pod.Labels["group"])
			}, admittedAt)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ready pods (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantEarlier, earlier); diff != "" {
				t.Errorf("an earlier pod isn't ready (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestShouldRun(t *testing.T) {
	cases := map[string]struct {
		wanted, want Counts
	}{
		"what was admitted":              {wanted: cluster(1, 2), want: cluster(1, 2)},
		"the job has shrunk":             {wanted: cluster(1, 1), want: cluster(1, 1)},
		"a growth isn't admitted":        {wanted: cluster(1, 5), want: cluster(1, 2)},
		"the job no longer says a thing": {wanted: Counts{}, want: cluster(1, 2)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ShouldRun(cluster(1, 2), tc.wanted)); diff != "" {
				t.Errorf("ShouldRun() (-want,+got):\n%s", diff)
			}
		})
	}
}
