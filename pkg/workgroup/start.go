// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/kueue/pkg/workload"
)

// start lets KubeRay begin once the head has been admitted.
func (r *Reconciler) start(ctx context.Context, snap *snapshot, plans []Plan) error {
	if snap.phase != JobHeld {
		return nil
	}
	for i := range snap.own {
		if snap.groups[i].Group.IsHead() && plans[i].Holder != nil && workload.IsAdmitted(plans[i].Holder) {
			before := snap.job.DeepCopy()
			snap.job.Spec.Suspend = false
			if err := r.client.Patch(ctx, snap.job, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
				return fmt.Errorf("failed to start RayJob %q: %w", snap.job.Name, err)
			}
			r.recorder.Eventf(snap.job, nil, corev1.EventTypeNormal, "Started", "Start", "The head is admitted, the job starts")
			return nil
		}
	}
	return nil
}

// submit lets KubeRay submit the job's program while groups wait for quota. KubeRay
// does so when all pods of a new cluster have been ready together once, which it
// notes as the cluster's state and never takes back. A group that is never admitted
// would keep the others' pods idle for ever; so the state is noted here when the head
// and all groups that were admitted run.
func (r *Reconciler) submit(ctx context.Context, snap *snapshot, statuses []Status) error {
	if snap.phase != JobActive || snap.cluster == nil ||
		snap.job.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusInitializing ||
		snap.cluster.Status.State == rayv1.Ready || //nolint:staticcheck // It is what KubeRay's RayJob reconciler goes by.
		!runsWithoutWaiting(statuses) {
		return nil
	}
	before := snap.cluster.DeepCopy()
	snap.cluster.Status.State = rayv1.Ready //nolint:staticcheck // See above.
	if err := r.client.Status().Patch(ctx, snap.cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("failed to call RayCluster %q ready: %w", snap.cluster.Name, err)
	}
	r.recorder.Eventf(snap.job, nil, corev1.EventTypeNormal, "ClusterReady", "Start",
		"The head and the admitted groups run: the program starts while others wait")
	return nil
}

// runsWithoutWaiting returns whether some groups wait, and all others run, the head
// among them.
func runsWithoutWaiting(statuses []Status) bool {
	head, waits := false, false
	for _, s := range statuses {
		switch s.State {
		case StateRunning:
			head = head || s.Group == HeadGroup
		case StateWaiting, StateDeactivated, StateGrowing:
			waits = true
		default:
			return false
		}
	}
	return head && waits
}
