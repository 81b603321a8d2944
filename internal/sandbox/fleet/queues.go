// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	defaultQueue = "training"
	topologyName = "fleet"
	gpuFlavor    = GPUFlavor
	headFlavor   = "cpu-head"
)

// GPUFlavor is the flavor of the GPU nodes.
const GPUFlavor = "b300-training"

// Priorities returns the priorities of pods (c0 to c2). The lowest never
// preempts, so that a head does not push anybody off a shared node.
func Priorities() []client.Object {
	pod := func(name string, value int32, policy corev1.PreemptionPolicy) client.Object {
		return &schedulingv1.PriorityClass{
			ObjectMeta:       metav1.ObjectMeta{Name: name},
			Value:            value,
			PreemptionPolicy: ptr.To(policy),
		}
	}
	return []client.Object{
		pod("c0", 20000, corev1.PreemptLowerPriority),
		pod("c1", 10000, corev1.PreemptLowerPriority),
		pod("c2", 5000, corev1.PreemptNever),
	}
}

// Queue describes a ClusterQueue with a LocalQueue.
type Queue struct {
	Name, LocalQueue string
	// Cohort is empty for a queue of its own.
	Cohort string
	// GPUs is the nominal quota; nil is all that the fleet has. CPUs and
	// memory are never scarce.
	GPUs           *int
	BorrowingLimit *int
	// WithinClusterQueue and ReclaimWithinCohort are preemption policies.
	WithinClusterQueue, ReclaimWithinCohort kueue.PreemptionPolicy
}

// DefaultQueue is over the whole fleet. A workload may push out one of lower
// priority.
func DefaultQueue() Queue {
	return Queue{
		Name: defaultQueue, LocalQueue: LocalQueue,
		WithinClusterQueue: kueue.PreemptionPolicyLowerPriority, ReclaimWithinCohort: kueue.PreemptionPolicyNever,
	}
}

// GPUQuota is the nominal quota of GPUs.
func (q Queue) GPUQuota(s Shape) int {
	if q.GPUs != nil {
		return *q.GPUs
	}
	return s.GPUNodes * s.GPUsPerNode
}

// Queues returns the topology, the flavors, the queues and the queue
// priorities (q0 to q2).
func Queues(s Shape, queues ...Queue) []client.Object {
	queue := func(name string, value int32) client.Object {
		return &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	}
	objects := []client.Object{
		queue("q0", 20000),
		queue("q1", 10000),
		queue("q2", 5000),
		&kueue.Topology{
			ObjectMeta: metav1.ObjectMeta{Name: topologyName},
			Spec: kueue.TopologySpec{Levels: []kueue.TopologyLevel{
				{NodeLabel: BlockLabel}, {NodeLabel: RackLabel}, {NodeLabel: corev1.LabelHostname},
			}},
		},
		&kueue.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: gpuFlavor},
			Spec: kueue.ResourceFlavorSpec{
				NodeLabels:   map[string]string{NodeGroupLabel: GPUNodeGroup},
				TopologyName: ptr.To(kueue.TopologyReference(topologyName)),
				Tolerations: []corev1.Toleration{{
					Key: NodeGroupLabel, Operator: corev1.TolerationOpEqual, Value: GPUNodeGroup, Effect: corev1.TaintEffectNoSchedule,
				}},
			},
		},
		&kueue.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: headFlavor},
			Spec:       kueue.ResourceFlavorSpec{NodeLabels: map[string]string{NodeGroupLabel: CPUNodeGroup}},
		},
	}
	for _, q := range queues {
		objects = append(objects, newClusterQueue(s, q), &kueue.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Name: q.LocalQueue, Namespace: Namespace},
			Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(q.Name)},
		})
	}
	return objects
}

func newClusterQueue(s Shape, q Queue) *kueue.ClusterQueue {
	quota := func(name corev1.ResourceName, perNode resource.Quantity, nodes int) kueue.ResourceQuota {
		total := perNode.DeepCopy()
		total.Mul(int64(nodes))
		return kueue.ResourceQuota{Name: name, NominalQuota: total}
	}
	gpus := kueue.ResourceQuota{Name: GPUResource, NominalQuota: *resource.NewQuantity(int64(q.GPUQuota(s)), resource.DecimalSI)}
	if q.BorrowingLimit != nil {
		gpus.BorrowingLimit = resource.NewQuantity(int64(*q.BorrowingLimit), resource.DecimalSI)
	}
	return &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: q.Name},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			QueueingStrategy:  kueue.BestEffortFIFO,
			CohortName:        kueue.CohortReference(q.Cohort),
			Preemption: &kueue.ClusterQueuePreemption{
				WithinClusterQueue: q.WithinClusterQueue, ReclaimWithinCohort: q.ReclaimWithinCohort,
			},
			ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, GPUResource},
				Flavors: []kueue.FlavorQuotas{
					{Name: gpuFlavor, Resources: []kueue.ResourceQuota{
						quota(corev1.ResourceCPU, gpuNodeCPU, s.GPUNodes),
						quota(corev1.ResourceMemory, gpuNodeMemory, s.GPUNodes),
						gpus,
					}},
					{Name: headFlavor, Resources: []kueue.ResourceQuota{
						quota(corev1.ResourceCPU, cpuNodeCPU, s.CPUNodes),
						quota(corev1.ResourceMemory, cpuNodeMemory, s.CPUNodes),
						quota(GPUResource, resource.Quantity{}, s.CPUNodes),
					}},
				},
			}},
		},
	}
}

// Unstructured converts objects to the form in which they are applied.
func Unstructured[T client.Object](objects ...T) ([]*unstructured.Unstructured, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("failed to build the scheme: %w", err)
	}
	if err := kueue.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("failed to build the scheme: %w", err)
	}
	var converted []*unstructured.Unstructured
	for _, object := range objects {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return nil, fmt.Errorf("failed to find the kind of %q: %w", object.GetName(), err)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("failed to convert %s %q: %w", gvk.Kind, object.GetName(), err)
		}
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(gvk)
		converted = append(converted, u)
	}
	return converted, nil
}
