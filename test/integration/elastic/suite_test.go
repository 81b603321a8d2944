// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elastic runs elastic jobs through a real API server, Kueue's controllers,
// webhooks and scheduler, and KubeRay's RayCluster reconciler. Nodes are simulated.
package elastic

import (
	"context"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/elasticjobs"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/controller/jobs/raycluster"
	"sigs.k8s.io/kueue/pkg/controller/tas"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/webhook"
	"sigs.k8s.io/kueue/pkg/webhooks"
	"sigs.k8s.io/kueue/test/integration/framework"
	"sigs.k8s.io/kueue/test/util"

	"fleet.ai/kueue-fleet/internal/sandbox/kuberay"
)

var (
	config    *rest.Config
	k8sClient client.Client
	suiteCtx  context.Context
	fwk       *framework.Framework
)

func TestElastic(t *testing.T) {
	util.RunSuite(t, "Elastic jobs")
}

var _ = ginkgo.BeforeSuite(func() {
	if os.Getenv("PROJECT_DIR") == "" {
		ginkgo.Fail("PROJECT_DIR must name a file in the folder of the patched Kueue: run make test-integration")
	}
	fwk = &framework.Framework{
		DepCRDPaths: []string{util.RayOperatorCrds},
		WebhookPath: util.WebhookPath,
	}
	config = fwk.Init()
	suiteCtx, k8sClient = fwk.SetupClient(config) //nolint:fatcontext // It is the suite's.

	// One for all specs: the names of its controllers are unique in a process.
	rayCtx, cancel := context.WithCancel(suiteCtx)
	done := startKubeRay(rayCtx)
	ginkgo.DeferCleanup(func() {
		cancel()
		<-done
	})
})

var _ = ginkgo.AfterSuite(func() {
	gomega.Expect(guardLooks).To(gomega.BeNumerically(">", 0), "looks at the invariants")
	fwk.Teardown()
})

// setupKueue adds what the manager of a cluster with elastic Ray clusters and Jobs has.
func setupKueue(ctx context.Context, mgr manager.Manager) {
	must := func(err error) { gomega.Expect(err).NotTo(gomega.HaveOccurred()) }
	cfg := &configapi.Configuration{}
	mgr.GetScheme().Default(cfg)

	must(indexer.Setup(ctx, mgr.GetFieldIndexer()))
	must(tasindexer.SetupIndexes(ctx, mgr.GetFieldIndexer()))
	_, err := webhooks.Setup(mgr, nil)
	must(err)
	must(webhook.SetupNoopWebhook(mgr, &corev1.Pod{}))

	cache := schdcache.New(mgr.GetClient())
	issued := preemptexpectations.New()
	queues := util.NewManagerForIntegrationTests(ctx, mgr.GetClient(), cache, qcache.WithPreemptionExpectations(issued))
	_, err = core.SetupControllers(mgr, queues, cache, cfg, core.SetupControllersOpts{PreemptionExpectations: issued})
	must(err)
	_, err = tas.SetupControllers(mgr, queues, cache, cfg, nil)
	must(err)
	_, err = elasticjobs.SetupWithManager(mgr, cfg, nil)
	must(err)

	options := []jobframework.Option{jobframework.WithQueues(queues), jobframework.WithCache(cache)}
	recorder := mgr.GetEventRecorder(constants.JobControllerName)
	must(raycluster.SetupIndexes(ctx, mgr.GetFieldIndexer()))
	clusters, err := raycluster.NewReconciler(ctx, mgr.GetClient(), mgr.GetFieldIndexer(), recorder, options...)
	must(err)
	must(clusters.SetupWithManager(mgr))
	must(raycluster.SetupRayClusterWebhook(mgr, options...))
	must(job.SetupIndexes(ctx, mgr.GetFieldIndexer()))
	jobs, err := job.NewReconciler(ctx, mgr.GetClient(), mgr.GetFieldIndexer(), recorder, options...)
	must(err)
	must(jobs.SetupWithManager(mgr))
	must(job.SetupWebhook(mgr, options...))

	must(scheduler.New(queues, cache, mgr.GetClient(), mgr.GetEventRecorder(constants.AdmissionName),
		scheduler.WithPreemptionExpectations(issued)).Start(ctx))
}

// startKubeRay runs KubeRay's RayCluster reconciler until the context ends, and returns
// what to wait for then.
func startKubeRay(ctx context.Context) <-chan struct{} {
	mgr, err := kuberay.NewManager(config, ginkgo.GinkgoLogr.WithName("kuberay"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	gomega.Expect(ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{}).SetupWithManager(mgr, 1)).To(gomega.Succeed())
	done := make(chan struct{})
	go func() {
		defer ginkgo.GinkgoRecover()
		defer close(done)
		gomega.Expect(mgr.Start(ctx)).To(gomega.Succeed())
	}()
	return done
}
