// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestTakesPods(t *testing.T) {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	own := corev1.Taint{Key: NodeGroupLabel, Effect: corev1.TaintEffectNoSchedule}
	cases := map[string]struct {
		conditions []corev1.NodeCondition
		taints     []corev1.Taint
		want       bool
	}{
		"a node that was just made":        {},
		"ready, with the taint of its own": {conditions: []corev1.NodeCondition{ready}, taints: []corev1.Taint{own}, want: true},
		"ready, but not yet released": {
			conditions: []corev1.NodeCondition{ready}, taints: []corev1.Taint{own, {Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}},
		},
		"not ready": {conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}, taints: []corev1.Taint{own}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := Unstructured(&corev1.Node{Spec: corev1.NodeSpec{Taints: tc.taints}, Status: corev1.NodeStatus{Conditions: tc.conditions}})
			if err != nil {
				t.Fatal(err)
			}
			if got := TakesPods(objects[0]); got != tc.want {
				t.Errorf("it takes pods: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestDefaultShapeIsTheMeasuredFleet(t *testing.T) {
	nodes := Nodes(DefaultShape())
	perRack, perBlock := map[string]int{}, map[string]int{}
	gpus, cpuNodes := int64(0), 0
	for _, node := range nodes {
		quantity := node.Status.Allocatable[GPUResource]
		gpus += quantity.Value()
		if quantity.Value() == 0 {
			cpuNodes++
			if node.Labels[RackLabel] != "" || len(node.Spec.Taints) != 0 || node.Labels[NodeGroupLabel] != CPUNodeGroup {
				t.Errorf("CPU node %s has labels %v and taints %v", node.Name, node.Labels, node.Spec.Taints)
			}
			continue
		}
		perRack[node.Labels[RackLabel]]++
		perBlock[node.Labels[BlockLabel]]++
		if len(node.Spec.Taints) != 1 || node.Labels[NodeGroupLabel] != GPUNodeGroup || node.Labels[corev1.LabelHostname] != node.Name {
			t.Errorf("GPU node %s has labels %v and taints %v", node.Name, node.Labels, node.Spec.Taints)
		}
	}
	if gpus != 192 || len(nodes) != 26 || cpuNodes != 2 {
		t.Errorf("got %d GPUs, %d nodes, %d of them without GPUs", gpus, len(nodes), cpuNodes)
	}
	if diff := cmp.Diff(map[string]int{"rack-1": 8, "rack-2": 8, "rack-3": 8}, perRack); diff != "" {
		t.Errorf("nodes by rack (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"block-1": 16, "block-2": 8}, perBlock); diff != "" {
		t.Errorf("nodes by block (-want,+got):\n%s", diff)
	}
}

func TestNodesFillRacksEvenly(t *testing.T) {
	var racks []string
	for _, node := range Nodes(Shape{GPUNodes: 5, GPUsPerNode: 1, CPUNodes: 1, Racks: 2, RacksPerBlock: 1}) {
		racks = append(racks, node.Name+" "+node.Labels[RackLabel])
	}
	want := []string{"gpu-01 rack-1", "gpu-02 rack-1", "gpu-03 rack-1", "gpu-04 rack-2", "gpu-05 rack-2", "cpu-1 "}
	if diff := cmp.Diff(want, racks); diff != "" {
		t.Errorf("racks (-want,+got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	with := func(change func(*Shape)) Shape {
		s := DefaultShape()
		change(&s)
		return s
	}
	cases := map[string]struct {
		shape   Shape
		wantErr string
	}{
		"the default":          {shape: DefaultShape()},
		"no GPU node":          {shape: with(func(s *Shape) { s.GPUNodes = 0 }), wantErr: "gpuNodes is 0, it must be at least 1"},
		"no GPU":               {shape: with(func(s *Shape) { s.GPUsPerNode = -1 }), wantErr: "gpusPerNode is -1"},
		"no CPU node":          {shape: with(func(s *Shape) { s.CPUNodes = 0 }), wantErr: "cpuNodes is 0"},
		"no rack":              {shape: with(func(s *Shape) { s.Racks = 0 }), wantErr: "racks is 0"},
		"blocks without racks": {shape: with(func(s *Shape) { s.RacksPerBlock = 0 }), wantErr: "racksPerBlock is 0"},
		"racks without nodes":  {shape: with(func(s *Shape) { s.Racks = 25 }), wantErr: "racks is 25, it must be at most gpuNodes, 24"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.shape.Validate()
			if tc.wantErr == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got %v, want an error with %q", err, tc.wantErr)
			}
		})
	}
}

func TestQueuesCoverTheWholeFleet(t *testing.T) {
	objects, err := Unstructured(append(Queues(DefaultShape(), DefaultQueue()), Priorities()...)...)
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string][]string{}
	for _, object := range objects {
		byKind[object.GetKind()] = append(byKind[object.GetKind()], object.GetName())
	}
	want := map[string][]string{
		"WorkloadPriorityClass": {"q0", "q1", "q2"}, "PriorityClass": {"c0", "c1", "c2"},
		"Topology": {"fleet"}, "ResourceFlavor": {"b300-training", "cpu-head"}, "ClusterQueue": {"training"}, "LocalQueue": {"training-lq"},
	}
	if diff := cmp.Diff(want, byKind); diff != "" {
		t.Errorf("objects by kind (-want,+got):\n%s", diff)
	}

	queue := newClusterQueue(DefaultShape(), DefaultQueue())
	if got := queue.Spec.Preemption.WithinClusterQueue; got != kueue.PreemptionPolicyLowerPriority {
		t.Errorf("within the queue preemption is %q", got)
	}
	nodes := map[string]corev1.ResourceList{}
	for _, node := range Nodes(DefaultShape()) {
		flavor := gpuFlavor
		if node.Labels[NodeGroupLabel] == CPUNodeGroup {
			flavor = headFlavor
		}
		if nodes[flavor] == nil {
			nodes[flavor] = corev1.ResourceList{}
		}
		for name, quantity := range node.Status.Allocatable {
			total := nodes[flavor][name]
			total.Add(quantity)
			nodes[flavor][name] = total
		}
	}
	for _, flavor := range queue.Spec.ResourceGroups[0].Flavors {
		for _, quota := range flavor.Resources {
			if has := nodes[string(flavor.Name)][quota.Name]; has.Cmp(quota.NominalQuota) != 0 {
				t.Errorf("flavor %s: quota of %s is %s, the nodes have %s", flavor.Name, quota.Name, &quota.NominalQuota, &has)
			}
		}
	}
}

func TestPrioritiesAreInOrderAndTheLowestNeverPreempts(t *testing.T) {
	objects, err := Unstructured(Priorities()...)
	if err != nil {
		t.Fatal(err)
	}
	type class struct {
		Name   string
		Value  int64
		Policy string
	}
	var got []class
	for _, object := range objects {
		value, _, _ := unstructured.NestedInt64(object.Object, "value")
		policy, _, _ := unstructured.NestedString(object.Object, "preemptionPolicy")
		got = append(got, class{object.GetName(), value, policy})
	}
	want := []class{{"c0", 20000, "PreemptLowerPriority"}, {"c1", 10000, "PreemptLowerPriority"}, {"c2", 5000, "Never"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("classes (-want,+got):\n%s", diff)
	}
}
