// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobs/raycluster"
)

// Group is the head or a worker group of a RayJob, as it should be now.
type Group struct {
	// Name is the PodSet's name: HeadGroup, or the worker group's.
	Name string
	// PodSet has the pods' template as it is when they are released, and how many
	// there should be.
	PodSet kueue.PodSet
	// PriorityClass is a WorkloadPriorityClass.
	PriorityClass string
	// Elastic groups change their size; the others are admitted as a gang.
	Elastic bool
}

// Desired is how many pods the group should have.
func (g Group) Desired() int32 { return g.PodSet.Count }

// IsHead tells the head's group from worker groups.
func (g Group) IsHead() bool { return g.Name == HeadGroup }

// GroupsOf returns the groups of a job, head first. Templates are those of the job;
// counts are those of the cluster when there is one, because that is where the
// autoscaler writes, and where KubeRay looks.
func GroupsOf(job *rayv1.RayJob, cluster *rayv1.RayCluster) ([]Group, error) {
	if job.Spec.RayClusterSpec == nil {
		return nil, fmt.Errorf("failed to read the groups of RayJob %q: it has no rayClusterSpec", job.Name)
	}
	spec := job.Spec.RayClusterSpec
	podSets, err := raycluster.BuildPodSets(spec, job.Annotations)
	if err != nil {
		return nil, fmt.Errorf("failed to build the PodSets of RayJob %q: %w", job.Name, err)
	}
	groups := make([]Group, 0, len(podSets))
	for i := range podSets {
		ungate(&podSets[i].Template)
		group := Group{
			Name: string(podSets[i].Name), PodSet: podSets[i],
			PriorityClass: podSets[i].Template.Annotations[PriorityClassAnnotation],
		}
		// The head comes first, then the worker groups in their order.
		if i > 0 {
			worker := &spec.WorkerGroupSpecs[i-1]
			group.Elastic = isElastic(worker)
			group.PodSet.Count = desiredPods(worker, cluster)
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// isElastic returns whether the group may change its size. Validation has seen to
// it that a group whose bounds are equal starts with that many replicas.
func isElastic(worker *rayv1.WorkerGroupSpec) bool {
	return minReplicas(worker) != maxReplicas(worker)
}

func desiredPods(worker *rayv1.WorkerGroupSpec, cluster *rayv1.RayCluster) int32 {
	current := *worker
	if cluster != nil {
		for _, w := range cluster.Spec.WorkerGroupSpecs {
			if w.GroupName == worker.GroupName {
				current = w
			}
		}
	}
	current.NumOfHosts = max(1, current.NumOfHosts)
	return utils.GetWorkerGroupDesiredReplicas(current)
}

// ungate takes out of a template what Default and DefaultCluster put in, so that
// the Workload shows the pods as they are when they are released.
func ungate(template *corev1.PodTemplateSpec) {
	template.Spec.SchedulingGates = slices.DeleteFunc(template.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool {
		return gate.Name == SchedulingGate || gate.Name == kueue.TopologySchedulingGate
	})
	if len(template.Spec.SchedulingGates) == 0 {
		template.Spec.SchedulingGates = nil
	}
	delete(template.Labels, JobLabel)
}
