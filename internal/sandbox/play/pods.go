// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recorder"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

func isBound(p *recording.Pod) bool { return p.Bound != nil && p.Stopping == nil && p.Gone == nil }
func isThere(p *recording.Pod) bool { return p.Gone == nil }

// forPods does something to pods of a job, the youngest first.
func (p *Player) forPods(ctx context.Context, t *scenario.Target, done string, want func(*recording.Pod) bool, do func(context.Context, *corev1.Pod) error) (job, text string, err error) {
	var pods []recording.Pod
	p.recorder.Read(func(rec *recording.Recording) {
		for i := range rec.Pods {
			pod := &rec.Pods[i]
			wanted := pod.Group == t.Group || t.Group == "" && pod.Group != recorder.HeadGroup
			if pod.Job == t.Job && wanted && want(pod) {
				pods = append(pods, *pod)
			}
		}
	})
	slices.SortStableFunc(pods, func(a, b recording.Pod) int { return cmp.Compare(b.Created, a.Created) })
	if t.Pods > 0 {
		if len(pods) < t.Pods {
			return "", "", fmt.Errorf("job %s has %d such pods, %d are asked for", t.Job, len(pods), t.Pods)
		}
		pods = pods[:t.Pods]
	}
	if len(pods) == 0 {
		return "", "", fmt.Errorf("job %s has no such pod", t.Job)
	}
	for i := range pods {
		var pod corev1.Pod
		if err := p.Client.Get(ctx, types.NamespacedName{Namespace: pods[i].Namespace, Name: pods[i].Name}, &pod); err != nil {
			return "", "", err
		}
		if err := do(ctx, &pod); err != nil {
			return "", "", err
		}
	}
	return t.Job, fmt.Sprintf("%d pods %s", len(pods), done), nil
}

func (p *Player) stall(ctx context.Context, pod *corev1.Pod) error {
	return p.setReady(ctx, pod, corev1.ConditionFalse, "SandboxStalled")
}

func (p *Player) recover(ctx context.Context, pod *corev1.Pod) error {
	return p.setReady(ctx, pod, corev1.ConditionTrue, "SandboxRecovered")
}

func (p *Player) setReady(ctx context.Context, pod *corev1.Pod, status corev1.ConditionStatus, reason string) error {
	old := pod.DeepCopy()
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; (c.Type == corev1.PodReady || c.Type == corev1.ContainersReady) && c.Status != status {
			c.Status, c.Reason, c.LastTransitionTime = status, reason, metav1.NewTime(p.Clock.Now())
		}
	}
	return p.Client.Status().Patch(ctx, pod, client.MergeFrom(old))
}

func (p *Player) hold(ctx context.Context, pod *corev1.Pod) error {
	old := pod.DeepCopy()
	controllerutil.AddFinalizer(pod, fleet.HoldFinalizer)
	return p.Client.Patch(ctx, pod, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
}

func (p *Player) letGo(ctx context.Context, pod *corev1.Pod) error {
	old := pod.DeepCopy()
	if !controllerutil.RemoveFinalizer(pod, fleet.HoldFinalizer) {
		return nil
	}
	return p.Client.Patch(ctx, pod, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
}

func (p *Player) deletePod(ctx context.Context, pod *corev1.Pod) error {
	return p.Client.Delete(ctx, pod)
}

// failPod lets the pod end as a container that exits with an error does.
func (p *Player) failPod(ctx context.Context, pod *corev1.Pod) error {
	old := pod.DeepCopy()
	now := metav1.NewTime(p.Clock.Now())
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "SandboxFailed"
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.Reason, c.LastTransitionTime = corev1.ConditionFalse, "PodFailed", now
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Ready = false
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: now}}
	}
	return p.Client.Status().Patch(ctx, pod, client.MergeFrom(old))
}
