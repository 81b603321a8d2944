// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	controllerconstants "sigs.k8s.io/kueue/pkg/controller/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	utilpriority "sigs.k8s.io/kueue/pkg/util/priority"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
	workloadpatching "sigs.k8s.io/kueue/pkg/workload/patching"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

func hasFinalizer(wl *kueue.Workload) bool {
	return controllerutil.ContainsFinalizer(wl, kueue.ResourceInUseFinalizerName)
}

func (r *Reconciler) actOnGroup(ctx context.Context, snap *snapshot, o Observed, p Plan) error {
	for _, wl := range p.Unfinalize {
		if err := workload.RemoveFinalizer(ctx, r.client, wl); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("failed to let go of Workload %q: %w", wl.Name, err)
		}
	}
	for _, end := range p.Finish {
		if err := workloadfinish.Finish(ctx, r.client, end.Workload, end.Reason, end.Message, r.clock); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("failed to finish Workload %q: %w", end.Workload.Name, err)
		}
	}
	for _, pod := range p.Delete {
		if err := r.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("failed to delete pod %q: %w", pod.Name, err)
		}
	}
	if p.Requeue != nil {
		if err := r.requeue(ctx, p.Requeue); err != nil {
			return err
		}
	}
	if p.Shrink != nil {
		counts := workload.PodSetsCounts{p.Shrink.Workload.Spec.PodSets[0].Name: p.Shrink.Count}
		if err := workloadslicing.Shrink(ctx, r.client, r.clock, p.Shrink.Workload, counts); err != nil {
			return err
		}
	}
	if p.Resize != nil {
		before := p.Resize.Workload.DeepCopy()
		p.Resize.Workload.Spec.PodSets[0].Count = p.Resize.Count
		if err := r.client.Patch(ctx, p.Resize.Workload, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("failed to resize Workload %q to %d: %w", before.Name, p.Resize.Count, err)
		}
	}
	if p.Create != nil {
		if err := r.create(ctx, snap, o.Group, p.Create); err != nil {
			return err
		}
	}
	for _, pod := range p.Release {
		if err := r.release(ctx, p.Holder, pod); err != nil {
			return err
		}
	}
	return r.follow(ctx, o)
}

// requeue gives the quota of an evicted Workload back, its pods being gone, and puts
// it in the queue again: at once after a preemption or a lost node, otherwise when
// the Workload controller finds the reason of the eviction gone.
func (r *Reconciler) requeue(ctx context.Context, wl *kueue.Workload) error {
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted == nil {
		return nil
	}
	err := workloadpatching.PatchAdmissionStatus(ctx, r.client, wl, r.clock, func(wl *kueue.Workload) (bool, error) {
		atOnce := evicted.Reason == kueue.WorkloadEvictedByPreemption || evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures
		updated := workload.SetRequeuedCondition(wl, evicted.Reason, evicted.Message, atOnce)
		reason := workload.UnadmittedWorkloadReasonWithFallback(kueue.WorkloadQuotaReservedReasonPendingEvaluation, "Pending")
		return workload.UnsetQuotaReservationWithCondition(wl, reason, evicted.Message, r.clock.Now()) || updated, nil
	})
	if err != nil {
		return fmt.Errorf("failed to give back the quota of Workload %q: %w", wl.Name, err)
	}
	return nil
}

func (r *Reconciler) create(ctx context.Context, snap *snapshot, group Group, n *NewWorkload) error {
	podSet := *group.PodSet.DeepCopy()
	podSet.Count = n.Count
	wl := jobframework.NewWorkload(n.Name, snap.job, []kueue.PodSet{podSet}, r.labelsToCopy, nil)
	metav1.SetMetaDataLabel(&wl.ObjectMeta, JobLabel, snap.job.Name)
	metav1.SetMetaDataLabel(&wl.ObjectMeta, GroupLabel, group.Name)
	metav1.SetMetaDataLabel(&wl.ObjectMeta, controllerconstants.JobUIDLabel, string(snap.job.UID))
	if group.Elastic {
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, workloadslicing.EnabledAnnotationKey, workloadslicing.EnabledAnnotationValue)
		chain := wl.Name
		if n.Replaces != nil {
			chain = workloadslicing.SliceName(n.Replaces)
			metav1.SetMetaDataAnnotation(&wl.ObjectMeta, workloadslicing.WorkloadSliceReplacementFor, string(workload.Key(n.Replaces)))
		}
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, kueue.WorkloadSliceNameAnnotation, chain)
	}
	annotations, err := r.readiness.Annotations(&wl.Spec.PodSets[0], n.Replaces)
	if err != nil {
		return fmt.Errorf("failed to annotate Workload %q: %w", n.Name, err)
	}
	for key, value := range annotations {
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, key, value)
	}
	ref, priority, err := utilpriority.GetPriorityFromWorkloadPriorityClass(ctx, r.client, group.PriorityClass)
	if err != nil {
		r.recorder.Eventf(snap.job, nil, corev1.EventTypeWarning, "PriorityClassMissing", "AdmitGroup",
			"Group %q can't be queued: WorkloadPriorityClass %q: %v", group.Name, group.PriorityClass, err)
		return fmt.Errorf("failed to get WorkloadPriorityClass %q: %w", group.PriorityClass, err)
	}
	wl.Spec.PriorityClassRef, wl.Spec.Priority = ref, &priority
	if err := controllerutil.SetControllerReference(snap.job, wl, r.client.Scheme()); err != nil {
		return fmt.Errorf("failed to set the owner of Workload %q: %w", wl.Name, err)
	}
	if err := r.client.Create(ctx, wl); err != nil {
		return fmt.Errorf("failed to create Workload %q: %w", wl.Name, err)
	}
	ctrl.LoggerFrom(ctx).V(2).Info("Created a group's Workload", "workload", wl.Name, "group", group.Name, "count", n.Count)
	return nil
}

// follow keeps what changes without a change of size: priority, annotations and
// readiness.
func (r *Reconciler) follow(ctx context.Context, o Observed) error {
	if o.Phase == JobEnding {
		return nil
	}
	c := readChain(o.BaseName, o.Workloads)
	for _, wl := range []*kueue.Workload{c.holder, c.pending} {
		if wl == nil || wl.DeletionTimestamp != nil {
			continue
		}
		if err := r.updatePriority(ctx, wl, o.Group.PriorityClass); err != nil {
			return err
		}
		if !r.waitForPodsReady {
			continue
		}
		judged, err := r.readiness.Follow(ctx, wl, &o.Group.PodSet, o.Pods.copies(), min(granted(wl), o.Group.Desired()))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("failed to judge the readiness of Workload %q: %w", wl.Name, err)
		}
		// What is being drained has been given up already.
		if judged || wl == c.holder && isStopping(wl) {
			continue
		}
		condition := podsReady(wl, o, r.clock)
		if workload.HasConditionWithTypeAndReason(wl, &condition) {
			continue
		}
		err = workload.SetConditionAndUpdate(ctx, r.client, wl, condition.Type, condition.Status, condition.Reason, condition.Message, constants.JobControllerName, r.clock)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("failed to update the readiness of Workload %q: %w", wl.Name, err)
		}
	}
	return nil
}

// updatePriority follows a change of the class; Kueue itself follows changes of the
// class's value.
func (r *Reconciler) updatePriority(ctx context.Context, wl *kueue.Workload, class string) error {
	if wl.Spec.PriorityClassRef == nil || wl.Spec.PriorityClassRef.Name == class {
		return nil
	}
	ref, priority, err := utilpriority.GetPriorityFromWorkloadPriorityClass(ctx, r.client, class)
	if err != nil {
		return fmt.Errorf("failed to get WorkloadPriorityClass %q: %w", class, err)
	}
	before := wl.DeepCopy()
	wl.Spec.PriorityClassRef, wl.Spec.Priority = ref, &priority
	if err := r.client.Patch(ctx, wl, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("failed to change the priority of Workload %q: %w", wl.Name, err)
	}
	return nil
}
