// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// OnNode is what a job has of a resource on a node.
type OnNode struct {
	Node string
	// Job is the JobName of the job's Workloads; empty for pods that Kueue has nothing
	// to do with.
	Job    string
	Amount int64
	// ToCome says that the place was granted and no pod is there yet.
	ToCome bool
}

// OnNodes lists what lies on the nodes, pod by pod, and what was promised on them.
func (s *State) OnNodes(resource corev1.ResourceName) []OnNode {
	var out []OnNode
	for i := range s.Pods {
		pod := &s.Pods[i]
		if amount := podAmounts(&pod.Spec)[resource]; pod.Spec.NodeName != "" && !ended(pod) && amount > 0 {
			out = append(out, OnNode{Node: pod.Spec.NodeName, Job: podChain(pod), Amount: amount})
		}
	}
	for _, a := range s.awaited() {
		last := len(a.levels) - 1
		if amount := a.each[resource] * a.count; amount > 0 && a.levels[last] == corev1.LabelHostname {
			out = append(out, OnNode{Node: a.values[last], Job: a.chain, Amount: amount, ToCome: true})
		}
	}
	return out
}

// JobName is what the Workloads of one job, and OnNodes, call the job.
func JobName(wl *kueue.Workload) string { return chainName(wl) }

// Usable says whether new pods may come to the node at all.
func Usable(node *corev1.Node) bool { return usable(node) }

// Domain are the values of the node in the topology of the first flavor that selects
// it, from the widest level; empty if none does.
func (s *State) Domain(node *corev1.Node) []string {
	for i := range s.Flavors {
		flavor := &s.Flavors[i]
		if values := valuesOf(node, s.levels(flavor)); len(values) > 0 && hasLabels(node, flavor.Spec.NodeLabels) {
			return values
		}
	}
	return nil
}

// AskedOf is what the Workload asks for of a resource, all its pods together.
func AskedOf(wl *kueue.Workload, resource corev1.ResourceName) int64 {
	var sum int64
	for i := range wl.Spec.PodSets {
		sum += podAmounts(&wl.Spec.PodSets[i].Template.Spec)[resource] * int64(wl.Spec.PodSets[i].Count)
	}
	return sum
}

// HoldsQuota says whether the Workload has a reservation and isn't finished.
func HoldsQuota(wl *kueue.Workload) bool { return holdsQuota(wl) }

// Amount writes a number of a resource as people do, as in 8 GPUs.
func Amount(resource corev1.ResourceName, n int64) string { return amount(resource, n) }
