// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"fleet.ai/kueue-fleet/pkg/features"
)

func TestTopologyFitFollowsItsGate(t *testing.T) {
	if err := features.Register(utilfeature.DefaultMutableFeatureGate); err != nil {
		t.Fatalf("Failed to register the gates: %v", err)
	}
	if fit := topologyFit(); fit != nil {
		t.Errorf("The gate is off, but there is a TopologyFit: %T", fit)
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.FleetElasticFit, true)
	if fit := topologyFit(); fit == nil {
		t.Error("The gate is on, but there is no TopologyFit")
	}
}
