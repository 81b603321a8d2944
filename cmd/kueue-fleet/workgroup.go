// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"sigs.k8s.io/kueue/cmd/kueue/app"

	"fleet.ai/kueue-fleet/pkg/features"
	readinessadapter "fleet.ai/kueue-fleet/pkg/readinessrecovery/kueueadapter"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

func workgroupEnabled() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.FleetWorkgroup)
}

// workgroupExtension admits the groups of RayJobs on their own, behind its gate.
type workgroupExtension struct {
	claimer *workgroup.Claimer
	// readiness judges the groups if its own gate is on too.
	readiness *readinessadapter.Adapter
}

func (workgroupExtension) Name() string { return workgroup.Name }

func (e workgroupExtension) Setup(ctx context.Context, h app.Handles) error {
	if !workgroupEnabled() {
		return nil
	}
	return workgroup.Setup(ctx, workgroup.Options{
		Manager: h.Manager, Config: h.Config, Clock: h.Clock, Claimer: e.claimer, Readiness: e.readiness.GroupReadiness(),
	})
}
