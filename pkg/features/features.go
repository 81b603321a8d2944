// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package features declares kueue-fleet's feature gates. They are given as Kueue's
// own are: by --feature-gates, or under featureGates in its configuration.
package features

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
)

const (
	// FleetElasticConstrainedTopology lets the groups of elastic jobs ask for a
	// required or a preferred topology and for multi-host replicas that stay whole, see
	// docs/elastic-placement.md. The patched Kueue declares the same gate, since it
	// acts on it.
	FleetElasticConstrainedTopology featuregate.Feature = "FleetElasticConstrainedTopology"

	// FleetElasticFit lets the fit engine place the pods of topology-aware workloads,
	// see docs/elastic-fit.md.
	FleetElasticFit featuregate.Feature = "FleetElasticFit"

	// FleetMetrics adds metrics of packing and of growing jobs, see docs/metrics.md.
	FleetMetrics featuregate.Feature = "FleetMetrics"

	// FleetPromptAdmission acts at once on events that wait for a batch otherwise, see
	// docs/prompt-admission.md. The patched Kueue declares the same gate, since it acts
	// on it.
	FleetPromptAdmission featuregate.Feature = "FleetPromptAdmission"

	// FleetRayPodReadiness makes the readiness of Ray jobs that of their pods, see
	// docs/readiness-recovery.md.
	FleetRayPodReadiness featuregate.Feature = "FleetRayPodReadiness"

	// FleetReadinessRecovery lets jobs set their own start and recovery windows and
	// their own requeue backoff, see docs/readiness-recovery.md.
	FleetReadinessRecovery featuregate.Feature = "FleetReadinessRecovery"

	// FleetWorkgroup admits the head and the worker groups of a RayJob on their own, if
	// the job asks for it, see docs/workgroup.md.
	FleetWorkgroup featuregate.Feature = "FleetWorkgroup"
)

// Gates returns kueue-fleet's gates, with their defaults and stages. A gate's
// name starts with Fleet; it is added by the change that brings its behaviour.
func Gates() map[featuregate.Feature]featuregate.VersionedSpecs {
	alpha := featuregate.VersionedSpecs{
		{Version: version.MustParse("0.19"), Default: false, PreRelease: featuregate.Alpha},
	}
	return map[featuregate.Feature]featuregate.VersionedSpecs{
		FleetElasticConstrainedTopology: alpha,
		FleetElasticFit:                 alpha,
		FleetMetrics:                    alpha,
		FleetPromptAdmission:            alpha,
		FleetRayPodReadiness:            alpha,
		FleetReadinessRecovery:          alpha,
		FleetWorkgroup:                  alpha,
	}
}

// Register adds the gates to the set that the manager's command line reads.
func Register(set featuregate.MutableVersionedFeatureGate) error {
	if err := set.AddVersioned(Gates()); err != nil {
		return fmt.Errorf("failed to register the fleet feature gates: %w", err)
	}
	return nil
}
