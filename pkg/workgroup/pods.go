// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	utilpod "sigs.k8s.io/kueue/pkg/util/pod"
)

// Pods are a group's pods that have not ended, by what they mean for its quota. Each
// list is sorted by name.
type Pods struct {
	// Gated cost nothing and may be released.
	Gated []*corev1.Pod
	// Held were released and use quota, those that are terminating included. Pods
	// that were given up on a node that isn't ready are left out.
	Held []*corev1.Pod
}

// sortPods files the pods of one group. lost says which terminating pods nobody can
// wait for.
func sortPods(all []*corev1.Pod, lost func(*corev1.Pod) bool) Pods {
	var pods Pods
	for _, pod := range all {
		switch {
		case utilpod.IsTerminated(pod):
		case utilpod.HasGate(pod, SchedulingGate):
			if pod.DeletionTimestamp == nil {
				pods.Gated = append(pods.Gated, pod)
			}
		case pod.DeletionTimestamp == nil || !lost(pod):
			pods.Held = append(pods.Held, pod)
		}
	}
	byName := func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(pods.Gated, byName)
	slices.SortFunc(pods.Held, byName)
	return pods
}

// held is how many pods use quota.
func (p Pods) held() int32 { return int32(len(p.Held)) }

// running are the held pods that nobody has told to stop.
func (p Pods) running() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(p.Held), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// copies are the running pods as values.
func (p Pods) copies() []corev1.Pod {
	var pods []corev1.Pod
	for _, pod := range p.running() {
		pods = append(pods, *pod)
	}
	return pods
}

// ready is how many of the running pods are ready.
func (p Pods) ready() int32 {
	var n int32
	for _, pod := range p.running() {
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			n++
		}
	}
	return n
}
