// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"sigs.k8s.io/kueue/cmd/kueue/app"

	"fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/observe"
)

// observeExtension adds the metrics of packing and of moving jobs, behind its gate.
type observeExtension struct{}

func (observeExtension) Name() string { return observe.Name }

func (observeExtension) Setup(ctx context.Context, h app.Handles) error {
	if !utilfeature.DefaultFeatureGate.Enabled(features.FleetMetrics) {
		return nil
	}
	return observe.Setup(ctx, observe.Options{
		Manager: h.Manager, Cache: h.Cache, Queues: h.Queues, Clock: h.Clock,
		Registerer: ctrlmetrics.Registry, Groups: workgroupEnabled(),
	})
}
