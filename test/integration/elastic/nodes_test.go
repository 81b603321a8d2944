// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

const (
	blockLevel = "fleet.test/block"
	rackLevel  = "fleet.test/rack"
)

// fakeNodes plays kube-scheduler and the kubelets, which need machines: it binds pods
// without gates to a node that they select and that has room, makes them ready, and ends
// those that are deleted, unless they are held.
type fakeNodes struct {
	client    client.Client
	namespace string
	// holds keeps deleted pods from ending.
	holds atomic.Bool
}

func makeNode(name, block, rack string, gpus int64) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, blockLevel: block, rackLevel: rack, "pool": "gpu",
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				gpu:                   *resource.NewQuantity(gpus, resource.DecimalSI),
				corev1.ResourceCPU:    resource.MustParse("64"),
				corev1.ResourceMemory: resource.MustParse("256Gi"),
				corev1.ResourcePods:   resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Fake"}},
		},
	}
}

// run works until the context ends. Errors are those of a race with the controllers and
// go with the next round.
func (f *fakeNodes) run(ctx context.Context) {
	for ctx.Err() == nil {
		var pods corev1.PodList
		var nodes corev1.NodeList
		if f.client.List(ctx, &pods, client.InNamespace(f.namespace)) == nil && f.client.List(ctx, &nodes) == nil {
			for i := range pods.Items {
				if err := f.step(ctx, &pods.Items[i], pods.Items, nodes.Items); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
					ginkgo.GinkgoLogr.Info("fake nodes try again", "pod", pods.Items[i].Name, "cause", err.Error())
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (f *fakeNodes) step(ctx context.Context, pod *corev1.Pod, pods []corev1.Pod, nodes []corev1.Node) error {
	switch {
	case pod.DeletionTimestamp != nil:
		if f.holds.Load() {
			return nil
		}
		return f.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
	case pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0:
		for i := range nodes {
			if !fits(pod, &nodes[i], pods) {
				continue
			}
			binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodes[i].Name}}
			if err := f.client.SubResource("binding").Create(ctx, pod, binding); err != nil {
				return err
			}
			pod.Spec.NodeName = nodes[i].Name
			return nil
		}
		return nil
	case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending:
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
		return f.client.Status().Update(ctx, pod)
	}
	return nil
}

func fits(pod *corev1.Pod, node *corev1.Node, pods []corev1.Pod) bool {
	if !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
		return false
	}
	free := node.Status.Allocatable[gpu]
	for i := range pods {
		if pods[i].Spec.NodeName == node.Name {
			free.Sub(gpusOf(&pods[i]))
		}
	}
	asked := gpusOf(pod)
	return free.Cmp(asked) >= 0
}

func gpusOf(pod *corev1.Pod) resource.Quantity {
	return pod.Spec.Containers[0].Resources.Requests[gpu]
}
