// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simruntime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clusterPods are the pods of a Ray cluster that are not being deleted.
type clusterPods struct {
	head    *corev1.Pod
	workers []corev1.Pod
}

func (r *Runtime) pods(ctx context.Context, cluster types.NamespacedName) (clusterPods, error) {
	var list corev1.PodList
	err := r.client.List(ctx, &list, client.InNamespace(cluster.Namespace), client.MatchingLabels{utils.RayClusterLabelKey: cluster.Name})
	if err != nil {
		return clusterPods{}, fmt.Errorf("failed to list the pods of %s: %w", cluster, err)
	}
	return sortPods(list.Items), nil
}

func sortPods(all []corev1.Pod) clusterPods {
	var pods clusterPods
	for i := range all {
		pod := &all[i]
		switch {
		case !pod.DeletionTimestamp.IsZero():
		case pod.Labels[utils.RayNodeTypeLabelKey] == string(rayv1.HeadNode):
			pods.head = pod
		case pod.Labels[utils.RayNodeTypeLabelKey] == string(rayv1.WorkerNode):
			pods.workers = append(pods.workers, *pod)
		}
	}
	slices.SortFunc(pods.workers, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

func (p clusterPods) headReady() bool {
	return p.head != nil && isReady(p.head)
}

// readyWorkers are the ready workers of a group, or with no name of all groups.
func (p clusterPods) readyWorkers(group string) []string {
	var names []string
	for i := range p.workers {
		if isReady(&p.workers[i]) && (group == "" || p.workers[i].Labels[utils.RayNodeGroupLabelKey] == group) {
			names = append(names, p.workers[i].Name)
		}
	}
	return names
}

// noteReadiness remembers which workers were ready and since when they are
// not.
func (j *job) noteReadiness(now time.Time, pods clusterPods) {
	there := map[string]bool{}
	for i := range pods.workers {
		name := pods.workers[i].Name
		there[name] = true
		switch {
		case isReady(&pods.workers[i]):
			j.ready[name] = true
			delete(j.unready, name)
		case j.ready[name] && j.unready[name].IsZero():
			j.unready[name] = now
		}
	}
	for name := range j.ready {
		if !there[name] {
			delete(j.ready, name)
			delete(j.unready, name)
		}
	}
}

func isReady(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
