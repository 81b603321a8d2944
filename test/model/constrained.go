// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// constrain lets two in three jobs ask for a rack, if the setup says so: one requires it,
// one prefers it.
func (w *world) constrain(job *rayv1.RayCluster, value int) {
	if !w.setup.constrained || value%3 == 0 {
		return
	}
	annotation := kueue.PodSetRequiredTopologyAnnotation
	if value%3 == 1 {
		annotation = kueue.PodSetPreferredTopologyAnnotation
	}
	for i := range job.Spec.WorkerGroupSpecs {
		annotations := job.Spec.WorkerGroupSpecs[i].Template.Annotations
		delete(annotations, kueue.PodSetUnconstrainedTopologyAnnotation)
		annotations[annotation] = rackLabel
	}
}
