// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

func (r *Recorder) observeWorkload(at float64, object *kueue.Workload, deleted bool) {
	i, ok := r.workloads[object.UID]
	if !ok {
		if deleted {
			return
		}
		i = len(r.rec.Workloads)
		r.workloads[object.UID] = i
		w := recording.Workload{Name: object.Name, UID: string(object.UID)}
		if owner := metav1.GetControllerOf(object); owner != nil {
			w.Job = owner.Name
		}
		_, w.Replaces, _ = strings.Cut(object.Annotations[replacementAnnotation], "/")
		r.rec.Workloads = append(r.rec.Workloads, w)
	}
	w := &r.rec.Workloads[i]
	w.Group = object.Labels[groupLabel]
	if ref := object.Spec.PriorityClassRef; ref != nil {
		w.Priority = ref.Name
	}
	span := r.spanOf(object)
	span.From = at
	if deleted && span.State != recording.Done {
		span = recording.Span{From: at, State: recording.Done, Reason: "Deleted"}
	}
	if n := len(w.Spans); n > 0 {
		last := &w.Spans[n-1]
		if sameSpan(last, &span) {
			return
		}
		last.To = ptr.To(at)
	}
	w.Spans = append(w.Spans, span)
}

func sameSpan(a, b *recording.Span) bool {
	return a.State == b.State && a.Reason == b.Reason && a.Message == b.Message && a.GPUs == b.GPUs &&
		maps.Equal(a.Counts, b.Counts) && maps.EqualFunc(a.Nodes, b.Nodes, maps.Equal[map[string]int])
}

// spanOf is what a Workload does now.
func (r *Recorder) spanOf(object *kueue.Workload) recording.Span {
	conditions := object.Status.Conditions
	is := func(name string) bool { return apimeta.IsStatusConditionTrue(conditions, name) }
	span := recording.Span{State: recording.Pending, Counts: map[string]int{}}
	why := kueue.WorkloadQuotaReserved
	holds := object.Status.Admission != nil && is(kueue.WorkloadQuotaReserved)
	switch {
	case is(kueue.WorkloadFinished):
		span.State, why = recording.Done, kueue.WorkloadFinished
	case holds && is(kueue.WorkloadEvicted):
		span.State, why = recording.Draining, kueue.WorkloadEvicted
	case is(kueue.WorkloadAdmitted):
		span.State, why = recording.Admitted, kueue.WorkloadAdmitted
	case !ptr.Deref(object.Spec.Active, true):
		span.State, why = recording.Inactive, kueue.WorkloadEvicted
	case apimeta.IsStatusConditionFalse(conditions, kueue.WorkloadRequeued):
		span.State, why = recording.BackingOff, kueue.WorkloadRequeued
	}
	if condition := apimeta.FindStatusCondition(conditions, why); condition != nil {
		span.Reason, span.Message = condition.Reason, condition.Message
	}
	for i := range object.Spec.PodSets {
		podSet := &object.Spec.PodSets[i]
		span.Counts[string(podSet.Name)] = int(podSet.Count)
		span.GPUs += int(podSet.Count) * gpusOf(&podSet.Template.Spec, r.gpu)
	}
	if span.State == recording.Done {
		span.GPUs = 0
	}
	if object.Status.Admission != nil {
		span.Nodes = nodesOf(object.Status.Admission)
	}
	return span
}

func nodesOf(admission *kueue.Admission) map[string]map[string]int {
	nodes := map[string]map[string]int{}
	for i := range admission.PodSetAssignments {
		assignment := &admission.PodSetAssignments[i]
		if assignment.TopologyAssignment == nil {
			continue
		}
		byNode := map[string]int{}
		for domain := range tas.InternalSeqFrom(assignment.TopologyAssignment) {
			byNode[domain.Values[len(domain.Values)-1]] += int(domain.Count)
		}
		nodes[string(assignment.Name)] = byNode
	}
	return nodes
}

// gpusOf is how many GPUs a pod asks for.
func gpusOf(spec *corev1.PodSpec, gpu corev1.ResourceName) int {
	total := int64(0)
	for i := range spec.Containers {
		resources := &spec.Containers[i].Resources
		quantity, ok := resources.Requests[gpu]
		if !ok {
			quantity = resources.Limits[gpu]
		}
		total += quantity.Value()
	}
	return int(total)
}
