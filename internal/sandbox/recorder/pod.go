// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"cmp"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Names in the objects that are read.
const (
	queueLabel            = "kueue.x-k8s.io/queue-name"
	priorityLabel         = "kueue.x-k8s.io/priority-class"
	replacementAnnotation = "kueue.x-k8s.io/workload-slice-replacement-for"
	// groupLabel is on the Workloads of a job whose groups are admitted on
	// their own.
	groupLabel = "fleet.ai/worker-group"

	blockLabel = fleet.BlockLabel
	rackLabel  = fleet.RackLabel

	// HeadGroup is what the head of a Ray cluster is called.
	HeadGroup = "head"
)

func (r *Recorder) observePod(at float64, object *corev1.Pod, deleted bool) {
	i, ok := r.pods[object.UID]
	if !ok {
		if deleted {
			return
		}
		i = len(r.rec.Pods)
		r.pods[object.UID] = i
		r.rec.Pods = append(r.rec.Pods, recording.Pod{
			Name: object.Name, UID: string(object.UID), Namespace: object.Namespace, Created: at,
			GPUs: gpusOf(&object.Spec, r.gpu), Group: groupOf(object),
		})
		r.findJob(i, object)
	}
	pod := &r.rec.Pods[i]
	pod.Workload = cmp.Or(object.Annotations[kueue.WorkloadAnnotation], pod.Workload)
	set := func(to **float64, when bool) {
		if when && *to == nil {
			*to = ptr.To(at)
		}
	}
	set(&pod.Released, len(object.Spec.SchedulingGates) == 0)
	set(&pod.Bound, object.Spec.NodeName != "")
	pod.Node = object.Spec.NodeName
	over := object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed
	pod.Failed = pod.Failed || object.Status.Phase == corev1.PodFailed
	set(&pod.Stopping, object.DeletionTimestamp != nil)
	set(&pod.Gone, deleted || over)
	r.noteReady(at, pod, isReady(object) && pod.Stopping == nil && pod.Gone == nil)
}

// noteReady keeps the times during which a pod was not ready. A pod that
// stops is not unready.
func (r *Recorder) noteReady(at float64, pod *recording.Pod, ready bool) {
	open := len(pod.Unready) > 0 && pod.Unready[len(pod.Unready)-1].To == nil
	switch {
	case ready && pod.Ready == nil:
		pod.Ready = ptr.To(at)
	case open && (ready || pod.Stopping != nil || pod.Gone != nil):
		pod.Unready[len(pod.Unready)-1].To = ptr.To(at)
	case !ready && !open && pod.Ready != nil && pod.Stopping == nil && pod.Gone == nil:
		pod.Unready = append(pod.Unready, recording.Interval{From: at})
	}
}

func (r *Recorder) findJob(i int, object *corev1.Pod) {
	cluster, ok := object.Labels[utils.RayClusterLabelKey]
	if !ok {
		return
	}
	name := types.NamespacedName{Namespace: object.Namespace, Name: cluster}
	if owner, ok := r.clusters[name]; ok {
		r.rec.Pods[i].Job = owner
		return
	}
	r.homeless[name] = append(r.homeless[name], i)
}

func groupOf(object *corev1.Pod) string {
	if object.Labels[utils.RayNodeTypeLabelKey] == string(rayv1.HeadNode) {
		return HeadGroup
	}
	return object.Labels[utils.RayNodeGroupLabelKey]
}

func isReady(object *corev1.Pod) bool {
	return slices.ContainsFunc(object.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func awayReason(object *corev1.Node, deleted bool) string {
	switch {
	case deleted:
		return "lost"
	case object.Labels[fleet.LostLabel] != "":
		return "lost"
	case !slices.ContainsFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}):
		return "unready"
	case object.Spec.Unschedulable:
		return "cordoned"
	}
	return ""
}
