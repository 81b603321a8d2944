// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	ctrl "sigs.k8s.io/controller-runtime"

	"fleet.ai/kueue-fleet/pkg/features"
)

// rayConcurrency is how many objects of a Ray kind are worked on at once with
// FleetPromptAdmission: as many as Kueue's manifests configure for Jobs and for Pods.
// They leave Ray out, so that one job's writes wait for those of all others.
const rayConcurrency = 5

var rayKinds = [...]string{"RayCluster.ray.io", "RayJob.ray.io", "RayService.ray.io"}

// letRayJobsRunSideBySide sets the concurrency of the Ray kinds that the
// configuration doesn't name.
func letRayJobsRunSideBySide(o *ctrl.Options) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.FleetPromptAdmission) {
		return
	}
	concurrency := maps.Clone(o.Controller.GroupKindConcurrency)
	if concurrency == nil {
		concurrency = make(map[string]int)
	}
	for _, kind := range rayKinds {
		if _, configured := concurrency[kind]; !configured {
			concurrency[kind] = rayConcurrency
		}
	}
	o.Controller.GroupKindConcurrency = concurrency
}
