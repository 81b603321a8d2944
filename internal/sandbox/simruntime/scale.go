// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simruntime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

// defaultIdleTimeout is Ray's, for manifests that name none.
const defaultIdleTimeout = 60 * time.Second

// scaleGroups lets the autoscaler decide about each worker group of a cluster.
// A group sees the demand of the part of the program that uses it. Work that
// names no groups is for all, so each sees all of the demand. A group without
// any work keeps its size.
func (r *Runtime) scaleGroups(ctx context.Context, now time.Time, name types.NamespacedName, j *job, pods clusterPods) error {
	var cluster rayv1.RayCluster
	if err := r.client.Get(ctx, name, &cluster); err != nil {
		return fmt.Errorf("failed to get RayCluster %s: %w", name, err)
	}
	if !ptr.Deref(cluster.Spec.EnableInTreeAutoscaling, false) || !cluster.DeletionTimestamp.IsZero() {
		return nil
	}
	var errs []error
	for i := range cluster.Spec.WorkerGroupSpecs {
		spec := &cluster.Spec.WorkerGroupSpecs[i]
		driver := j.driverOf(spec.GroupName)
		if driver == nil {
			continue
		}
		work := driver.Work()
		rules := simray.Rules{
			IdleTimeout:   time.Duration(float64(idleTimeout(&cluster)) / r.scale),
			RemoveUnready: work.RemoveUnready,
			Upscale:       work.Upscale,
			Unit:          driver.Unit(),
		}
		group := groupOf(spec, j, driver, pods)
		if scaling, ok := simray.Scale(now, group, driver.Demand(), rules); ok && !work.FixedSize {
			errs = append(errs, r.patchGroup(ctx, &cluster, i, scaling.Replicas, scaling.Remove))
			continue
		}
		if removalsDone(spec.ScaleStrategy.WorkersToDelete, pods.workers) {
			errs = append(errs, r.patchGroup(ctx, &cluster, i, group.Replicas, nil))
		}
	}
	return errors.Join(errs...)
}

// Resize sets the size of a worker group of a RayJob's cluster as an
// autoscaler would: it names the workers to remove, the youngest first. An
// empty group means the first.
func (r *Runtime) Resize(ctx context.Context, rayJob types.NamespacedName, group string, replicas int) error {
	var clusters rayv1.RayClusterList
	err := r.client.List(ctx, &clusters, client.InNamespace(rayJob.Namespace), client.MatchingLabels{utils.RayOriginatedFromCRNameLabelKey: rayJob.Name})
	if err != nil {
		return fmt.Errorf("failed to list the Ray clusters of %s: %w", rayJob, err)
	}
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if !cluster.DeletionTimestamp.IsZero() {
			continue
		}
		for index := range cluster.Spec.WorkerGroupSpecs {
			if name := cluster.Spec.WorkerGroupSpecs[index].GroupName; group == "" || group == name {
				pods, err := r.pods(ctx, client.ObjectKeyFromObject(cluster))
				if err != nil {
					return err
				}
				return r.patchGroup(ctx, cluster, index, replicas, surplus(pods.workers, name, replicas))
			}
		}
	}
	return fmt.Errorf("failed to resize %s: it has no Ray cluster with a group %q", rayJob, group)
}

// surplus names the youngest workers of a group beyond the first keep.
func surplus(workers []corev1.Pod, group string, keep int) []string {
	workers = slices.DeleteFunc(slices.Clone(workers), func(pod corev1.Pod) bool { return pod.Labels[utils.RayNodeGroupLabelKey] != group })
	slices.SortStableFunc(workers, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(len(a.Spec.SchedulingGates), len(b.Spec.SchedulingGates)))
	})
	var names []string
	for i := keep; i < len(workers); i++ {
		names = append(names, workers[i].Name)
	}
	return names
}

// driverOf is the part of the program that uses a group; nil if none does.
func (j *job) driverOf(group string) *simray.Driver {
	if driver := j.drivers[group]; driver != nil {
		return driver
	}
	return j.drivers[""]
}

func groupOf(spec *rayv1.WorkerGroupSpec, j *job, driver *simray.Driver, pods clusterPods) simray.Group {
	group := simray.Group{
		Min:      int(ptr.Deref(spec.MinReplicas, 0)),
		Max:      int(ptr.Deref(spec.MaxReplicas, 0)),
		Replicas: int(ptr.Deref(spec.Replicas, 0)),
	}
	for i := range pods.workers {
		pod := &pods.workers[i]
		// A worker that is about to be deleted is not there any more.
		if pod.Labels[utils.RayNodeGroupLabelKey] != spec.GroupName || slices.Contains(spec.ScaleStrategy.WorkersToDelete, pod.Name) {
			continue
		}
		worker := simray.Worker{Name: pod.Name, Ready: isReady(pod), UnreadySince: j.unready[pod.Name]}
		worker.IdleSince, _ = driver.IdleSince(pod.Name)
		group.Workers = append(group.Workers, worker)
	}
	return group
}

func idleTimeout(cluster *rayv1.RayCluster) time.Duration {
	if options := cluster.Spec.AutoscalerOptions; options != nil && options.IdleTimeoutSeconds != nil {
		return time.Duration(*options.IdleTimeoutSeconds) * time.Second
	}
	return defaultIdleTimeout
}

// removalsDone reports whether the list of workers to delete can be emptied.
// A name that stays there would delete nothing, but hides from a reader what
// is going on.
func removalsDone(toDelete []string, left []corev1.Pod) bool {
	return len(toDelete) > 0 && !slices.ContainsFunc(left, func(pod corev1.Pod) bool { return slices.Contains(toDelete, pod.Name) })
}

// patchGroup sets the size of a group and the workers to delete. The test of
// the old size rejects a decision that was taken on an old copy; the next
// round takes it anew.
func (r *Runtime) patchGroup(ctx context.Context, cluster *rayv1.RayCluster, index, replicas int, remove []string) error {
	path := fmt.Sprintf("/spec/workerGroupSpecs/%d", index)
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": path + "/replicas", "value": cluster.Spec.WorkerGroupSpecs[index].Replicas},
		{"op": "add", "path": path + "/replicas", "value": replicas},
		{"op": "add", "path": path + "/scaleStrategy", "value": rayv1.ScaleStrategy{WorkersToDelete: remove}},
	})
	if err != nil {
		return fmt.Errorf("failed to encode the patch of RayCluster %q: %w", cluster.Name, err)
	}
	err = r.client.Patch(ctx, cluster.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		r.log.V(1).Info("Scaling is out of date", "cluster", client.ObjectKeyFromObject(cluster), "reason", err.Error())
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to scale group %q to %d: %w", cluster.Spec.WorkerGroupSpecs[index].GroupName, replicas, err)
	}
	return nil
}
