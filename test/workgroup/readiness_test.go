// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// Both worker groups lose a worker. The one that asks for a window of its own is
// evicted and comes back; the other, and the head, keep their pods.
func ownWindow(w *world) {
	job := w.job("windows",
		groupShape{name: "trainer", class: "q1", replicas: 2, lo: 2, hi: 2, gpus: 1},
		groupShape{name: "rollout", class: "q2", replicas: 2, lo: 0, hi: 4, gpus: 1})
	job.Spec.RayClusterSpec.WorkerGroupSpecs[1].Template.Annotations[readinessrecovery.RecoveryTimeoutAnnotation] = "3s"
	w.create(job)
	w.waitStatus("windows", "head Running 1/1, trainer Running 2/2, rollout Running 2/2")
	w.waitReadiness("windows", "trainer", "Started")
	w.waitReadiness("windows", "rollout", "Started")
	head, trainers, rollouts := w.running("windows", "head"), w.running("windows", "trainer"), w.running("windows", "rollout")
	stalled := w.names("windows", "trainer")[0]
	w.kubelet.stall(stalled)
	w.waitReadiness("windows", "trainer", "WaitForRecovery: recovery window 30m, the cluster default")

	w.kubelet.stall(w.names("windows", "rollout")[0])
	w.eventually("the rollouts", "2 new, all ready", func() string {
		now := w.running("windows", "rollout")
		ready := "all ready"
		for _, name := range now {
			pod := &corev1.Pod{}
			if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.ns, Name: name}, pod); err != nil || !isReady(pod) {
				ready = "some not ready"
			}
		}
		maps.DeleteFunc(now, func(uid types.UID, _ string) bool { _, old := rollouts[uid]; return old })
		return fmt.Sprintf("%d new, %s", len(now), ready)
	})
	w.waitReadiness("windows", "rollout", "Started")
	w.keep("windows", "head", head)
	w.keep("windows", "trainer", trainers)
	for group, want := range map[string]string{"head": "", "trainer": "", "rollout": "PodsReadyTimeout WaitForRecovery 1"} {
		if got := w.evictions("windows", group); got != want {
			w.t.Errorf("evictions of %s: %q, want %q", group, got, want)
		}
	}

	w.kubelet.recover(stalled)
	w.waitReadiness("windows", "trainer", "Recovered")
	w.finish("windows", rayv1.JobStatusSucceeded)
	w.eventually("the job", "Complete", func() string { return string(w.getJob("windows").Status.JobDeploymentStatus) })
}

// waitReadiness waits for the reason of a group's PodsReady condition, and for the
// window that it names, if it waits for one.
func (w *world) waitReadiness(job, group, want string) {
	w.t.Helper()
	w.eventually("the readiness of "+group, want, func() string {
		all := w.group(job, group)
		if len(all) == 0 {
			return "no Workload"
		}
		ready := apimeta.FindStatusCondition(all[0].Status.Conditions, kueue.WorkloadPodsReady)
		if ready == nil {
			return "unknown"
		}
		if _, window, names := strings.Cut(ready.Message, ": "); names {
			return ready.Reason + ": " + window
		}
		return ready.Reason
	})
}

// evictions says how often the Workloads of a group were evicted, and why.
func (w *world) evictions(job, group string) string {
	var lines []string
	for _, wl := range w.group(job, group) {
		if wl.Status.SchedulingStats == nil {
			continue
		}
		for _, e := range wl.Status.SchedulingStats.Evictions {
			lines = append(lines, fmt.Sprintf("%s %s %d", e.Reason, e.UnderlyingCause, e.Count))
		}
	}
	return strings.Join(slices.Sorted(slices.Values(lines)), ", ")
}
