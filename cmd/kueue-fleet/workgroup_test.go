// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"sigs.k8s.io/kueue/cmd/kueue/app"

	"fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

// With its gate off, the extension touches nothing of the manager: here there is none.
func TestWorkgroupIsOffByDefault(t *testing.T) {
	if err := features.Register(utilfeature.DefaultMutableFeatureGate); err != nil {
		t.Fatal(err)
	}
	if workgroupEnabled() {
		t.Fatal("the gate is on by default")
	}
	if err := (workgroupExtension{claimer: workgroup.NewClaimer()}).Setup(t.Context(), app.Handles{}); err != nil {
		t.Errorf("Setup() error = %v", err)
	}
}

// The metrics behind their gate touch nothing of the manager either.
func TestObserveIsOffByDefault(t *testing.T) {
	if err := features.Register(utilfeature.DefaultMutableFeatureGate); err != nil {
		t.Fatal(err)
	}
	if err := (observeExtension{}).Setup(t.Context(), app.Handles{}); err != nil {
		t.Errorf("Setup() error = %v", err)
	}
}
