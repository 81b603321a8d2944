// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet describes the simulated machines and the queue in front of
// them.
package fleet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Names that jobs use.
const (
	Namespace  = "fleet-train-jobs"
	LocalQueue = "training-lq"

	// NodeGroupLabel tells the two kinds of node apart; GPU nodes carry a
	// taint of the same key and value.
	NodeGroupLabel = "workload"
	GPUNodeGroup   = "fleetai-training-ng-gpu"
	CPUNodeGroup   = "fleetai-training-ng-cpu"

	// BlockLabel and RackLabel are the upper levels of the topology; the
	// host name is the lowest.
	BlockLabel = "topology.fleet.ai/block"
	RackLabel  = "topology.fleet.ai/rack"

	// LostLabel on a node says that it is gone from the network; on a pod
	// that it was on such a node. Neither moves any more.
	LostLabel = "sandbox.fleet.ai/lost"
	// HoldFinalizer keeps a pod from ending.
	HoldFinalizer = "sandbox.fleet.ai/hold"

	// GPUResource is what a GPU is called in requests.
	GPUResource corev1.ResourceName = "nvidia.com/gpu"
)

// Shape says how many machines there are and how they are cabled.
type Shape struct {
	GPUNodes      int
	GPUsPerNode   int
	CPUNodes      int
	Racks         int
	RacksPerBlock int
}

// DefaultShape is the fleet of the measured week: 192 GPUs.
func DefaultShape() Shape {
	return Shape{GPUNodes: 24, GPUsPerNode: 8, CPUNodes: 2, Racks: 3, RacksPerBlock: 2}
}

// Validate names the first field that makes no sense.
func (s Shape) Validate() error {
	for _, field := range []struct {
		name  string
		value int
	}{
		{"gpuNodes", s.GPUNodes}, {"gpusPerNode", s.GPUsPerNode}, {"cpuNodes", s.CPUNodes},
		{"racks", s.Racks}, {"racksPerBlock", s.RacksPerBlock},
	} {
		if field.value < 1 {
			return fmt.Errorf("invalid fleet: %s is %d, it must be at least 1", field.name, field.value)
		}
	}
	if s.Racks > s.GPUNodes {
		return fmt.Errorf("invalid fleet: racks is %d, it must be at most gpuNodes, %d", s.Racks, s.GPUNodes)
	}
	return nil
}

// Size of one machine beside its GPUs: enough that only GPUs are scarce.
var (
	gpuNodeCPU, gpuNodeMemory = resource.MustParse("192"), resource.MustParse("2Ti")
	cpuNodeCPU, cpuNodeMemory = resource.MustParse("96"), resource.MustParse("768Gi")
	podsPerNode               = resource.MustParse("110")
)

// Nodes returns the machines: GPU nodes filled rack by rack, then CPU nodes,
// which belong to no rack.
func Nodes(s Shape) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range s.GPUNodes {
		rack := i * s.Racks / s.GPUNodes
		labels := map[string]string{
			NodeGroupLabel: GPUNodeGroup,
			BlockLabel:     fmt.Sprintf("block-%d", rack/s.RacksPerBlock+1),
			RackLabel:      fmt.Sprintf("rack-%d", rack+1),
		}
		node := newNode(fmt.Sprintf("gpu-%02d", i+1), labels, corev1.ResourceList{
			corev1.ResourceCPU:    gpuNodeCPU,
			corev1.ResourceMemory: gpuNodeMemory,
			GPUResource:           *resource.NewQuantity(int64(s.GPUsPerNode), resource.DecimalSI),
		})
		node.Spec.Taints = []corev1.Taint{{Key: NodeGroupLabel, Value: GPUNodeGroup, Effect: corev1.TaintEffectNoSchedule}}
		nodes = append(nodes, node)
	}
	for i := range s.CPUNodes {
		nodes = append(nodes, newNode(fmt.Sprintf("cpu-%d", i+1), map[string]string{NodeGroupLabel: CPUNodeGroup}, corev1.ResourceList{
			corev1.ResourceCPU:    cpuNodeCPU,
			corev1.ResourceMemory: cpuNodeMemory,
		}))
	}
	return nodes
}

// TakesPods reports whether a node is ready and has lost the taint of a new
// node, which the node lifecycle controller takes away some time after that.
// Until then the queue does not count with it.
func TakesPods(object *unstructured.Unstructured) bool {
	var node corev1.Node
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &node); err != nil {
		return false
	}
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}

func newNode(name string, labels map[string]string, capacity corev1.ResourceList) *corev1.Node {
	labels[corev1.LabelHostname] = name
	labels[corev1.LabelOSStable] = "linux"
	labels[corev1.LabelArchStable] = "amd64"
	capacity[corev1.ResourcePods] = podsPerNode
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux",
				KubeletVersion: "simulated", ContainerRuntimeVersion: "simulated",
			},
		},
	}
}
