// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Each rule is shown to pass on a good state and to fail on one that differs by what
// the rule is about.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		state State
		want  []Rule
	}{
		"an empty cluster is fine": {state: cluster()},
		"a job that fills its node": {
			state: cluster(job("a", grant{"g", 4, on{"n1": 4}}), runs("a", "g", "n1", 4)),
		},

		"DomainCapacity: two jobs ask for one GPU more than the node has": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}), job("b", grant{"g", 3, on{"n1": 3}})),
			want:  []Rule{DomainCapacity},
		},
		"DomainCapacity: two groups of one job add up": {
			state: cluster(job("a", grant{"g", 3, on{"n1": 3}}, grant{"h", 2, on{"n1": 2}})),
			want:  []Rule{DomainCapacity},
		},
		"DomainCapacity: a node that is cordoned has no room": {
			state: cluster(node("n1", cordoned), job("a", grant{"g", 1, on{"n1": 1}})),
			want:  []Rule{DomainCapacity, DomainPodSlots},
		},
		"DomainCapacity: pods of nobody's job take their share": {
			state: cluster(job("a", grant{"g", 4, on{"n1": 4}}), foreign("n1", 1)),
			want:  []Rule{DomainCapacity},
		},
		"DomainCapacity: a replacement and its predecessor count a kept pod once": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}), job("a2", grant{"g", 4, on{"n1": 4}}, replacing("a"))),
		},
		"DomainCapacity: an evicted job counts while it holds its quota": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}, evicted), job("b", grant{"g", 3, on{"n1": 3}})),
			want:  []Rule{DomainCapacity},
		},
		"DomainCapacity: a job without quota doesn't count": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}, gaveBack), job("b", grant{"g", 4, on{"n1": 4}})),
		},
		"DomainCapacity: a finished job doesn't count": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}, finished("Succeeded")), job("b", grant{"g", 4, on{"n1": 4}})),
		},
		"DomainPodSlots: one pod more than the node has slots": {
			state: cluster(node("n1", slots(2)), job("a", grant{"g", 3, on{"n1": 3}})),
			want:  []Rule{DomainPodSlots},
		},
		"DomainPodSlots: just enough slots": {
			state: cluster(node("n1", slots(3)), job("a", grant{"g", 3, on{"n1": 3}})),
		},
		"NodeOvercommitted: more pods run than the node has GPUs": {
			state: cluster(foreign("n1", 5)),
			want:  []Rule{NodeOvercommitted},
		},
		"NodeOvercommitted: a pod that terminates still holds its GPU": {
			state: cluster(foreign("n1", 4), foreign("n1", 1, terminating)),
			want:  []Rule{NodeOvercommitted},
		},
		"NodeOvercommitted: a pod that has ended holds nothing": {
			state: cluster(foreign("n1", 4), foreign("n1", 1, ended)),
		},

		"QueueQuota: more than the nominal quota": {
			state: cluster(queue("q", 3), job("a", grant{"g", 4, on{"n1": 4}})),
			want:  []Rule{QueueQuota},
		},
		"QueueQuota: exactly the nominal quota": {
			state: cluster(queue("q", 4), job("a", grant{"g", 4, on{"n1": 4}})),
		},
		"QueueQuota: a growth counts once beside what it replaces": {
			state: cluster(queue("q", 4), job("a", grant{"g", 2, on{"n1": 2}}), job("a2", grant{"g", 4, on{"n1": 4}}, replacing("a"))),
		},
		"QueueQuota: an evicted job holds its quota": {
			state: cluster(queue("q", 4), job("a", grant{"g", 2, on{"n1": 2}}, evicted), job("b", grant{"g", 3, on{"n2": 3}})),
			want:  []Rule{QueueQuota},
		},
		"QueueQuota: more than the borrowing limit": {
			state: cluster(queue("q", 2, member("all"), borrow(1)), queue("r", 6, member("all")), job("a", grant{"g", 4, on{"n1": 4}})),
			want:  []Rule{QueueQuota},
		},
		"QueueQuota: within the borrowing limit": {
			state: cluster(queue("q", 2, member("all"), borrow(2)), queue("r", 6, member("all")), job("a", grant{"g", 4, on{"n1": 4}})),
		},
		"CohortQuota: the members use more than there is": {
			state: cluster(queue("q", 3, member("all")), queue("r", 2, member("all")),
				job("a", grant{"g", 4, on{"n1": 4}}), job("b", grant{"g", 2, on{"n2": 2}}, in("r"))),
			want: []Rule{CohortQuota},
		},
		"CohortQuota: the members use what there is": {
			state: cluster(queue("q", 3, member("all")), queue("r", 2, member("all")),
				job("a", grant{"g", 4, on{"n1": 4}}), job("b", grant{"g", 1, on{"n2": 1}}, in("r"))),
		},
		"CohortQuota: what a member doesn't lend is not there": {
			state: cluster(queue("q", 2, member("all")), queue("r", 3, member("all"), lend(1)), job("a", grant{"g", 4, on{"n1": 4}})),
			want:  []Rule{CohortQuota},
		},
		"CohortQuota: what a member keeps for itself it may use": {
			state: cluster(queue("q", 2, member("all")), queue("r", 3, member("all"), lend(1)),
				job("a", grant{"g", 3, on{"n1": 3}}), job("b", grant{"g", 2, on{"n2": 2}}, in("r"))),
		},
		"CohortQuota: the cohort's own quota counts": {
			state: cluster(cohort("all", 1), queue("q", 3, member("all")), job("a", grant{"g", 4, on{"n1": 4}})),
		},

		"AssignmentTotal: the assignment has more pods than the PodSet": {
			state: cluster(job("a", grant{"g", 3, on{"n1": 4}})),
			want:  []Rule{AssignmentTotal},
		},
		"AssignmentTotal: a trimmed assignment comes before the lower count": {
			state: cluster(job("a", grant{"g", 3, on{"n1": 2}}), runs("a", "g", "n1", 2)),
		},
		"AssignmentTotal: a trimmed assignment is not left so": {
			state: cluster(settled, job("a", grant{"g", 3, on{"n1": 2}})),
			want:  []Rule{AssignmentTotal},
		},
		"AssignmentTotal: a pod that stays may not be trimmed": {
			state: cluster(job("a", grant{"g", 3, on{"n1": 1}}), runs("a", "g", "n1", 2)),
			want:  []Rule{AssignmentTotal, PodOutsideAssignment},
		},
		"AssignmentTotal: a group without pods has no assignment": {
			state: cluster(settled, job("a", grant{"g", 0, nil})),
		},
		"AssignmentMissing: pods on a flavor with a topology have no domains": {
			state: cluster(settled, job("a", grant{"g", 1, nil})),
			want:  []Rule{AssignmentMissing},
		},
		"AssignmentMissing: a shrink to nothing takes the assignment first": {
			state: cluster(job("a", grant{"g", 1, nil})),
		},
		"AssignmentMissing: pods that run have domains at any time": {
			state: cluster(job("a", grant{"g", 1, nil}), runs("a", "g", "n1", 1)),
			want:  []Rule{AssignmentMissing},
		},
		"AssignmentMissing: a flavor without a topology needs none": {
			state: cluster(settled, queue("q", 4, without), job("a", grant{"g", 1, nil}, without)),
		},
		"UnknownDomain: a node of another flavor": {
			state: cluster(node("n1", kind("other")), job("a", grant{"g", 1, on{"n1": 1}})),
			want:  []Rule{UnknownDomain},
		},
		"LostNodeForgotten: a node is gone and nobody says so": {
			state: cluster(settled, node("n1", gone), job("a", grant{"g", 1, on{"n1": 1}})),
			want:  []Rule{DomainCapacity, DomainPodSlots, LostNodeForgotten},
		},
		"LostNodeForgotten: a node is gone and the status says so": {
			state: cluster(settled, node("n1", gone), job("a", grant{"g", 1, on{"n1": 1}}, unhealthy("n1"))),
			want:  []Rule{DomainCapacity, DomainPodSlots},
		},

		"OneAdmittedSlice: two slices hold quota side by side": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 1, on{"n1": 1}}, chainOf("a"))),
			want:  []Rule{OneAdmittedSlice},
		},
		"OneAdmittedSlice: three slices hold quota": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a")),
				job("a3", grant{"g", 3, on{"n1": 3}}, replacing("a2"), chainOf("a"))),
			want: []Rule{OneAdmittedSlice},
		},
		"OneAdmittedSlice: the predecessor is ended in a moment": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a"))),
		},
		"OneAdmittedSlice: the predecessor is not left": {
			state: cluster(settled, job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a"))),
			want:  []Rule{OneAdmittedSlice},
		},
		"OnePendingSlice: two growths wait": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, nil}, waits, replacing("a")),
				job("a3", grant{"g", 3, nil}, waits, chainOf("a"))),
			want: []Rule{OnePendingSlice},
		},
		"OnePendingSlice: one growth waits": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, nil}, waits, replacing("a"))),
		},
		"ForeignReplacement: a stranger took the place": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)),
				job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
			want: []Rule{ForeignReplacement},
		},
		"ForeignReplacement: its own growth took the place, whatever a stranger says": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)),
				job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a")), job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
		},
		"ForeignReplacement: a stranger's claim is ignored": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
		},

		"PodsWithoutQuota: pods terminate and nobody holds their quota": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}, gaveBack), runs("a", "g", "n1", 2, terminating)),
			want:  []Rule{PodsWithoutQuota},
		},
		"PodsWithoutQuota: an evicted slice holds on until its pods are gone": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}, evicted), runs("a", "g", "n1", 2, terminating)),
		},
		"PodsWithoutQuota: a shrink doesn't run ahead of the pods": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}), runs("a", "g", "n1", 1), runs("a", "g", "n1", 1, terminating)),
			want:  []Rule{PodOutsideAssignment, PodsWithoutQuota},
		},
		"PodsWithoutQuota: a gated pod holds nothing": {
			state: cluster(job("a", grant{"g", 2, nil}, waits), runs("a", "g", "", 2, gated)),
		},
		"MorePodsThanGranted: one pod more runs": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}), runs("a", "g", "n1", 3)),
			want:  []Rule{MorePodsThanGranted, PodOutsideAssignment},
		},
		"MorePodsThanGranted: the others are gated": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}), runs("a", "g", "n1", 2), runs("a", "g", "", 3, gated)),
		},
		"PodOutsideAssignment: a pod runs elsewhere": {
			state: cluster(job("a", grant{"g", 2, on{"n1": 2}}), runs("a", "g", "n1", 1), runs("a", "g", "n2", 1)),
			want:  []Rule{PodOutsideAssignment},
		},
		"PodOutsideAssignment: a pod of a lost node is not there": {
			state: cluster(node("n2", gone), job("a", grant{"g", 2, on{"n1": 2}}), runs("a", "g", "n2", 1)),
		},
		"UndecodableObject: the queue doesn't exist": {
			state: cluster(job("a", grant{"g", 1, on{"n1": 1}}, in("nowhere"))),
			want:  []Rule{UndecodableObject},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := Check(tc.state)
			if diff := cmp.Diff(tc.want, rules(found)); diff != "" {
				t.Errorf("broken rules (-want,+got):\n%s\n%v", diff, found)
			}
		})
	}
}

func rules(found []Violation) []Rule {
	var out []Rule
	for _, v := range found {
		if !slices.Contains(out, v.Rule) {
			out = append(out, v.Rule)
		}
	}
	slices.Sort(out)
	return out
}

func TestCheckerToleratesLoweredLimits(t *testing.T) {
	full := job("a", grant{"g", 4, on{"n1": 4}})
	cases := map[string]struct {
		states []State
		want   [][]Rule
	}{
		"a quota is lowered below what is in use": {
			states: []State{cluster(queue("q", 4), full), cluster(queue("q", 2), full)},
			want:   [][]Rule{nil, nil},
		},
		"what is in use grows above a lowered quota": {
			states: []State{cluster(queue("q", 4), full), cluster(queue("q", 2), full, job("b", grant{"g", 1, on{"n2": 1}}))},
			want:   [][]Rule{nil, {QueueQuota}},
		},
		"what was given back is not taken again": {
			states: []State{
				cluster(queue("q", 4), full), cluster(queue("q", 2), full), cluster(queue("q", 2), job("a", grant{"g", 3, on{"n1": 3}})),
				cluster(queue("q", 2), full),
			},
			want: [][]Rule{nil, nil, nil, {QueueQuota}},
		},
		"a node is cordoned under its pods": {
			states: []State{cluster(full), cluster(node("n1", cordoned), full)},
			want:   [][]Rule{nil, nil},
		},
		"a cordoned node is given more pods": {
			states: []State{
				cluster(job("a", grant{"g", 2, on{"n1": 2}})),
				cluster(node("n1", cordoned), job("a", grant{"g", 2, on{"n1": 2}}), job("b", grant{"g", 1, on{"n1": 1}})),
			},
			want: [][]Rule{nil, {DomainCapacity, DomainPodSlots}},
		},
		"less lending raises what a member takes from the cohort": {
			states: []State{
				cluster(queue("q", 4, member("all"), lend(1)), queue("r", 0, member("all")), full),
				cluster(queue("q", 1, member("all"), lend(1)), queue("r", 0, member("all")), full),
			},
			want: [][]Rule{nil, nil},
		},
		"a stranger takes the place of a slice": {
			states: []State{
				cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("b", grant{"g", 1, nil}, waits, naming("a"))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)), job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)), job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
			},
			want: [][]Rule{nil, {ForeignReplacement}, nil},
		},
		"the growth that took the place is deleted, a stranger's claim stays": {
			states: []State{
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)),
					job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a")), job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)), job("b", grant{"g", 1, on{"n1": 1}}, naming("a"))),
			},
			want: [][]Rule{nil, nil},
		},
		"a late write takes the end of a Workload back": {
			states: []State{
				cluster(job("a", grant{"g", 1, nil}, waits, finished(kueue.WorkloadFinishedReasonOutOfSync))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}})),
			},
			want: [][]Rule{nil, {FinishedStays}},
		},
		"a growth is admitted in the place of a slice that was told to stop": {
			states: []State{
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, evicted), job("a2", grant{"g", 2, nil}, waits, replacing("a"))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a"))),
			},
			want: [][]Rule{nil, {EvictedStops}},
		},
		"a growth is admitted in the place of a slice that runs": {
			states: []State{
				cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, nil}, waits, replacing("a"))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, finished(kueue.WorkloadSliceReplaced)), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a"))),
			},
			want: [][]Rule{nil, nil},
		},
		"a slice is told to stop in the middle of the handover": {
			states: []State{
				cluster(job("a", grant{"g", 1, on{"n1": 1}}), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a"))),
				cluster(job("a", grant{"g", 1, on{"n1": 1}}, evicted), job("a2", grant{"g", 2, on{"n1": 2}}, replacing("a"))),
			},
			want: [][]Rule{nil, nil},
		},
		"the first state has no excuse": {
			states: []State{cluster(queue("q", 2), full)},
			want:   [][]Rule{{QueueQuota}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := NewChecker()
			for i, s := range tc.states {
				found := c.Check(s)
				if diff := cmp.Diff(tc.want[i], rules(found)); diff != "" {
					t.Errorf("state %d: broken rules (-want,+got):\n%s\n%v", i, diff, found)
				}
			}
		})
	}
}

func TestViolationTellsWhoAndHowMuch(t *testing.T) {
	found := Check(cluster(job("a", grant{"g", 2, on{"n1": 2}}), job("b", grant{"g", 3, on{"n1": 3}})))
	want := []string{"DomainCapacity: domain kubernetes.io/hostname=n1 example.com/gpu: 5 of 4 in use: team/a/g=2 team/b/g=3"}
	var got []string
	for _, v := range found {
		got = append(got, v.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want,+got):\n%s", diff)
	}
}

// A checker that counts is only as good as its units.
func TestUnits(t *testing.T) {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: quantity("1500m"), corev1.ResourceMemory: quantity("2Gi"), gpu: quantity("3"),
	}}}}}
	want := map[corev1.ResourceName]int64{corev1.ResourceCPU: 1500, corev1.ResourceMemory: 2 << 30, gpu: 3}
	if diff := cmp.Diff(want, podRequests(&spec)); diff != "" {
		t.Errorf("requests (-want,+got):\n%s", diff)
	}
}
