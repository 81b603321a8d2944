// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utilpod "sigs.k8s.io/kueue/pkg/util/pod"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

// snapshot is a RayJob with all that belongs to it.
type snapshot struct {
	// job is nil when it is gone, or not managed here.
	job   *rayv1.RayJob
	phase JobPhase
	// cluster is nil when the job has none that will stay.
	cluster *rayv1.RayCluster
	// groups are those of the job, and behind them what is left of former jobs.
	groups []Observed
	// own is how many groups the job has.
	own int
}

func (s *snapshot) decide() []Plan {
	plans := make([]Plan, 0, len(s.groups))
	for i := range s.groups {
		plans = append(plans, Decide(s.groups[i]))
	}
	return plans
}

// checkAgain is when to look again without being told, 0 for never.
func (s *snapshot) checkAgain() time.Duration {
	for i := range s.groups {
		for _, pod := range s.groups[i].Pods.Held {
			if pod.DeletionTimestamp != nil {
				return lostPodCheck
			}
		}
	}
	return 0
}

// observe reads a job by the given reader; selector picks its pods and Workloads.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName, reader client.Reader, selector client.ListOption) (*snapshot, error) {
	s := &snapshot{phase: JobEnding}
	job := &rayv1.RayJob{}
	switch err := reader.Get(ctx, key, job); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, fmt.Errorf("failed to get RayJob %s: %w", key, err)
	case Managed(job):
		s.job, s.phase = job, phaseOf(job)
	}
	var workloads kueue.WorkloadList
	if err := reader.List(ctx, &workloads, client.InNamespace(key.Namespace), selector); err != nil {
		return nil, fmt.Errorf("failed to list the Workloads of RayJob %s: %w", key, err)
	}
	var pods corev1.PodList
	if err := reader.List(ctx, &pods, client.InNamespace(key.Namespace), selector); err != nil {
		return nil, fmt.Errorf("failed to list the pods of RayJob %s: %w", key, err)
	}
	lost := func(pod *corev1.Pod) bool { return r.isLost(ctx, pod) }

	uid := ""
	if s.job != nil {
		uid = string(s.job.UID)
		cluster, err := r.clusterOf(ctx, reader, s.job)
		if err != nil {
			return nil, err
		}
		s.cluster = cluster
		groups, err := GroupsOf(s.job, cluster)
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			o := Observed{
				Group: group, Phase: s.phase, Outcome: outcomeOf(s.job),
				BaseName: baseName(s.job.Name, s.job.UID, group.Name),
			}
			o.Workloads = workloadsOf(&workloads, uid, group.Name)
			o.Pods = sortPods(append(releasedPods(&pods, o.BaseName, o.Workloads), gatedPods(&pods, cluster, group)...), lost)
			s.groups = append(s.groups, o)
		}
	}
	s.own = len(s.groups)
	s.groups = append(s.groups, orphans(&workloads, &pods, uid, lost)...)
	return s, nil
}

// phaseOf says what the state of the job means for its groups.
func phaseOf(job *rayv1.RayJob) JobPhase {
	switch {
	case job.DeletionTimestamp != nil,
		rayv1.IsJobDeploymentTerminal(job.Status.JobDeploymentStatus),
		job.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed:
		return JobEnding
	case job.Spec.Suspend:
		return JobHeld
	default:
		return JobActive
	}
}

func outcomeOf(job *rayv1.RayJob) Outcome {
	switch {
	case rayv1.IsJobDeploymentTerminal(job.Status.JobDeploymentStatus) && job.Status.JobStatus == rayv1.JobStatusSucceeded:
		return Outcome{kueue.WorkloadFinishedReasonSucceeded, "The RayJob finished successfully"}
	case job.DeletionTimestamp != nil:
		return jobGone
	default:
		return Outcome{kueue.WorkloadFinishedReasonFailed, "The RayJob failed: " + job.Status.Message}
	}
}

var jobGone = Outcome{kueue.WorkloadFinishedReasonOwnerNotFound, "The RayJob is deleted"}

// clusterOf returns the job's cluster, nil if there is none that will stay.
func (r *Reconciler) clusterOf(ctx context.Context, reader client.Reader, job *rayv1.RayJob) (*rayv1.RayCluster, error) {
	if job.Status.RayClusterName == "" {
		return nil, nil
	}
	cluster := &rayv1.RayCluster{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: job.Namespace, Name: job.Status.RayClusterName}, cluster)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("failed to get RayCluster %q: %w", job.Status.RayClusterName, err)
	case cluster.DeletionTimestamp != nil || !ownedBy(cluster, string(job.UID)):
		return nil, nil
	}
	return cluster, nil
}

func workloadsOf(list *kueue.WorkloadList, uid, group string) []*kueue.Workload {
	var out []*kueue.Workload
	for i := range list.Items {
		if wl := &list.Items[i]; isGroupWorkload(wl) && ownedBy(wl, uid) && wl.Labels[GroupLabel] == group {
			out = append(out, wl)
		}
	}
	return out
}

// releasedPods are the pods that were released for the group, of whatever cluster:
// one that is being removed may still run beside its successor. They name the first
// Workload of their chain, which may be gone.
func releasedPods(list *corev1.PodList, base string, workloads []*kueue.Workload) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if utilpod.HasGate(pod, SchedulingGate) {
			continue
		}
		name := chainOf(pod)
		known := ordinal(base, name) > 0
		for _, wl := range workloads {
			known = known || name == workloadslicing.SliceName(wl)
		}
		if known {
			out = append(out, pod)
		}
	}
	return out
}

// chainOf is the chain that a released pod belongs to.
func chainOf(pod *corev1.Pod) string {
	if name := pod.Annotations[kueue.WorkloadSliceNameAnnotation]; name != "" {
		return name
	}
	return pod.Annotations[kueue.WorkloadAnnotation]
}

// gatedPods are the pods of the group that wait to be released, of the cluster that
// stays. Those that the autoscaler wants to be deleted are left to KubeRay.
func gatedPods(list *corev1.PodList, cluster *rayv1.RayCluster, group Group) []*corev1.Pod {
	if cluster == nil {
		return nil
	}
	doomed := map[string]bool{}
	for _, worker := range cluster.Spec.WorkerGroupSpecs {
		for _, name := range worker.ScaleStrategy.WorkersToDelete {
			doomed[name] = true
		}
	}
	var out []*corev1.Pod
	for i := range list.Items {
		pod := &list.Items[i]
		if utilpod.HasGate(pod, SchedulingGate) && !doomed[pod.Name] && ownedBy(pod, string(cluster.UID)) && inGroup(pod, group) {
			out = append(out, pod)
		}
	}
	return out
}

func inGroup(pod *corev1.Pod, group Group) bool {
	if isHead := pod.Labels[utils.RayNodeTypeLabelKey] == string(rayv1.HeadNode); isHead || group.IsHead() {
		return isHead && group.IsHead()
	}
	return pod.Labels[utils.RayNodeGroupLabelKey] == group.Name
}

// orphans are the groups of jobs that are gone, or were replaced by a job of the same
// name: their Workloads stay as long as pods need the quota.
func orphans(workloads *kueue.WorkloadList, pods *corev1.PodList, uid string, lost func(*corev1.Pod) bool) []Observed {
	index := map[string]int{}
	var out []Observed
	for i := range workloads.Items {
		wl := &workloads.Items[i]
		if !isGroupWorkload(wl) || uid != "" && ownedBy(wl, uid) {
			continue
		}
		chain := workloadslicing.SliceName(wl)
		at, known := index[chain]
		if !known {
			at = len(out)
			index[chain] = at
			out = append(out, Observed{
				Group: Group{Name: wl.Labels[GroupLabel]}, Phase: JobEnding, Outcome: jobGone, BaseName: chain,
			})
		}
		out[at].Workloads = append(out[at].Workloads, wl)
	}
	for i := range out {
		out[i].Pods = sortPods(releasedPods(pods, out[i].BaseName, out[i].Workloads), lost)
	}
	return out
}

// isLost returns whether a terminating pod is on a node that isn't ready: nobody
// knows whether it runs, and its end may never be reported.
func (r *Reconciler) isLost(ctx context.Context, pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	var node corev1.Node
	if err := r.client.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, &node); err != nil {
		// The pods of a node that is gone are removed by the garbage collector.
		return false
	}
	ready := utiltas.GetNodeCondition(&node, corev1.NodeReady)
	return ready != nil && ready.Status != corev1.ConditionTrue
}
