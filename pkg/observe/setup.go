// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe tells Prometheus how the pods lie on the nodes and how jobs move:
// the metrics of the gate FleetMetrics. It only watches and reads what Kueue has in
// memory.
package observe

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"

	"fleet.ai/kueue-fleet/pkg/metrics"
)

// Name identifies the extension.
const Name = "fleet-observe"

// Options are the parts of the manager that are used.
type Options struct {
	Manager ctrl.Manager
	Cache   *schdcache.Cache
	Queues  *qcache.Manager
	Clock   clock.PassiveClock
	// Registerer takes the metrics.
	Registerer prometheus.Registerer
	// Groups adds the groups of RayJobs, which the manager must be able to watch.
	Groups bool
}

// Setup registers the metrics and what feeds them. It must be called before the
// manager starts.
func Setup(ctx context.Context, o Options) error {
	leads := leadership(o.Manager.Elected())
	packing := &packingCollector{usage: o.Cache, queues: o.Queues, leads: leads, clock: o.Clock}
	if err := o.Registerer.Register(packing); err != nil {
		return fmt.Errorf("failed to register the metrics of packing: %w", err)
	}
	resize, err := metrics.NewResize(o.Registerer)
	if err != nil {
		return fmt.Errorf("failed to register the metric of growing jobs: %w", err)
	}
	if err := watch(ctx, o.Manager, &kueue.Workload{}, resizeHandler(resize, leads)); err != nil {
		return err
	}
	if !o.Groups {
		return nil
	}
	groups := newGroupCollector(leads)
	if err := o.Registerer.Register(groups); err != nil {
		return fmt.Errorf("failed to register the metric of groups: %w", err)
	}
	return watch(ctx, o.Manager, &rayv1.RayJob{}, groups.handler())
}

func watch(ctx context.Context, mgr ctrl.Manager, obj client.Object, handler toolscache.ResourceEventHandler) error {
	informer, err := mgr.GetCache().GetInformer(ctx, obj)
	if err != nil {
		return fmt.Errorf("failed to watch %T: %w", obj, err)
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("failed to watch %T: %w", obj, err)
	}
	return nil
}

// leadership returns whether this manager leads, or needs no leader.
func leadership(elected <-chan struct{}) func() bool {
	return func() bool {
		select {
		case <-elected:
			return true
		default:
			return false
		}
	}
}
