// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Runs tells whether the pod counts as ready: it is Ready, or has succeeded, and is
// not on its way out.
func Runs(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() &&
		(pod.Status.Phase == corev1.PodSucceeded || hasCondition(pod, corev1.PodReady))
}

// ChangeMatters tells whether an update of a pod can change what Observe says.
func ChangeMatters(before, after *corev1.Pod) bool {
	return Runs(before) != Runs(after) || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}

// Observe counts the pods that run, by the PodSet that podSet returns, and tells
// whether one that was scheduled before the Workload was admitted isn't ready.
func Observe(pods []corev1.Pod, podSet func(*corev1.Pod) kueue.PodSetReference, admitted time.Time) (ready Counts, earlierUnready bool) {
	ready = make(Counts)
	for i := range pods {
		pod := &pods[i]
		if Runs(pod) {
			ready[podSet(pod)]++
		} else if pod.DeletionTimestamp.IsZero() && scheduledBefore(pod, admitted) {
			earlierUnready = true
		}
	}
	return ready, earlierUnready
}

// ShouldRun returns the pods that should run: those that were admitted, less those
// that the job has given up since.
func ShouldRun(admitted, wanted Counts) Counts {
	expected := make(Counts, len(admitted))
	for name, n := range admitted {
		if want, found := wanted[name]; found {
			n = min(n, want)
		}
		expected[name] = n
	}
	return expected
}

// scheduledBefore goes by whole seconds, as the API does.
func scheduledBefore(pod *corev1.Pod, t time.Time) bool {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionTrue && c.LastTransitionTime.Time.Before(t.Truncate(time.Second))
		}
	}
	return false
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
