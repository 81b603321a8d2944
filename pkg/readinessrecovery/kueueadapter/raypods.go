// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// clusterOfPod indexes pods by the RayCluster that they belong to.
const clusterOfPod = "fleet.ai/ray-cluster"

// headPodSet is the PodSet of the head of a Ray cluster.
const headPodSet = "head"

func setupPodIndex(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1.Pod{}, clusterOfPod, func(obj client.Object) []string {
		if name := obj.GetLabels()[rayutils.RayClusterLabelKey]; name != "" {
			return []string{name}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("failed to index pods by RayCluster: %w", err)
	}
	return nil
}

// podsOf returns the pods of a Ray job. They are not known for jobs of other kinds,
// and for those whose pods run in another cluster.
func (p *jobPolicy) podsOf(ctx context.Context, job jobframework.GenericJob, wl *kueue.Workload) (pods []corev1.Pod, known bool, err error) {
	cluster, isRay := rayClusterOf(job.Object())
	if !isRay || wl.Status.ClusterName != nil {
		return nil, false, nil
	}
	if cluster == "" {
		return nil, true, nil
	}
	var list corev1.PodList
	if err := p.client.List(ctx, &list, client.InNamespace(wl.Namespace), client.MatchingFields{clusterOfPod: cluster}); err != nil {
		return nil, false, fmt.Errorf("failed to list the pods of RayCluster %s: %w", cluster, err)
	}
	return list.Items, true, nil
}

// rayClusterOf returns the name of the RayCluster that the job runs in, empty if it
// has none yet.
func rayClusterOf(job client.Object) (name string, isRay bool) {
	switch job := job.(type) {
	case *rayv1.RayJob:
		return job.Status.RayClusterName, true
	case *rayv1.RayCluster:
		return job.Name, true
	case *rayv1.RayService:
		// While the first cluster starts it is only pending.
		if active := job.Status.ActiveServiceStatus.RayClusterName; active != "" {
			return active, true
		}
		return job.Status.PendingServiceStatus.RayClusterName, true
	default:
		return "", false
	}
}

// podSetOf returns the PodSet that a pod of a RayCluster belongs to.
func podSetOf(pod *corev1.Pod) kueue.PodSetReference {
	if name := pod.Labels[constants.PodSetLabel]; name != "" {
		return kueue.PodSetReference(name)
	}
	if pod.Labels[rayutils.RayNodeTypeLabelKey] == string(rayv1.HeadNode) {
		return headPodSet
	}
	return kueue.NewPodSetReference(pod.Labels[rayutils.RayNodeGroupLabelKey])
}

// expectedPods returns the pods of the RayCluster that should run now. The pod that
// submits a RayJob is none of them.
func expectedPods(wl *kueue.Workload, podSets []kueue.PodSet) readinessrecovery.Counts {
	wanted := make(readinessrecovery.Counts, len(podSets))
	for i := range podSets {
		wanted[podSets[i].Name] = podSets[i].Count
	}
	expected := readinessrecovery.ShouldRun(readinessrecovery.CountsOf(wl), wanted)
	delete(expected, submitterPodSet)
	return expected
}

// Watch implements jobframework.ReadinessPolicy.
func (p *jobPolicy) Watch(b *builder.Builder, c client.Client, gvk schema.GroupVersionKind) *builder.Builder {
	if !podReadinessOn() || gvk.GroupVersion() != rayv1.GroupVersion {
		return b
	}
	return b.Watches(&corev1.Pod{},
		handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, pod client.Object) []reconcile.Request {
			return requestsForPod(ctx, c, gvk, pod)
		}),
		builder.WithPredicates(readinessChanged))
}

// readinessChanged passes the events that can change what a job's readiness is.
var readinessChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool {
		pod, isPod := rayPod(e.Object)
		return isPod && readinessrecovery.Runs(pod)
	},
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isPod := rayPod(e.ObjectOld)
		after, _ := rayPod(e.ObjectNew)
		return isPod && after != nil && readinessrecovery.ChangeMatters(before, after)
	},
	DeleteFunc: func(e event.DeleteEvent) bool {
		pod, isPod := rayPod(e.Object)
		// Otherwise the update that made it terminate has been passed.
		return isPod && pod.DeletionTimestamp.IsZero()
	},
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func rayPod(obj client.Object) (*corev1.Pod, bool) {
	pod, isPod := obj.(*corev1.Pod)
	return pod, isPod && pod.Labels[rayutils.RayClusterLabelKey] != ""
}

// requestsForPod returns the job of the kind that the pod's RayCluster belongs to, or
// is.
func requestsForPod(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, pod client.Object) []reconcile.Request {
	key := types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[rayutils.RayClusterLabelKey]}
	var cluster rayv1.RayCluster
	if err := c.Get(ctx, key, &cluster); err != nil {
		if client.IgnoreNotFound(err) != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to find the job of a pod", "rayCluster", key)
		}
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(&cluster)
	switch {
	case owner == nil && gvk.Kind == "RayCluster":
		return []reconcile.Request{{NamespacedName: key}}
	case owner != nil && owner.Kind == gvk.Kind && owner.APIVersion == gvk.GroupVersion().String():
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: owner.Name}}}
	default:
		return nil
	}
}
