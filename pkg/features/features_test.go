// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	kueuefeatures "sigs.k8s.io/kueue/pkg/features"
)

// Gates that Kueue's patches declare must be declared alike here, or the manager doesn't
// start.
func TestRegister(t *testing.T) {
	set := utilfeature.DefaultMutableFeatureGate
	if err := Register(set); err != nil {
		t.Fatal(err)
	}
	for _, gate := range []featuregate.Feature{kueuefeatures.FleetElasticConstrainedTopology} {
		if _, found := Gates()[gate]; !found {
			t.Errorf("%s is not among the fleet's gates", gate)
		}
		if set.Enabled(gate) {
			t.Errorf("%s is on by default", gate)
		}
	}
}
