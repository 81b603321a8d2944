// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simruntime

import (
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

// scale lets the autoscaler decide about each worker group of a cluster. The
// model has one kind of work, so each group sees all of the demand.
func (r *Runtime) scale(ctx context.Context, now time.Time, name types.NamespacedName, driver *simray.Driver, pods clusterPods) error {
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
		group := groupOf(spec, driver, pods)
		if scaling, ok := simray.Scale(now, group, driver.Demand(), idleTimeout(&cluster)); ok {
			errs = append(errs, r.patchGroup(ctx, &cluster, i, scaling.Replicas, scaling.Remove))
			continue
		}
		if removalsDone(spec.ScaleStrategy.WorkersToDelete, pods.workers) {
			errs = append(errs, r.patchGroup(ctx, &cluster, i, group.Replicas, nil))
		}
	}
	return errors.Join(errs...)
}

func groupOf(spec *rayv1.WorkerGroupSpec, driver *simray.Driver, pods clusterPods) simray.Group {
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
		worker := simray.Worker{Name: pod.Name, Ready: isReady(pod)}
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
