// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"time"

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
