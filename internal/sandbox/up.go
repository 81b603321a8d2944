// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/cluster"
	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/kuberay"
	"fleet.ai/kueue-fleet/internal/sandbox/manager"
	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/simruntime"
)

// rayCRDFiles are the definitions that KubeRay's reconcilers here work on.
var rayCRDFiles = []string{"ray.io_rayclusters.yaml", "ray.io_rayjobs.yaml"}

// rayVersion is the only API version that is installed; the older one is a
// second copy of a very large schema.
const rayVersion = "v1"

// up starts everything, in the order that the parts need: the definitions
// before the controllers that watch them, the webhook configurations before
// the manager, the manager before the objects it must admit.
func (s *Sandbox) up(p prepared) error {
	if err := s.openLog(); err != nil {
		return err
	}
	s.opts.logf("sandbox %s", s.ID())
	now := s.opts.Clock.Now()
	set := s.dir.Record.Ports
	var err error
	s.cluster, err = cluster.New(s.dir.Path("cluster"), set, p.binaries, s.sup, s.opts.clusterSettings(), now, manager.Account)
	if err != nil {
		return err
	}
	settings, err := s.opts.managerSettings(p.fleetManager)
	if err != nil {
		return err
	}
	s.gates, s.isFleet = settings.Gates, p.fleetManager
	s.manager, err = manager.New(s.dir.Path("manager"), set, settings, now)
	if err != nil {
		return err
	}
	s.rest = s.cluster.RESTConfig(userAgent)

	var objects installation
	group, ctx := errgroup.WithContext(s.ctx)
	group.Go(func() error {
		startErr := s.cluster.StartAPIServer(ctx)
		if startErr == nil {
			s.step("API server is ready")
		}
		return startErr
	})
	group.Go(func() (err error) {
		objects, err = s.render(p.rayCRDs)
		return err
	})
	if err = group.Wait(); err != nil {
		return err
	}
	applier, err := manifests.NewApplier(s.rest)
	if err != nil {
		return err
	}
	if err := s.install(applier, objects); err != nil {
		return err
	}
	if err := s.startControllers(); err != nil {
		return err
	}
	if err := s.openQueues(applier, objects.nodes); err != nil {
		return err
	}
	s.readyTime = s.opts.Clock.Since(s.started)
	shape := s.opts.shape()
	s.step("ready: %d nodes with %d GPUs; %s", len(objects.nodes), shape.GPUNodes*shape.GPUsPerNode, s.memory())
	return nil
}

// installation is what is created before any controller runs.
type installation struct {
	namespaces, crds, others, nodes []*unstructured.Unstructured
}

func (s *Sandbox) render(rayCRDs string) (installation, error) {
	var in installation
	kueueObjects, err := manifests.RenderKustomization(s.opts.kustomization())
	if err != nil {
		return in, err
	}
	kueueObjects, err = manifests.AdaptKueue(kueueObjects, manifests.Webhooks{
		Port: s.dir.Record.Ports[ports.ManagerWebhook], CACert: s.manager.CACert(),
	})
	if err != nil {
		return in, err
	}
	rayObjects, err := manifests.ReadFiles(rayCRDs, rayCRDFiles...)
	if err != nil {
		return in, err
	}
	for _, crd := range rayObjects {
		if err = manifests.KeepVersions(crd, rayVersion); err != nil {
			return in, err
		}
		manifests.SlimCRD(crd)
	}
	own, err := fleet.Unstructured(append(append(s.manager.Objects(), fleet.Priorities()...),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fleet.Namespace}})...)
	if err != nil {
		return in, err
	}
	for _, object := range append(append(kueueObjects, rayObjects...), own...) {
		switch object.GetKind() {
		case "Namespace":
			in.namespaces = append(in.namespaces, object)
		case "CustomResourceDefinition":
			in.crds = append(in.crds, object)
		default:
			in.others = append(in.others, object)
		}
	}
	in.nodes, err = fleet.Unstructured(fleet.Nodes(s.opts.shape())...)
	return in, err
}

func (s *Sandbox) install(applier *manifests.Applier, in installation) error {
	if err := applier.Create(s.ctx, in.namespaces...); err != nil {
		return err
	}
	// The definitions take longest, so they go first.
	if err := applier.Create(s.ctx, append(append(append([]*unstructured.Unstructured{}, in.crds...), in.others...), in.nodes...)...); err != nil {
		return err
	}
	if err := applier.WaitFor(s.ctx, manifests.HasCondition("Established"), in.crds...); err != nil {
		return err
	}
	s.step("%d custom resource definitions and %d other objects are installed", len(in.crds), len(in.namespaces)+len(in.others))
	return nil
}

// startControllers starts all that works on objects: the control plane's
// controllers, the queue manager and KubeRay.
func (s *Sandbox) startControllers() error {
	if err := s.startManager(); err != nil {
		return err
	}
	if err := s.cluster.StartControllers(); err != nil {
		return err
	}
	ray, err := kuberay.NewManager(s.rest, s.opts.Log.logger, kueue.AddToScheme)
	if err != nil {
		return err
	}
	s.runtime = simruntime.New(ray.GetClient(), s.ledger, clock.RealClock{}, s.opts.Log.logger.WithName("simulated-ray"))
	if err := kuberay.AddReconcilers(s.ctx, ray, simruntime.NewProvider(s.runtime)); err != nil {
		return err
	}
	if err := ray.Add(s.runtime); err != nil {
		return fmt.Errorf("failed to add the simulated Ray runtime: %w", err)
	}
	s.ray = ray
	go func() {
		defer close(s.rayDone)
		if err := ray.Start(s.ctx); err != nil {
			s.cancel(fmt.Errorf("KubeRay's reconcilers ended: %w", err))
		}
	}()
	return nil
}

func (s *Sandbox) startManager() error {
	return s.sup.Start(s.manager.Spec(s.opts.ManagerBinary, s.cluster.Kubeconfig(manager.Account.Name)))
}

// restartManager kills the queue manager, starts it again after a while, and
// returns when it is ready.
func (s *Sandbox) restartManager(ctx context.Context, downFor time.Duration) error {
	if err := s.sup.Kill(ctx, manager.Name); err != nil {
		return err
	}
	select {
	case <-s.opts.Clock.After(downFor):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.startManager(); err != nil {
		return err
	}
	return cluster.WaitHTTP(ctx, s.manager.ReadyURL(), "", nil)
}

// openQueues waits for the manager and the nodes and creates the queue.
func (s *Sandbox) openQueues(applier *manifests.Applier, nodes []*unstructured.Unstructured) error {
	if err := cluster.WaitHTTP(s.ctx, s.manager.ReadyURL(), "", nil); err != nil {
		return err
	}
	s.step("queue manager is ready")
	queues, err := fleet.Unstructured(fleet.Queues(s.opts.shape(), s.opts.Scenario.FleetQueues()...)...)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(s.ctx)
	for _, object := range queues {
		group.Go(func() error {
			_, err := applier.CreateRetrying(ctx, object)
			return err
		})
	}
	group.Go(func() error { return applier.WaitFor(ctx, fleet.TakesPods, nodes...) })
	if err := group.Wait(); err != nil {
		return err
	}
	for _, object := range queues {
		if kind := object.GetKind(); kind == "ClusterQueue" || kind == "LocalQueue" {
			if err := applier.WaitFor(s.ctx, manifests.HasCondition(kueue.ClusterQueueActive), object); err != nil {
				return err
			}
		}
	}
	if !s.ray.GetCache().WaitForCacheSync(s.ctx) {
		return fmt.Errorf("failed to wait for KubeRay's caches: %w", context.Cause(s.ctx))
	}
	return nil
}
