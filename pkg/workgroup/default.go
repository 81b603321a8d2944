// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// gates are what holds pods back. Gates can't be added to a pod that exists, so the
// topology gate is there from the start; it is removed with ours from pods whose
// flavor has no topology, and otherwise by Kueue's topology ungater.
var gates = []string{SchedulingGate, kueue.TopologySchedulingGate}

// Default prepares a valid job that opted in, when it is created. It is suspended
// until its head has been admitted, so that the wait counts for no deadline.
func Default(job *rayv1.RayJob) {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, ManagedAnnotation, managedValue)
	delete(job.Annotations, StatusAnnotation)
	job.Spec.Suspend = true
	forEachTemplate(job.Spec.RayClusterSpec, gateTemplate)
}

// DefaultCluster prepares the cluster of a managed job: whatever became of the
// job's templates meanwhile, no pod of the cluster starts by itself.
func DefaultCluster(cluster *rayv1.RayCluster, jobName string) {
	// KubeRay copies the job's annotations; this one would never change again.
	delete(cluster.Annotations, StatusAnnotation)
	forEachTemplate(&cluster.Spec, func(template *corev1.PodTemplateSpec) {
		gateTemplate(template)
		metav1.SetMetaDataLabel(&template.ObjectMeta, JobLabel, jobName)
	})
}

func forEachTemplate(spec *rayv1.RayClusterSpec, f func(*corev1.PodTemplateSpec)) {
	f(&spec.HeadGroupSpec.Template)
	for i := range spec.WorkerGroupSpecs {
		f(&spec.WorkerGroupSpecs[i].Template)
	}
}

func gateTemplate(template *corev1.PodTemplateSpec) {
	for _, name := range gates {
		if !hasGate(template.Spec.SchedulingGates, name) {
			template.Spec.SchedulingGates = append(template.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		}
	}
}

func hasGate(gates []corev1.PodSchedulingGate, name string) bool {
	return slices.ContainsFunc(gates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == name })
}
