// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	gpu   = corev1.ResourceName("nvidia.com/gpu")
	rack  = "fleet/rack"
	group = "fleet/group"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fleet is two racks of two nodes with 8 GPUs each, a flavor with a topology over
// them, one without for heads, and a queue with quota for all of it.
func fleet() *State {
	s := &State{
		Now: now,
		Topologies: []kueue.Topology{{
			ObjectMeta: metav1.ObjectMeta{Name: "fleet"},
			Spec:       kueue.TopologySpec{Levels: []kueue.TopologyLevel{{NodeLabel: rack}, {NodeLabel: corev1.LabelHostname}}},
		}},
		Flavors: []kueue.ResourceFlavor{
			{ObjectMeta: metav1.ObjectMeta{Name: "b300"}, Spec: kueue.ResourceFlavorSpec{
				NodeLabels: map[string]string{group: "gpu"}, TopologyName: ptr.To(kueue.TopologyReference("fleet")),
			}},
			{ObjectMeta: metav1.ObjectMeta{Name: "heads"}, Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{group: "cpu"}}},
		},
		ClusterQueues: []kueue.ClusterQueue{{
			ObjectMeta: metav1.ObjectMeta{Name: "training"},
			Spec: kueue.ClusterQueueSpec{
				NamespaceSelector: &metav1.LabelSelector{},
				QueueingStrategy:  kueue.BestEffortFIFO,
				ResourceGroups: []kueue.ResourceGroup{{
					CoveredResources: []corev1.ResourceName{corev1.ResourceCPU, gpu},
					Flavors:          []kueue.FlavorQuotas{quotas("b300", "400", "32"), quotas("heads", "40", "0")},
				}},
			},
		}},
		LocalQueues: []kueue.LocalQueue{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "queue"},
			Spec:       kueue.LocalQueueSpec{ClusterQueue: "training"},
		}},
	}
	for i := range 4 {
		s.Nodes = append(s.Nodes, corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("gpu-%d", i), Labels: map[string]string{
				group: "gpu", rack: fmt.Sprintf("r%d", i/2), corev1.LabelHostname: fmt.Sprintf("gpu-%d", i),
			}},
			Status: corev1.NodeStatus{
				Allocatable: requests("100", "8", corev1.ResourcePods, "110"),
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	s.Workload = workload("train", podSet("workers", 1, "8"))
	return s
}

func quotas(flavor kueue.ResourceFlavorReference, cpu, gpus string) kueue.FlavorQuotas {
	return kueue.FlavorQuotas{Name: flavor, Resources: []kueue.ResourceQuota{
		{Name: corev1.ResourceCPU, NominalQuota: resource.MustParse(cpu)}, {Name: gpu, NominalQuota: resource.MustParse(gpus)},
	}}
}

func requests(cpu, gpus string, more ...any) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), gpu: resource.MustParse(gpus)}
	for i := 0; i+1 < len(more); i += 2 {
		out[more[i].(corev1.ResourceName)] = resource.MustParse(more[i+1].(string))
	}
	return out
}

func podSet(name kueue.PodSetReference, count int32, gpus string) kueue.PodSet {
	return kueue.PodSet{
		Name: name, Count: count, TopologyRequest: &kueue.PodSetTopologyRequest{Unconstrained: ptr.To(true)},
		Template: corev1.PodTemplateSpec{Spec: podSpec(gpus)},
	}
}

func podSpec(gpus string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests("1", gpus)}}}}
}

func workload(name string, podSets ...kueue.PodSet) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now)},
		Spec:       kueue.WorkloadSpec{QueueName: "queue", PodSets: podSets},
	}
}

// admit gives a Workload with one PodSet its places, pods by node, and books it.
func admit(s *State, wl *kueue.Workload, places map[string]int32) *kueue.Workload {
	set := &wl.Spec.PodSets[0]
	gpus := set.Template.Spec.Containers[0].Resources.Requests[gpu]
	gpus.Mul(int64(set.Count))
	assignment := &kueue.TopologyAssignment{Levels: []string{corev1.LabelHostname}}
	for _, node := range s.Nodes {
		if n := places[node.Name]; n > 0 {
			assignment.Slices = append(assignment.Slices, kueue.TopologyAssignmentSlice{
				DomainCount:    1,
				ValuesPerLevel: []kueue.TopologyAssignmentSliceLevelValues{{Universal: ptr.To(node.Name)}},
				PodCounts:      kueue.TopologyAssignmentSlicePodCounts{Universal: ptr.To(n)},
			})
		}
	}
	wl.Status.Admission = &kueue.Admission{ClusterQueue: "training", PodSetAssignments: []kueue.PodSetAssignment{{
		Name: set.Name, Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{gpu: "b300", corev1.ResourceCPU: "b300"},
		ResourceUsage: corev1.ResourceList{gpu: gpus}, Count: ptr.To(set.Count), TopologyAssignment: assignment,
	}}}
	for _, condition := range []string{kueue.WorkloadQuotaReserved, kueue.WorkloadAdmitted} {
		wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
	}
	s.Workloads = append(s.Workloads, *wl)
	cq := &s.ClusterQueues[0]
	total := resource.NewQuantity(reserved(cq, "b300", gpu)+gpus.Value(), resource.DecimalSI)
	cq.Status.FlavorsReservation = []kueue.FlavorUsage{{Name: "b300", Resources: []kueue.ResourceUsage{{Name: gpu, Total: *total}}}}
	return wl
}

// bind puts a running pod on a node; without a Workload it is one of somebody else.
func bind(s *State, node, owner, gpus string) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: fmt.Sprintf("pod-%d", len(s.Pods))}, Spec: podSpec(gpus)}
	pod.Spec.NodeName = node
	if owner != "" {
		pod.Annotations = map[string]string{kueue.WorkloadAnnotation: owner}
		pod.Labels = map[string]string{podSetLabel: "workers"}
	}
	s.Pods = append(s.Pods, pod)
}

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

func TestHeadroom(t *testing.T) {
	member := func(name string, nominal, used int64, lending, borrowing *int64) kueue.ClusterQueue {
		q := kueue.ResourceQuota{Name: gpu, NominalQuota: *resource.NewQuantity(nominal, resource.DecimalSI)}
		if lending != nil {
			q.LendingLimit = resource.NewQuantity(*lending, resource.DecimalSI)
		}
		if borrowing != nil {
			q.BorrowingLimit = resource.NewQuantity(*borrowing, resource.DecimalSI)
		}
		return kueue.ClusterQueue{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: kueue.ClusterQueueSpec{CohortName: "all", ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{gpu}, Flavors: []kueue.FlavorQuotas{{Name: "b300", Resources: []kueue.ResourceQuota{q}}},
			}}},
			Status: kueue.ClusterQueueStatus{FlavorsReservation: []kueue.FlavorUsage{{Name: "b300", Resources: []kueue.ResourceUsage{
				{Name: gpu, Total: *resource.NewQuantity(used, resource.DecimalSI)},
			}}}},
		}
	}
	cases := map[string]struct {
		queues  []kueue.ClusterQueue
		cohorts []kueue.Cohort
		want    int64
	}{
		"what others leave can be borrowed":             {[]kueue.ClusterQueue{member("a", 8, 6, nil, nil), member("b", 8, 3, nil, nil)}, nil, 7},
		"what others borrowed is gone":                  {[]kueue.ClusterQueue{member("a", 8, 0, nil, nil), member("b", 8, 12, nil, nil)}, nil, 4},
		"a borrowing limit holds":                       {[]kueue.ClusterQueue{member("a", 8, 6, nil, ptr.To[int64](1)), member("b", 8, 0, nil, nil)}, nil, 3},
		"what a member doesn't lend stays with it":      {[]kueue.ClusterQueue{member("a", 8, 8, nil, nil), member("b", 8, 0, ptr.To[int64](2), nil)}, nil, 2},
		"what a member keeps is used first":             {[]kueue.ClusterQueue{member("a", 8, 8, nil, nil), member("b", 8, 6, ptr.To[int64](2), nil)}, nil, 2},
		"a queue alone in its cohort has its own quota": {[]kueue.ClusterQueue{member("a", 8, 5, nil, nil)}, nil, 3},
		"the parent's quota counts": {
			[]kueue.ClusterQueue{member("a", 8, 8, nil, nil)},
			[]kueue.Cohort{
				{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: kueue.CohortSpec{ParentName: "root"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "root"}, Spec: kueue.CohortSpec{ResourceGroups: member("", 4, 0, nil, nil).Spec.ResourceGroups}},
			},
			4,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &State{ClusterQueues: tc.queues, Cohorts: tc.cohorts}
			if got := s.headroom(&s.ClusterQueues[0], "b300", gpu).Free; got != tc.want {
				t.Errorf("%d free, want %d", got, tc.want)
			}
		})
	}
}

func TestHoldersAndOutsiders(t *testing.T) {
	s := fleet()
	admit(s, workload("small", podSet("workers", 1, "4")), map[string]int32{"gpu-0": 1})
	admit(s, workload("large", podSet("workers", 3, "8")), map[string]int32{"gpu-1": 1, "gpu-2": 1, "gpu-3": 1})
	bind(s, "gpu-0", "", "1")
	r := Explain(s)
	want := []Holder{
		{Workload: "lab/large", Flavor: "b300", Resource: gpu, Amount: 24},
		{Workload: "lab/small", Flavor: "b300", Resource: gpu, Amount: 4},
	}
	if diff := cmp.Diff(want, r.HeldBy); diff != "" {
		t.Errorf("unexpected holders (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 pod is outside of Kueue's topology placement on the flavor's nodes, with 1 GPU"}, r.Notes); diff != "" {
		t.Errorf("unexpected notes (-want,+got):\n%s", diff)
	}
}

func TestPrint(t *testing.T) {
	s := fleet()
	s.Unreadable = []string{"cohorts"}
	s.Workload.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Message: "couldn't assign\nflavors"}}
	for _, node := range []string{"gpu-0", "gpu-1"} {
		bind(s, node, "", "4")
	}
	for _, node := range []string{"gpu-2", "gpu-3"} {
		bind(s, node, "", "8")
	}
	var out strings.Builder
	Explain(s).Print(&out)
	want := `Workload   lab/train, priority 0
Queue      queue, ClusterQueue training
State      NoRoomOnNodes: PodSet workers in flavor b300: 1 pod of 8 GPUs asked for, room for 0: 8 GPUs are free on 2 nodes, 4 + 4
Would fit  as 2 × 4 GPUs it would start now
Scheduler  couldn't assign flavors
Note       you may not read cohorts: what depends on them is left out or wrong
Note       4 pods are outside of Kueue's topology placement on the flavor's nodes, with 24 GPUs

PODSET   PODS  RUNNING  EACH           TOPOLOGY
workers  1     0        1 CPU, 8 GPUs  unconstrained

FLAVOR  QUOTA    RESERVED  FREE
b300    400 CPU  0 CPU     400 CPU
b300    32 GPUs  0 GPUs    32 GPUs
heads   40 CPU   0 CPU     40 CPU
heads   0 GPUs   0 GPUs    0 GPUs

FLAVOR  DOMAIN          FREE
b300    r0/gpu-0        4 GPUs
b300    r0/gpu-1        4 GPUs
        2 domains full  

PODSET   FLAVOR  VERDICT
workers  b300    NoRoomOnNodes: 1 pod of 8 GPUs asked for, room for 0: 8 GPUs are free on 2 nodes, 4 + 4
workers  heads   NoQuota: the ClusterQueue training has no quota of nvidia.com/gpu in the flavor, nor a cohort to borrow it from
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("unexpected text (-want,+got):\n%s", diff)
	}
}
