// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// What users write.
const (
	// ScopeAnnotation on a RayJob opts in to admission by group. It is set at create
	// and never changes.
	ScopeAnnotation = "ray/kueue-admission-scope"
	// ScopeWorkerGroup is the only value of ScopeAnnotation.
	ScopeWorkerGroup = "worker-group"
	// PriorityClassAnnotation on a group's pod template names the group's
	// WorkloadPriorityClass.
	PriorityClassAnnotation = "ray/kueue-priority-class"
)

// What this package writes.
const (
	// SchedulingGate holds a pod back until its group was granted room for it.
	SchedulingGate = "fleet.ai/worker-group-admission"
	// ManagedAnnotation on a RayJob says that it was defaulted here. A job that was
	// created while the feature was off doesn't have it and stays with Kueue's own
	// integration.
	ManagedAnnotation = "fleet.ai/worker-group-admission"
	// managedValue is the only value of ManagedAnnotation.
	managedValue = "managed"
	// StatusAnnotation on a RayJob has a line for each group: its state, how many of
	// its pods run, and why it waits.
	StatusAnnotation = "fleet.ai/worker-group-status"
	// JobLabel on pods and Workloads names the RayJob. RayJob names are label values,
	// as KubeRay allows 47 characters.
	JobLabel = "fleet.ai/rayjob"
	// GroupLabel on Workloads names the group.
	GroupLabel = "fleet.ai/worker-group"
	// HeadGroup is the name of the head's group.
	HeadGroup = "head"
)

// OptedIn returns whether the job asks for admission by group, with whatever value.
func OptedIn(job *rayv1.RayJob) bool {
	_, found := job.Annotations[ScopeAnnotation]
	return found
}

// Managed returns whether the job is admitted by group.
func Managed(job *rayv1.RayJob) bool {
	return job.Annotations[ScopeAnnotation] == ScopeWorkerGroup && job.Annotations[ManagedAnnotation] == managedValue
}

// claims returns whether obj belongs to this package and not to Kueue's job
// integrations. An object that is being created has no UID yet when it is
// defaulted; later the mark of the defaulting counts.
func claims(obj client.Object) bool {
	switch o := obj.(type) {
	case *rayv1.RayJob:
		return Managed(o) || OptedIn(o) && o.UID == ""
	case *kueue.Workload:
		return isGroupWorkload(o)
	default:
		return false
	}
}

func isGroupWorkload(wl *kueue.Workload) bool {
	return wl.Labels[JobLabel] != "" && wl.Labels[GroupLabel] != ""
}
