// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/podset"
	utilpod "sigs.k8s.io/kueue/pkg/util/pod"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

// release lets a pod go by what its group was granted: the flavors' node labels and
// tolerations, and what admission checks add. A pod whose flavor has a topology
// keeps the topology gate; Kueue's topology ungater finds it by the annotations and
// the label that it gets here, and assigns it a domain.
func (r *Reconciler) release(ctx context.Context, wl *kueue.Workload, pod *corev1.Pod) error {
	info, err := r.podSetInfo(ctx, wl)
	if err != nil {
		return err
	}
	before := pod.DeepCopy()
	utilpod.Ungate(pod, SchedulingGate)
	// It is put back by what is merged if the flavor has a topology.
	utilpod.Ungate(pod, kueue.TopologySchedulingGate)
	if err := podset.Merge(ctrl.LoggerFrom(ctx), &pod.ObjectMeta, &pod.Spec, info); err != nil {
		return fmt.Errorf("failed to apply the admission of Workload %q to pod %q: %w", wl.Name, pod.Name, err)
	}
	if err := r.client.Patch(ctx, pod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("failed to release pod %q: %w", pod.Name, err)
	}
	return nil
}

func (r *Reconciler) podSetInfo(ctx context.Context, wl *kueue.Workload) (podset.PodSetInfo, error) {
	assignment := &wl.Status.Admission.PodSetAssignments[0]
	info, err := podset.FromAssignment(ctx, r.client, assignment, &wl.Spec.PodSets[0])
	if err != nil {
		return info, fmt.Errorf("failed to read the flavors of Workload %q: %w", wl.Name, err)
	}
	info.Labels[constants.PodSetLabel] = string(assignment.Name)
	info.Annotations[kueue.WorkloadAnnotation] = wl.Name
	if workloadslicing.IsElasticWorkload(wl) {
		// Pods outlive slices, so they name what all slices have in common.
		info.Annotations[kueue.WorkloadAnnotation] = workloadslicing.SliceName(wl)
		info.Annotations[kueue.WorkloadSliceNameAnnotation] = workloadslicing.SliceName(wl)
	}
	if features.Enabled(features.AssignQueueLabelsForPods) {
		info.Labels[constants.LocalQueueLabel] = string(wl.Spec.QueueName)
		info.Labels[constants.ClusterQueueLabel] = string(wl.Status.Admission.ClusterQueue)
	}
	for _, check := range wl.Status.AdmissionChecks {
		for i := range check.PodSetUpdates {
			if update := &check.PodSetUpdates[i]; update.Name == assignment.Name {
				if err := info.Merge(podset.FromUpdate(update)); err != nil {
					return info, fmt.Errorf("failed to apply admission check %q of Workload %q: %w", check.Name, wl.Name, err)
				}
			}
		}
	}
	return info, nil
}
