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

// ElasticConstrainedTopology lets the groups of elastic jobs ask for a required or a
// preferred topology and for multi-host replicas that stay whole, see
// docs/elastic-placement.md. The patched Kueue declares the same gate, since it acts on it.
const ElasticConstrainedTopology featuregate.Feature = "FleetElasticConstrainedTopology"

// Gates returns kueue-fleet's gates, with their defaults and stages. A gate's
// name starts with Fleet; it is added by the change that brings its behaviour.
func Gates() map[featuregate.Feature]featuregate.VersionedSpecs {
	return map[featuregate.Feature]featuregate.VersionedSpecs{
		ElasticConstrainedTopology: {
			{Version: version.MustParse("0.19"), Default: false, PreRelease: featuregate.Alpha},
		},
	}
}

// Register adds the gates to the set that the manager's command line reads.
func Register(set featuregate.MutableVersionedFeatureGate) error {
	if err := set.AddVersioned(Gates()); err != nil {
		return fmt.Errorf("failed to register the fleet feature gates: %w", err)
	}
	return nil
}
