// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestExplain(t *testing.T) {
	cases := map[string]struct {
		change func(s *State)
		// want are the reason, the message and what would fit.
		want []string
	}{
		"everything is free": {
			change: func(*State) {},
			want:   []string{"Nothing", "everything it asks for is free: it should start with the next cycle"},
		},
		"eight GPUs are free, on two nodes": {
			change: func(s *State) {
				admit(s, workload("a", podSet("workers", 3, "8")), map[string]int32{"gpu-2": 1, "gpu-3": 1})
				s.Workloads[0].Spec.PodSets[0].Count = 2
				s.ClusterQueues[0].Status.FlavorsReservation = nil
				bind(s, "gpu-0", "", "4")
				bind(s, "gpu-1", "", "4")
			},
			want: []string{
				"NoRoomOnNodes",
				"PodSet workers in flavor b300: 1 pod of 8 GPUs asked for, room for 0: 8 GPUs are free on 2 nodes, 4 + 4",
				"as 2 × 4 GPUs it would start now",
			},
		},
		"pods that are placed and not there yet take their room": {
			change: func(s *State) {
				admit(s, workload("a", podSet("workers", 8, "4")), map[string]int32{"gpu-0": 2, "gpu-1": 2, "gpu-2": 2, "gpu-3": 2})
				s.ClusterQueues[0].Status.FlavorsReservation = nil
			},
			want: []string{"NoRoomOnNodes", "PodSet workers in flavor b300: 1 pod of 8 GPUs asked for, room for 0: no GPUs are free on the 4 nodes that the pods may go to"},
		},
		"a placed pod that is there counts once": {
			change: func(s *State) {
				admit(s, workload("a", podSet("workers", 6, "4")), map[string]int32{"gpu-0": 2, "gpu-1": 2, "gpu-2": 2})
				for _, node := range []string{"gpu-0", "gpu-0", "gpu-1", "gpu-1", "gpu-2", "gpu-2"} {
					bind(s, node, "a", "4")
				}
			},
			want: []string{"Nothing", "everything it asks for is free: it should start with the next cycle"},
		},
		"the quota is in use": {
			change: func(s *State) {
				s.ClusterQueues[0].Spec.ResourceGroups[0].Flavors[0] = quotas("b300", "400", "16")
				admit(s, workload("a", podSet("workers", 3, "4")), map[string]int32{"gpu-0": 2, "gpu-1": 1})
			},
			want: []string{"QuotaInUse", "PodSet workers in flavor b300: 8 GPUs asked for, and 4 GPUs are free in the quota of 16 GPUs"},
		},
		"the quota can never be enough": {
			change: func(s *State) { s.ClusterQueues[0].Spec.ResourceGroups[0].Flavors[0] = quotas("b300", "400", "4") },
			want:   []string{"QuotaTooSmall", "PodSet workers in flavor b300: 8 GPUs asked for, and the queue's whole quota is 4 GPUs"},
		},
		"a required rack holds fewer": {
			change: func(s *State) {
				s.Workload = workload("train", podSet("workers", 3, "8"))
				s.Workload.Spec.PodSets[0].TopologyRequest = &kueue.PodSetTopologyRequest{Required: ptr.To(rack)}
			},
			want: []string{
				"NoRoomOnNodes",
				"PodSet workers in flavor b300: 3 pods of 8 GPUs asked for, room for 2 inside one fleet/rack (most are in r0): 32 GPUs are free on 4 nodes, 8 + 8 + 8 + 8",
				"2 of its 3 pods would start now",
			},
		},
		"a level that the topology has not": {
			change: func(s *State) {
				s.Workload.Spec.PodSets[0].TopologyRequest = &kueue.PodSetTopologyRequest{Required: ptr.To("fleet/row")}
			},
			want: []string{"TopologyLevelNotFound", "PodSet workers in flavor b300: the topology has no level fleet/row; it has fleet/rack, kubernetes.io/hostname"},
		},
		"a second group finds what the first left": {
			change: func(s *State) {
				s.Workload = workload("train", podSet("first", 4, "5"), podSet("second", 2, "4"))
			},
			want: []string{
				"NoRoomOnNodes",
				"PodSet second in flavor b300: 2 pods of 4 GPUs asked for, room for 0: 12 GPUs are free on 4 nodes, 3 + 3 + 3 + 3",
				"as 4 × 2 GPUs it would start now",
			},
		},
		"a growth asks for the new pods only": {
			change: func(s *State) {
				old := admit(s, workload("old", podSet("workers", 3, "8")), map[string]int32{"gpu-0": 1, "gpu-1": 1, "gpu-2": 1})
				s.Workload = workload("new", podSet("workers", 4, "8"))
				s.Workload.Annotations = map[string]string{replacementAnnotation: "lab/" + old.Name}
			},
			want: []string{"Nothing", "everything it asks for is free: it should start with the next cycle"},
		},
		"nodes that are not ready or cordoned have no room": {
			change: func(s *State) {
				s.Nodes[0].Spec.Unschedulable = true
				s.Nodes[1].Status.Conditions[0].Status = corev1.ConditionUnknown
				s.Workload = workload("train", podSet("workers", 3, "8"))
			},
			want: []string{
				"NoRoomOnNodes",
				"PodSet workers in flavor b300: 3 pods of 8 GPUs asked for, room for 2: 16 GPUs are free on 2 nodes, 8 + 8",
				"2 of its 3 pods would start now",
			},
		},
		"a taint of the nodes that the pods don't tolerate": {
			change: func(s *State) {
				for i := range s.Nodes {
					s.Nodes[i].Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
				}
			},
			want: []string{"NoRoomOnNodes", "PodSet workers in flavor b300: 1 pod of 8 GPUs asked for, room for 0: none of the flavor's nodes is ready and open to the pods"},
		},
		"a taint of the flavor that the pods don't tolerate": {
			change: func(s *State) {
				s.Flavors[0].Spec.NodeTaints = []corev1.Taint{{Key: "gpu", Value: "b300", Effect: corev1.TaintEffectNoSchedule}}
			},
			want: []string{"TaintNotTolerated", "PodSet workers in flavor b300: the pods don't tolerate the flavor's taint gpu=b300:NoSchedule"},
		},
		"a node selector for another flavor": {
			change: func(s *State) {
				s.Workload.Spec.PodSets[0].Template.Spec.NodeSelector = map[string]string{group: "h100"}
			},
			want: []string{"NodeSelectorMismatch", "PodSet workers in flavor b300: the pods' node selector or affinity doesn't agree with the flavor's labels (fleet/group=gpu)"},
		},
		"an affinity for another flavor, beside a label that is no flavor's": {
			change: func(s *State) {
				s.Workload.Spec.PodSets[0].Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: group, Operator: corev1.NodeSelectorOpIn, Values: []string{"h100"}},
						{Key: "zone", Operator: corev1.NodeSelectorOpExists},
					}}}},
				}}
			},
			want: []string{"NodeSelectorMismatch", "PodSet workers in flavor b300: the pods' node selector or affinity doesn't agree with the flavor's labels (fleet/group=gpu)"},
		},
		"a resource without quota": {
			change: func(s *State) {
				s.Workload.Spec.PodSets[0].Template.Spec.Containers[0].Resources.Requests["example.com/nic"] = resource.MustParse("1")
			},
			want: []string{"ResourceNotCovered", "PodSet workers: the ClusterQueue training has no quota for example.com/nic"},
		},
		"pods that ask for no topology, with a flavor that has none": {
			change: func(s *State) {
				s.Workload = workload("train", podSet("head", 1, "0"))
				s.Workload.Spec.PodSets[0].TopologyRequest = nil
			},
			want: []string{"Nothing", "everything it asks for is free: it should start with the next cycle"},
		},
		"pods that ask for no topology, and GPUs that are in a topology": {
			change: func(s *State) { s.Workload.Spec.PodSets[0].TopologyRequest = nil },
			want:   []string{"FlavorNeedsTopologyRequest", "PodSet workers in flavor b300: the flavor has a topology, and the pods ask for none"},
		},
		"others are before it": {
			change: func(s *State) {
				first, second := workload("first", podSet("workers", 1, "8")), workload("second", podSet("workers", 1, "8"))
				first.Spec.Priority = ptr.To[int32](100)
				s.Workloads = []kueue.Workload{*second, *first, *s.Workload}
				s.ClusterQueues[0].Spec.QueueingStrategy = kueue.StrictFIFO
			},
			want: []string{"BehindOthers", "everything it asks for is free, and 2 Workloads are before it in ClusterQueue training, the first is lab/first; the queue is StrictFIFO, so it waits until they start"},
		},
		"it has been admitted": {
			change: func(s *State) { admit(s, s.Workload, map[string]int32{"gpu-0": 1}) },
			want:   []string{"Admitted", "it holds quota and its pods may run"},
		},
		"it waits for a check": {
			change: func(s *State) {
				admit(s, s.Workload, map[string]int32{"gpu-0": 1})
				s.Workload.Status.Conditions = s.Workload.Status.Conditions[:1]
				s.Workload.Status.AdmissionChecks = []kueue.AdmissionCheckState{{Name: "budget", State: kueue.CheckStatePending}, {Name: "other", State: kueue.CheckStateReady}}
			},
			want: []string{"AdmissionChecks", "it holds quota and waits for the admission checks budget (Pending)"},
		},
		"it has been switched off": {
			change: func(s *State) { s.Workload.Spec.Active = ptr.To(false) },
			want:   []string{"Deactivated", "spec.active is false"},
		},
		"it waits for its backoff": {
			change: func(s *State) {
				s.Workload.Status.RequeueState = &kueue.RequeueState{RequeueAt: ptr.To(metav1.NewTime(now.Add(90 * time.Second)))}
				s.Workload.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Message: "pods were not ready in time"}}
			},
			want: []string{"RequeueBackoff", "it was evicted and is queued again in 1m30s: pods were not ready in time"},
		},
		"its LocalQueue is missing": {
			change: func(s *State) { s.Workload.Spec.QueueName = "other" },
			want:   []string{"QueueNotFound", `there is no LocalQueue "other" in namespace lab`},
		},
		"its ClusterQueue is missing": {
			change: func(s *State) { s.ClusterQueues = nil },
			want:   []string{"QueueNotFound", `the LocalQueue queue names the ClusterQueue "training", which isn't there`},
		},
		"its queue is stopped": {
			change: func(s *State) { s.ClusterQueues[0].Spec.StopPolicy = ptr.To(kueue.HoldAndDrain) },
			want:   []string{"QueueStopped", "the ClusterQueue training has the stop policy HoldAndDrain"},
		},
		"its queue is not active": {
			change: func(s *State) {
				s.ClusterQueues[0].Status.Conditions = []metav1.Condition{{Type: kueue.ClusterQueueActive, Status: metav1.ConditionFalse, Message: "flavor b200 not found"}}
			},
			want: []string{"QueueInactive", "the ClusterQueue training is not active: flavor b200 not found"},
		},
		"its namespace is not taken": {
			change: func(s *State) {
				s.ClusterQueues[0].Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
				s.Namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}
			},
			want: []string{"NamespaceMismatch", "the ClusterQueue training doesn't take Workloads of namespace lab (selector team=a)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := fleet()
			tc.change(s)
			r := Explain(s)
			got := []string{string(r.Reason), r.Message}
			for _, shape := range r.WouldFit {
				got = append(got, shape.Message)
			}
			if diff := cmp.Diff(tc.want, got[:min(len(got), max(len(tc.want), 3))]); diff != "" {
				t.Errorf("unexpected answer (-want,+got):\n%s", diff)
			}
			if r.Waiting == (r.Reason == ReasonAdmitted) {
				t.Errorf("waiting: %t with the reason %s", r.Waiting, r.Reason)
			}
		})
	}
}
