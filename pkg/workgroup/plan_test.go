// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// describe is a plan in words.
func describe(p Plan) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, wl := range p.Unfinalize {
		say("let go of %s", wl.Name)
	}
	for _, end := range p.Finish {
		say("finish %s: %s", end.Workload.Name, end.Reason)
	}
	for _, pod := range p.Delete {
		say("delete %s", pod.Name)
	}
	if p.Requeue != nil {
		say("requeue %s", p.Requeue.Name)
	}
	if p.Shrink != nil {
		say("shrink %s to %d", p.Shrink.Workload.Name, p.Shrink.Count)
	}
	if p.Resize != nil {
		say("resize %s to %d", p.Resize.Workload.Name, p.Resize.Count)
	}
	if p.Create != nil && p.Create.Replaces == nil {
		say("create %s of %d", p.Create.Name, p.Create.Count)
	}
	if p.Create != nil && p.Create.Replaces != nil {
		say("create %s of %d for %s", p.Create.Name, p.Create.Count, p.Create.Replaces.Name)
	}
	for _, pod := range p.Release {
		say("release %s", pod.Name)
	}
	return out
}

func TestDecide(t *testing.T) {
	elastic := func(want int32) Group {
		return Group{Name: "rollout", Elastic: true, PodSet: kueue.PodSet{Name: "rollout", Count: want}}
	}
	fixed := func(want int32) Group {
		group := elastic(want)
		group.Elastic = false
		return group
	}
	head := Group{Name: HeadGroup, PodSet: kueue.PodSet{Name: HeadGroup, Count: 1}}
	waits := setCondition(kueue.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending", "2 more GPUs needed")
	done := Outcome{Reason: kueue.WorkloadFinishedReasonSucceeded, Message: "done"}
	type list = []*kueue.Workload
	type podList = []*corev1.Pod

	cases := map[string]struct {
		group     Group
		phase     JobPhase
		workloads list
		pods      podList
		want      []string
		wantState string
	}{
		"a head is queued while the job is held": {
			group: head, phase: JobHeld,
			want: []string{"create $base of 1"}, wantState: "Waiting 0/1",
		},
		"workers wait for the head": {
			group: elastic(2), phase: JobHeld,
			wantState: "Held 0/2, waiting for the admission of the head",
		},
		"a group is queued when the job is active": {
			group: elastic(2), phase: JobActive,
			want: []string{"create $base of 2"}, wantState: "Waiting 0/2",
		},
		"a group from zero is queued too": {
			group: elastic(0), phase: JobActive,
			want: []string{"create $base of 0"}, wantState: "Waiting 0/0",
		},
		"gated pods wait with their Workload": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, waits)}, pods: podList{pod("a", gated), pod("b", gated)},
			wantState: "Waiting 0/2, 2 more GPUs needed",
		},
		"a waiting Workload follows the size": {
			group: elastic(3), phase: JobActive, workloads: list{slice(1, 2)},
			want: []string{"resize $base to 3"}, wantState: "Waiting 0/3",
		},
		"pods without a quota are stopped before anything is queued": {
			group: elastic(2), phase: JobActive, pods: podList{pod("a", ready), pod("b", ready, stopping), pod("c", gated)},
			want: []string{"delete a"}, wantState: "Draining 1/2, 2 pods have to stop: the group holds no quota",
		},
		"what is only reserved releases nothing": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 1, reserved)}, pods: podList{pod("a", gated)},
			wantState: "Waiting 0/1, quota is reserved, admission checks are pending",
		},
		"pods are released as granted": {
			group: elastic(3), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 3, replacing(1), waits)},
			pods: podList{pod("c", gated), pod("b", gated), pod("a", ready)},
			want: []string{"release b"}, wantState: "Growing 1/3, 2 granted: 2 more GPUs needed",
		},
		"terminating pods are counted against the grant": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted)},
			pods:      podList{pod("a", ready), pod("b", ready, stopping), pod("c", gated)},
			wantState: "Starting 1/2",
		},
		"ended pods are not": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted)},
			pods: podList{pod("a", ready), pod("b", failed), pod("c", gated)},
			want: []string{"release c"}, wantState: "Starting 1/2",
		},
		"terminating gated pods are not released": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 1, admitted)}, pods: podList{pod("a", gated, stopping)},
			wantState: "Starting 0/1",
		},
		"no more pods are released than the assignment places": {
			group: elastic(3), phase: JobActive, workloads: list{slice(1, 3, admitted, placed(2))},
			pods: podList{pod("a", gated), pod("b", gated), pod("c", gated)},
			want: []string{"release a", "release b"}, wantState: "Starting 0/3",
		},
		"nothing is released while the job is held": {
			group: head, phase: JobHeld, workloads: list{slice(1, 1, admitted)}, pods: podList{pod("a", gated)},
			wantState: "Starting 0/1",
		},
		"all run": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted)}, pods: podList{pod("a", ready), pod("b", ready)},
			wantState: "Running 2/2",
		},
		"growth asks for the whole new size": {
			group: elastic(4), phase: JobActive, workloads: list{slice(1, 2, admitted)}, pods: podList{pod("a", ready), pod("b", ready)},
			want: []string{"create $base-2 of 4 for $base"}, wantState: "Starting 2/4",
		},
		"growth from zero": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 0, admitted)}, pods: podList{pod("a", gated)},
			want: []string{"create $base-2 of 1 for $base"}, wantState: "Starting 0/1",
		},
		"growth waits until its predecessor is fully admitted": {
			group: elastic(4), phase: JobActive, workloads: list{slice(1, 2, reserved)},
			wantState: "Waiting 0/4, quota is reserved, admission checks are pending",
		},
		"a waiting growth follows the size": {
			group: elastic(5), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 4, replacing(1))}, pods: podList{pod("a", ready), pod("b", ready)},
			want: []string{"resize $base-2 to 5"}, wantState: "Growing 2/5, 2 granted",
		},
		"a growth that nobody wants any more is dropped": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 4, replacing(1))}, pods: podList{pod("a", ready), pod("b", ready)},
			want: []string{"finish $base-2: OutOfSync"}, wantState: "Growing 2/2, 2 granted",
		},
		"the admitted growth takes over": {
			group: elastic(4), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 4, replacing(1), admitted)},
			pods: podList{pod("a", ready), pod("b", ready), pod("c", gated), pod("d", gated)},
			want: []string{"finish $base: WorkloadSliceReplaced", "release c", "release d"}, wantState: "Starting 2/4",
		},
		"the next growth after several": {
			group: elastic(5), phase: JobActive, workloads: list{slice(10, 4, replacing(9), admitted), slice(9, 3, finished)},
			pods: podList{pod("a", ready), pod("b", ready), pod("c", ready), pod("d", ready)},
			want: []string{"let go of $base-9", "create $base-11 of 5 for $base-10"}, wantState: "Starting 4/5",
		},
		"a second growth is dropped": {
			group: elastic(4), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 3, replacing(1)), slice(3, 4, replacing(1))}, pods: podList{pod("a", ready), pod("b", ready)},
			want: []string{"finish $base-2: OutOfSync"}, wantState: "Growing 2/4, 2 granted",
		},
		"nothing shrinks before the pods are gone": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 3, admitted)},
			pods:      podList{pod("a", ready), pod("b", ready, stopping), pod("c", ready, stopping)},
			wantState: "Shrinking 1/1, 3 pods are left",
		},
		"a shrink goes with its pods": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 3, admitted)},
			pods: podList{pod("a", ready), pod("b", ready, stopping)},
			want: []string{"shrink $base to 2"}, wantState: "Shrinking 1/1, 2 pods are left",
		},
		"a shrink to nothing": {
			group: elastic(0), phase: JobActive, workloads: list{slice(1, 3, admitted)},
			want: []string{"shrink $base to 0"}, wantState: "Shrinking 0/0, 0 pods are left",
		},
		"a shrink while a growth waits": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 4, replacing(1))}, pods: podList{pod("a", ready)},
			want: []string{"finish $base-2: OutOfSync", "shrink $base to 1"}, wantState: "Growing 1/1, 2 granted",
		},
		"no pod is released that has to go again": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 2, admitted)}, pods: podList{pod("a", ready), pod("b", gated)},
			want: []string{"shrink $base to 1"}, wantState: "Shrinking 1/1, 1 pods are left",
		},
		"an assignment that was left too large is trimmed": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 1, admitted, placed(2))}, pods: podList{pod("a", ready)},
			want: []string{"shrink $base to 1"}, wantState: "Running 1/1",
		},
		"a fixed group never shrinks": {
			group: fixed(2), phase: JobActive, workloads: list{slice(1, 2, admitted)},
			wantState: "Starting 0/2",
		},
		"an evicted group is drained": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted, evicted)},
			pods: podList{pod("a", ready), pod("b", ready, stopping), pod("c", gated)},
			want: []string{"delete a"}, wantState: "Draining 1/2, 2 pods have to stop: a higher one came",
		},
		"its quota is kept while a pod is terminating": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted, evicted)}, pods: podList{pod("b", stopping), pod("c", gated)},
			wantState: "Draining 0/2, 1 pods have to stop: a higher one came",
		},
		"its quota is given back with the last pod": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, admitted, evicted)}, pods: podList{pod("c", gated), pod("d", gated)},
			want: []string{"requeue $base"}, wantState: "Draining 0/2, 0 pods have to stop: a higher one came",
		},
		"its growth is dropped": {
			group: elastic(4), phase: JobActive, workloads: list{slice(1, 2, admitted, evicted), slice(2, 4, replacing(1))}, pods: podList{pod("a", ready)},
			want: []string{"finish $base-2: OutOfSync", "delete a"}, wantState: "Draining 1/4, 1 pods have to stop: a higher one came",
		},
		"a growth that is evicted at once drains the group": {
			group: elastic(4), phase: JobActive, workloads: list{slice(1, 2, admitted), slice(2, 4, replacing(1), admitted, evicted)}, pods: podList{pod("a", ready)},
			want: []string{"finish $base: WorkloadSliceReplaced", "delete a"}, wantState: "Draining 1/4, 1 pods have to stop: a higher one came",
		},
		"a drained group queues with the size of now": {
			group: elastic(3), phase: JobActive, workloads: list{slice(1, 2, evicted, waits)},
			want: []string{"resize $base to 3"}, wantState: "Waiting 0/3, 2 more GPUs needed",
		},
		"a group that was switched off": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 2, evicted, inactive)},
			wantState: "Deactivated 0/2, a higher one came",
		},
		"the Workload of a running group is deleted": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 1, admitted, deleting)}, pods: podList{pod("a", ready)},
			want: []string{"delete a"}, wantState: "Draining 1/1, 1 pods have to stop: its Workload is deleted",
		},
		"a deleted Workload goes with the last pod": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 1, admitted, deleting)},
			want: []string{"let go of $base"}, wantState: "Draining 0/1, 0 pods have to stop: its Workload is deleted",
		},
		"a deleted Workload that waits goes at once": {
			group: elastic(1), phase: JobActive, workloads: list{slice(1, 1, deleting)},
			want: []string{"let go of $base"}, wantState: "Waiting 0/1",
		},
		"a deleted growth goes at once": {
			group: elastic(2), phase: JobActive, workloads: list{slice(1, 1, admitted), slice(2, 2, replacing(1), deleting)}, pods: podList{pod("a", ready)},
			want: []string{"let go of $base-2", "create $base-3 of 2 for $base"}, wantState: "Starting 1/2",
		},
		"the end of a job ends what waits": {
			group: elastic(2), phase: JobEnding, workloads: list{slice(1, 2)},
			want: []string{"finish $base: Succeeded"}, wantState: "Ended 0/2, done",
		},
		"the end of a job keeps quota for its pods": {
			group: fixed(2), phase: JobEnding, workloads: list{slice(1, 2, admitted)}, pods: podList{pod("a", ready), pod("b", gated)},
			wantState: "Ending 1/2, 1 pods are left",
		},
		"an elastic group gives back what went": {
			group: elastic(2), phase: JobEnding, workloads: list{slice(1, 2, admitted), slice(2, 4, replacing(1))}, pods: podList{pod("a", ready, stopping)},
			want: []string{"finish $base-2: Succeeded", "shrink $base to 1"}, wantState: "Ending 0/2, 1 pods are left",
		},
		"the last pod of a job ends it": {
			group: fixed(2), phase: JobEnding, workloads: list{slice(1, 2, admitted)},
			want: []string{"finish $base: Succeeded"}, wantState: "Ending 0/2, 0 pods are left",
		},
		"a group that is evicted after the end is drained": {
			group: fixed(1), phase: JobEnding, workloads: list{slice(1, 1, admitted, evicted)}, pods: podList{pod("a", ready)},
			want: []string{"delete a"}, wantState: "Ending 1/1, 1 pods are left",
		},
		"a group that was drained after the end is ended": {
			group: fixed(1), phase: JobEnding, workloads: list{slice(1, 1, admitted, evicted)},
			want: []string{"finish $base: Succeeded"}, wantState: "Ending 0/1, 0 pods are left",
		},
		"a deleted job keeps its Workload for its pods": {
			group: fixed(1), phase: JobEnding, workloads: list{slice(1, 1, admitted, deleting)}, pods: podList{pod("a", ready, stopping)},
			wantState: "Ending 0/1, 1 pods are left",
		},
		"a deleted job's Workload goes with the last pod": {
			group: fixed(1), phase: JobEnding, workloads: list{slice(1, 1, admitted, deleting), slice(2, 1, finished)},
			want: []string{"let go of $base-2", "let go of $base"}, wantState: "Ending 0/1, 0 pods are left",
		},
		"nothing is queued for a job that has ended": {
			group: head, phase: JobEnding, wantState: "Ended 0/1, done",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Observed{
				Group: tc.group, Phase: tc.phase, Outcome: done, BaseName: testBase, Workloads: tc.workloads,
				Pods: sortPods(tc.pods, func(*corev1.Pod) bool { return false }),
			}
			plan := Decide(o)
			var want []string
			for _, line := range tc.want {
				want = append(want, replaceBase(line))
			}
			if diff := cmp.Diff(want, describe(plan)); diff != "" {
				t.Errorf("Decide() (-want,+got):\n%s", diff)
			}
			if got, want := plan.Status.String(), tc.group.Name+": "+tc.wantState; got != want {
				t.Errorf("status %q, want %q", got, want)
			}
			// Deleting pods and asking for another size may be done on old copies.
			critical := slices.ContainsFunc(want, func(line string) bool {
				return !strings.HasPrefix(line, "delete ") && !strings.HasPrefix(line, "resize ")
			})
			if plan.Critical() != critical {
				t.Errorf("Critical() = %v, want %v", plan.Critical(), critical)
			}
		})
	}
}

func TestLostPodsHoldNothing(t *testing.T) {
	pods := sortPods([]*corev1.Pod{pod("a", ready), pod("b", ready, stopping), pod("c", ready, stopping)}, func(p *corev1.Pod) bool { return p.Name != "c" })
	if got := pods.held(); got != 2 {
		t.Errorf("%d pods hold quota, want 2: the one that runs and the one whose end will be reported", got)
	}
}
