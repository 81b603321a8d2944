// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package evicted

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

var at = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

func condition(kind, reason, message string, status metav1.ConditionStatus) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)}
}

func workload(change func(*kueue.Workload), conditions ...metav1.Condition) *kueue.Workload {
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "eval"}}
	wl.Status.Conditions = conditions
	if change != nil {
		change(wl)
	}
	return wl
}

func TestWhy(t *testing.T) {
	preempted := condition(kueue.WorkloadEvicted, kueue.WorkloadEvictedByPreemption,
		"Preempted to accommodate a workload (UID: u1, JobUID: j1) due to prioritization in the ClusterQueue; preemptor path: /a/b; preemptee path: /a/c", metav1.ConditionTrue)
	late := condition(kueue.WorkloadEvicted, kueue.WorkloadEvictedByPodsReadyTimeout, "Exceeded the PodsReady timeout", metav1.ConditionTrue)
	trainer := kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "train", UID: "u1"}}
	trainer.Spec.Priority = new(int32(20000))
	trainer.Status.Admission = &kueue.Admission{ClusterQueue: "training"}
	cases := map[string]struct {
		wl     *kueue.Workload
		others []kueue.Workload
		want   string
	}{
		"never": {
			wl:   workload(nil),
			want: "Workload  lab/eval\nEvicted   never, as far as the Workload remembers\nNow       Pending\n",
		},
		"by a Workload that is there": {
			wl: workload(func(wl *kueue.Workload) { wl.Status.Admission = &kueue.Admission{} }, preempted), others: []kueue.Workload{trainer},
			want: "Workload  lab/eval\nEvicted   Preempted at 2026-05-20T12:00:00Z\nCause     another Workload took its place\n" +
				"Message   " + preempted.Message + "\n" +
				"By        lab/train, priority 20000, ClusterQueue training, by prioritization in the ClusterQueue\n" +
				"Now       Stopping: it holds its quota until its pods are gone\n",
		},
		"by one that is gone": {
			wl: workload(nil, preempted),
			want: "Workload  lab/eval\nEvicted   Preempted at 2026-05-20T12:00:00Z\nCause     another Workload took its place\n" +
				"Message   " + preempted.Message + "\n" +
				"By        the Workload with the UID u1, which is gone or not yours to see, by prioritization in the ClusterQueue\n" +
				"Now       Pending\n",
		},
		"late pods, with a backoff": {
			wl: workload(func(wl *kueue.Workload) {
				wl.Status.RequeueState = &kueue.RequeueState{Count: new(int32(2)), RequeueAt: new(metav1.NewTime(at.Add(150 * time.Second)))}
				wl.Status.SchedulingStats = &kueue.SchedulingStats{Evictions: []kueue.WorkloadSchedulingStatsEviction{
					{Reason: "Preempted", Count: 1}, {Reason: "PodsReadyTimeout", UnderlyingCause: "WaitForStart", Count: 2},
				}}
			}, late),
			want: "Workload  lab/eval\nEvicted   PodsReadyTimeout at 2026-05-20T12:00:00Z\n" +
				"Cause     its pods were not all ready in time: at the start, or again after one was lost\nMessage   Exceeded the PodsReady timeout\n" +
				"Now       Pending\nNext      it is queued again in 1m30s, at 2026-05-20T12:02:30Z, after requeueing number 2\n" +
				"\nREASON            CAUSE         TIMES\nPodsReadyTimeout  WaitForStart  2\nPreempted         –             1\n",
		},
		"deactivated": {
			wl: workload(func(wl *kueue.Workload) { wl.Spec.Active = new(bool) },
				condition(kueue.WorkloadEvicted, "DeactivatedDueToRequeuingLimitExceeded", "The limit was reached", metav1.ConditionTrue)),
			want: "Workload  lab/eval\nEvicted   DeactivatedDueToRequeuingLimitExceeded at 2026-05-20T12:00:00Z\n" +
				"Cause     it was deactivated (spec.active is false): by a limit, or by somebody\nMessage   The limit was reached\n" +
				"Now       Deactivated\nNext      set spec.active to true to queue it again\n",
		},
		"a reason of somebody else, and back since": {
			wl: workload(nil, condition(kueue.WorkloadEvicted, "Mine", "because", metav1.ConditionFalse),
				condition(kueue.WorkloadQuotaReserved, "r", "", metav1.ConditionTrue), condition(kueue.WorkloadAdmitted, "r", "", metav1.ConditionTrue)),
			want: "Workload  lab/eval\nEvicted   Mine, and requeued since\nMessage   because\nNow       Admitted again\n",
		},
		"only the count is left": {
			wl: workload(func(wl *kueue.Workload) {
				wl.Status.SchedulingStats = &kueue.SchedulingStats{Evictions: []kueue.WorkloadSchedulingStatsEviction{{Reason: "Preempted", Count: 3}}}
			}, condition(kueue.WorkloadFinished, "Succeeded", "", metav1.ConditionTrue)),
			want: "Workload  lab/eval\nEvicted   before; the condition is gone\nNow       Finished\n\nREASON     CAUSE  TIMES\nPreempted  –      3\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			Why(&State{Now: at.Add(time.Minute), Workload: tc.wl, Workloads: tc.others}).Print(&got)
			if diff := cmp.Diff(tc.want, got.String()); diff != "" {
				t.Errorf("unexpected report (-want,+got):\n%s", diff)
			}
		})
	}
}
