// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kueueadapter connects readinessrecovery with the manager: with its
// Workload controller, its job reconcilers and its webhooks.
package kueueadapter

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kueueconfig "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/cmd/kueue/app"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/util/waitforpodsready"

	configapi "fleet.ai/kueue-fleet/apis/config/v1alpha1"
	fleetfeatures "fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// Name identifies the extension and the events that it records.
const Name = "fleet-readiness-recovery"

// Adapter is the extension that brings readinessrecovery into the manager. The
// manager reads its configuration and its gates after New; the methods that depend
// on them say so.
type Adapter struct {
	client    client.Client
	recorder  events.EventRecorder
	clock     clock.Clock
	maxWindow time.Duration
	cluster   readinessrecovery.Settings
	// registerer takes the metrics.
	registerer prometheus.Registerer
}

var (
	_ app.Extension                = (*Adapter)(nil)
	_ core.PodsReadyPolicy         = (*workloadPolicy)(nil)
	_ jobframework.ReadinessPolicy = (*jobPolicy)(nil)
)

// New returns an Adapter that does nothing until it is configured and set up.
func New() *Adapter {
	return &Adapter{registerer: ctrlmetrics.Registry}
}

// Configure sets what the FleetConfiguration says. It is called before the manager
// is made.
func (a *Adapter) Configure(cfg *configapi.ReadinessRecovery) {
	a.maxWindow = cfg.MaxWindow.Duration
}

// Options returns what the manager needs to know of the Adapter.
func (a *Adapter) Options() []app.Option {
	return []app.Option{
		app.WithExtension(a),
		app.WithManagerOptions(a.ChangeManager),
		app.WithPodsReadyPolicy(a.PodsReadyPolicy),
		app.WithJobOptions(a.JobOptions),
	}
}

// Name implements app.Extension.
func (a *Adapter) Name() string { return Name }

// Setup implements app.Extension.
func (a *Adapter) Setup(ctx context.Context, h app.Handles) error {
	a.client = h.Manager.GetClient()
	a.recorder = h.Manager.GetEventRecorder(Name)
	a.clock = h.Clock
	a.cluster = settingsOf(h.Config.WaitForPodsReady)
	if podReadinessOn() {
		if err := setupPodIndex(ctx, h.Manager.GetFieldIndexer()); err != nil {
			return err
		}
	}
	if recoveryOn() {
		if err := a.watchForMetrics(ctx, h.Manager); err != nil {
			return fmt.Errorf("failed to watch Workloads for metrics: %w", err)
		}
	}
	return nil
}

// PodsReadyPolicy returns the policy for the Workload controller, nil if the feature
// is off. The gates must be set.
func (a *Adapter) PodsReadyPolicy() core.PodsReadyPolicy {
	if !recoveryOn() {
		return nil
	}
	return &workloadPolicy{Adapter: a}
}

// JobOptions returns the options for the job reconcilers. The gates must be set.
func (a *Adapter) JobOptions() []jobframework.Option {
	if !recoveryOn() && !podReadinessOn() {
		return nil
	}
	return []jobframework.Option{jobframework.WithReadinessPolicy(&jobPolicy{Adapter: a})}
}

// ChangeManager puts the validation of annotations behind the webhooks of the
// manager that is made of opts. The gates must be set.
func (a *Adapter) ChangeManager(opts *manager.Options) {
	if recoveryOn() && opts.WebhookServer != nil {
		opts.WebhookServer = &validatingServer{Server: opts.WebhookServer, maxWindow: a.maxWindow}
	}
}

func recoveryOn() bool     { return features.Enabled(fleetfeatures.FleetReadinessRecovery) }
func podReadinessOn() bool { return features.Enabled(fleetfeatures.FleetRayPodReadiness) }

// settingsOf reads the cluster's settings from Kueue's configuration, after its
// defaulting.
func settingsOf(cfg *kueueconfig.WaitForPodsReady) readinessrecovery.Settings {
	if !waitforpodsready.Enabled(cfg) {
		return readinessrecovery.Settings{}
	}
	s := readinessrecovery.Settings{Start: cfg.Timeout.Duration}
	if cfg.RecoveryTimeout != nil {
		s.Recovery = cfg.RecoveryTimeout.Duration
	}
	if strategy := cfg.RequeuingStrategy; strategy != nil {
		s.Backoff = readinessrecovery.Backoff{
			Base:  time.Duration(ptr.Deref(strategy.BackoffBaseSeconds, 0)) * time.Second,
			Max:   time.Duration(ptr.Deref(strategy.BackoffMaxSeconds, 0)) * time.Second,
			Limit: strategy.BackoffLimitCount,
		}
	}
	return s
}
