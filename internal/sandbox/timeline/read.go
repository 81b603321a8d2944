// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"
)

// headPodSet is what a Ray job's head is called in its Workload.
const headPodSet = "head"

// groupLabel on a Workload names the worker group that it is for.
const groupLabel = "fleet.ai/worker-group"

// readSlice takes out of a Workload what the story needs.
func readSlice(workload *kueue.Workload) *slice {
	is := func(condition string) bool {
		return apimeta.IsStatusConditionTrue(workload.Status.Conditions, condition)
	}
	s := &slice{
		group:    workload.Labels[groupLabel],
		created:  workload.CreationTimestamp.Time,
		admitted: is(kueue.WorkloadAdmitted),
		evicted:  is(kueue.WorkloadEvicted),
		over:     is(kueue.WorkloadFinished),
		nodes:    map[string]int{},
	}
	for _, podSet := range workload.Spec.PodSets {
		if podSet.Name != headPodSet {
			s.workers += int(podSet.Count)
		}
	}
	if workload.Status.Admission == nil {
		return s
	}
	for _, assignment := range workload.Status.Admission.PodSetAssignments {
		if assignment.Name == headPodSet || assignment.TopologyAssignment == nil {
			continue
		}
		for domain := range tas.InternalSeqFrom(assignment.TopologyAssignment) {
			s.nodes[domain.Values[len(domain.Values)-1]] += int(domain.Count)
		}
	}
	return s
}

func evictedReason(workload *kueue.Workload) string {
	condition := apimeta.FindStatusCondition(workload.Status.Conditions, kueue.WorkloadEvicted)
	return condition.Reason + ": " + condition.Message
}

// podGPUs is how many GPUs a pod asks for.
func podGPUs(spec *corev1.PodSpec, gpu corev1.ResourceName) int {
	total := int64(0)
	for _, container := range spec.Containers {
		if quantity, ok := container.Resources.Requests[gpu]; ok {
			total += quantity.Value()
		} else if quantity, ok := container.Resources.Limits[gpu]; ok {
			total += quantity.Value()
		}
	}
	return int(total)
}

// shape describes the worker groups of a job.
func shape(rayJob *rayv1.RayJob, gpu corev1.ResourceName) string {
	if rayJob.Spec.RayClusterSpec == nil {
		return "no cluster of its own"
	}
	var groups []string
	for _, group := range rayJob.Spec.RayClusterSpec.WorkerGroupSpecs {
		low, high := ptr.Deref(group.MinReplicas, 0), ptr.Deref(group.MaxReplicas, 0)
		gpus := podGPUs(&group.Template.Spec, gpu)
		if low == high {
			groups = append(groups, fmt.Sprintf("%s of %d x %d GPU", group.GroupName, low, gpus))
		} else {
			groups = append(groups, fmt.Sprintf("%s of %d to %d x %d GPU", group.GroupName, low, high, gpus))
		}
	}
	return strings.Join(groups, ", ")
}
