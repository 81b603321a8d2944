// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

// withoutUpstreams leaves out what Kueue does with every kind of job and this
// project doesn't change: it gives quota back while pods still hold nodes when
// a job says that it is over, and when a job that isn't elastic is evicted and
// all of its pods stop. The next pods then wait for the nodes in
// kube-scheduler. Nodes never hold too much: other rules watch that.
func withoutUpstreams(found []invariant.Violation, s invariant.State) []invariant.Violation {
	if !slices.ContainsFunc(found, func(v invariant.Violation) bool { return v.Rule == invariant.PodsWithoutQuota }) {
		return found
	}
	allowed := map[string]bool{}
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		name := wl.Annotations[kueue.WorkloadSliceNameAnnotation]
		if name == "" {
			name = wl.Name
		}
		over := isOver(wl)
		for j := range wl.Spec.PodSets {
			group := string(wl.Spec.PodSets[j].Name)
			if over || wl.Annotations[elasticAnnotation] != "true" && allStop(s.Pods, wl.Namespace, name, group) {
				allowed["job "+wl.Namespace+"/"+name+"/"+group] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(v invariant.Violation) bool {
		return v.Rule == invariant.PodsWithoutQuota && allowed[v.Subject]
	})
}

const (
	elasticAnnotation = "kueue.x-k8s.io/elastic-job"
	podSetLabel       = "kueue.x-k8s.io/podset"
)

// isOver reports whether the job of a Workload has ended. A slice that was
// replaced is finished too, but its job is not.
func isOver(wl *kueue.Workload) bool {
	condition := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished)
	return condition != nil && condition.Status == "True" && condition.Reason != kueue.WorkloadSliceReplaced
}

// allStop reports whether all pods of a group that hold a node are being
// deleted.
func allStop(pods []corev1.Pod, namespace, workload, group string) bool {
	return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return pod.Namespace == namespace && pod.Annotations[kueue.WorkloadAnnotation] == workload &&
			pod.Labels[podSetLabel] == group && pod.Spec.NodeName != "" && pod.DeletionTimestamp.IsZero()
	})
}
