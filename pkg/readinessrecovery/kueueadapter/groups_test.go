// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	"sigs.k8s.io/kueue/pkg/workloadslicing"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

const groupPolicyJSON = `{"recovery":{"value":"15s","source":"PodTemplate"}}`

// groupFixture has the Workload of a group of three workers.
type groupFixture struct {
	*jobFixture
	policy *groupPolicy
	podSet *kueue.PodSet
}

func newGroupFixture(t *testing.T, objects ...client.Object) *groupFixture {
	t.Helper()
	f := &groupFixture{jobFixture: newJobFixture(t, objects...), podSet: utiltestingapi.MakePodSet("rollout", 3).Obj()}
	f.policy = &groupPolicy{jobPolicy: f.jobFixture.policy}
	f.podSet.Template.Annotations = map[string]string{readinessrecovery.RecoveryTimeoutAnnotation: "15s"}
	return f
}

// groupWorkload is admitted since the time, unless that is zero.
func groupWorkload(name string, workers int, admitted time.Time) *utiltestingapi.WorkloadWrapper {
	wl := utiltestingapi.MakeWorkload(name, "team").PodSets(*utiltestingapi.MakePodSet("rollout", workers).Obj())
	if !admitted.IsZero() {
		wl.ReserveQuotaAt(utiltestingapi.MakeAdmission("cq", "rollout").PodSets(
			utiltestingapi.MakePodSetAssignment("rollout").Count(int32(workers)).Obj()).Obj(), admitted).AdmittedAt(true, admitted)
	}
	return wl
}

// follow runs the policy until nothing changes, with so many ready pods of three.
func (f *groupFixture) follow(t *testing.T, name string, readyPods, expected int32) (*kueue.Workload, bool) {
	t.Helper()
	var pods []corev1.Pod
	for i := range int32(3) {
		pod := worker()
		if i < readyPods {
			ready(pod)
		}
		pods = append(pods, *pod)
	}
	for range 10 {
		before := f.get(t, name)
		judged, err := f.policy.Follow(t.Context(), before.DeepCopy(), f.podSet, pods, expected)
		if err != nil {
			t.Fatalf("Follow() error = %v", err)
		}
		if after := f.get(t, name); after.ResourceVersion == before.ResourceVersion {
			return after, judged
		}
	}
	t.Fatal("The policy doesn't come to rest")
	return nil, false
}

func TestGroupReadinessFollowsItsGate(t *testing.T) {
	setGates(t)
	if r := New().GroupReadiness(); r != nil {
		t.Errorf("The gate is off, but groups are judged by %T", r)
	}
}

func TestGroupIsJudged(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	type outcome struct {
		Judged    bool
		Policy    string
		History   string
		Condition *metav1.Condition
	}
	condition := func(status metav1.ConditionStatus, reason, message string, since time.Time) *metav1.Condition {
		return &metav1.Condition{Type: kueue.WorkloadPodsReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(since)}
	}
	started := podsReadyCondition(metav1.ConditionTrue, kueue.WorkloadStarted, now.Add(-time.Hour))
	grown := func(history string) *utiltestingapi.WorkloadWrapper {
		wl := groupWorkload("wl", 3, now.Add(-time.Minute))
		wl.Annotation(readinessrecovery.HistoryAnnotation, history)
		wl.Annotation(workloadslicing.WorkloadSliceReplacementFor, "team/gone")
		return wl
	}
	const lostMessage = "At least one pod is not ready any more, waiting for recovery: recovery window 15s from pod template annotation; cluster default 5m"
	cases := map[string]struct {
		wl    *utiltestingapi.WorkloadWrapper
		ready int32
		want  outcome
	}{
		"a group that waits is told of its window only": {
			wl: groupWorkload("wl", 3, time.Time{}), ready: 0,
			want: outcome{Policy: groupPolicyJSON},
		},
		"a group starts": {
			wl: groupWorkload("wl", 3, now.Add(-time.Minute)), ready: 2,
			want: outcome{Judged: true, Policy: groupPolicyJSON, Condition: condition(metav1.ConditionFalse, kueue.WorkloadWaitForStart,
				"Not all pods are ready or succeeded: start window 30m, the cluster default", now)},
		},
		"a group runs": {
			wl: groupWorkload("wl", 3, now.Add(-time.Minute)), ready: 3,
			want: outcome{Judged: true, Policy: groupPolicyJSON, Condition: condition(metav1.ConditionTrue, kueue.WorkloadStarted,
				"All pods reached readiness and the workload is running", now)},
		},
		"a group loses a pod": {
			wl: groupWorkload("wl", 3, now.Add(-time.Hour)).Condition(started), ready: 2,
			want: outcome{Judged: true, Policy: groupPolicyJSON, Condition: condition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, lostMessage, now)},
		},
		"a growth starts": {
			wl: grown(`{"kept":{"rollout":2}}`), ready: 2,
			want: outcome{Judged: true, Policy: groupPolicyJSON, History: `{"kept":{"rollout":2}}`, Condition: condition(metav1.ConditionFalse,
				kueue.WorkloadWaitForStart, "Not all pods are ready or succeeded: start window 30m, the cluster default", now)},
		},
		"a loss of before a growth goes on": {
			wl: grown(`{"kept":{"rollout":2},"lostSince":"2026-11-30T11:59:50Z"}`), ready: 1,
			want: outcome{Judged: true, Policy: groupPolicyJSON, History: `{"kept":{"rollout":2},"lostSince":"2026-11-30T11:59:50Z"}`,
				Condition: condition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, lostMessage, now.Add(-10*time.Second))},
		},
		"all pods of a growth run": {
			wl: grown(`{"kept":{"rollout":2}}`), ready: 3,
			want: outcome{Judged: true, Policy: groupPolicyJSON, Condition: condition(metav1.ConditionTrue, kueue.WorkloadStarted,
				"All pods reached readiness and the workload is running", now)},
		},
		"a group that is evicted is left alone": {
			wl: groupWorkload("wl", 3, now.Add(-time.Hour)).Condition(started).EvictedAt(now), ready: 0,
			want: outcome{Policy: groupPolicyJSON, Condition: condition(metav1.ConditionTrue, kueue.WorkloadStarted, "", now.Add(-time.Hour))},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newGroupFixture(t, tc.wl.Obj())
			wl, judged := f.follow(t, "wl", tc.ready, 3)
			got := outcome{
				Judged:    judged,
				Policy:    wl.Annotations[readinessrecovery.PolicyAnnotation],
				History:   wl.Annotations[readinessrecovery.HistoryAnnotation],
				Condition: apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady),
			}
			if got.Condition != nil {
				got.Condition.LastTransitionTime = metav1.NewTime(got.Condition.LastTransitionTime.UTC())
				got.Condition.ObservedGeneration = 0
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Unexpected outcome (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestGroupSliceInherits(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	lost := podsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, now.Add(-10*time.Second))
	old := groupWorkload("old", 2, now.Add(-time.Hour)).Condition(lost).RequeueState(new(int32(2)), nil).Obj()
	f := newGroupFixture(t)
	got, err := f.policy.Annotations(f.podSet, old)
	if err != nil {
		t.Fatalf("Annotations() error = %v", err)
	}
	want := map[string]string{
		readinessrecovery.PolicyAnnotation:  groupPolicyJSON,
		readinessrecovery.HistoryAnnotation: `{"kept":{"rollout":2},"lostSince":"2026-11-30T11:59:50Z","requeueCount":2}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations of a slice (-want,+got):\n%s", diff)
	}
	got, err = f.policy.Annotations(f.podSet, nil)
	if err != nil {
		t.Fatalf("Annotations() error = %v", err)
	}
	if diff := cmp.Diff(map[string]string{readinessrecovery.PolicyAnnotation: groupPolicyJSON}, got); diff != "" {
		t.Errorf("annotations of a start (-want,+got):\n%s", diff)
	}
}

func TestGroupIsToldOfAnIgnoredAnnotation(t *testing.T) {
	f := newGroupFixture(t, groupWorkload("wl", 3, time.Time{}).Obj())
	f.podSet.Template.Annotations[readinessrecovery.RecoveryTimeoutAnnotation] = "soon"
	f.follow(t, "wl", 0, 0)
	f.follow(t, "wl", 0, 0)
	want := []utiltesting.EventRecord{{
		Key:       client.ObjectKey{Namespace: "team", Name: "wl"},
		EventType: corev1.EventTypeWarning,
		Reason:    ReasonAnnotationIgnored,
		Message: "Annotation fleet.ai/readiness-recovery-timeout has no effect, the cluster's setting applies: " +
			`value "soon" must be a Go duration such as 90s, 5m or 1h30m`,
	}}
	if diff := cmp.Diff(want, f.recorder.RecordedEvents); diff != "" {
		t.Errorf("events (-want,+got):\n%s", diff)
	}
}
