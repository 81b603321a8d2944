// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readinessrecovery tests readiness recovery on a real API server, with
// Kueue's controllers, scheduler and webhooks, and with fakeray in the place of
// KubeRay and the kubelets.
package readinessrecovery

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	componentconfig "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	kueueconfig "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/cmd/kueue/app"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/webhooks"
	"sigs.k8s.io/kueue/test/integration/framework"
	"sigs.k8s.io/kueue/test/util"

	configapi "fleet.ai/kueue-fleet/apis/config/v1alpha1"
	"fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/readinessrecovery/kueueadapter"
)

// The cluster's windows are short enough to wait for, and longer than those that
// the jobs of the tests ask for.
const (
	clusterStart    = 30 * time.Minute
	clusterRecovery = 20 * time.Second
)

var (
	cfg       *rest.Config
	k8sClient client.Client
	ctx       context.Context
	fwk       *framework.Framework
)

func TestReadinessRecovery(t *testing.T) {
	util.RunSuite(t, "Readiness recovery")
}

var _ = ginkgo.BeforeSuite(func() {
	if os.Getenv("PROJECT_DIR") == "" {
		ginkgo.Fail("PROJECT_DIR must name a file in the folder of the patched Kueue: run make test-integration")
	}
	gomega.Expect(features.Register(utilfeature.DefaultMutableFeatureGate)).To(gomega.Succeed())
	gomega.Expect(utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.FleetReadinessRecovery): true,
		string(features.FleetRayPodReadiness):   true,
	})).To(gomega.Succeed())

	fwk = &framework.Framework{
		DepCRDPaths: []string{util.RayOperatorCrds},
		WebhookPath: util.WebhookPath,
	}
	cfg = fwk.Init()
	ctx, k8sClient = fwk.SetupClient(cfg) //nolint:fatcontext // It is the suite's.
})

var _ = ginkgo.AfterSuite(func() {
	fwk.Teardown()
})

// configuration is Kueue's, with backoffs that can be waited for.
func configuration() *kueueconfig.Configuration {
	return &kueueconfig.Configuration{
		ControllerManager: kueueconfig.ControllerManager{LeaderElection: &componentconfig.LeaderElectionConfiguration{
			LeaderElect: new(true),
			// A new leader that waited for so long would fail the tests.
			LeaseDuration: metav1.Duration{Duration: time.Hour},
		}},
		WaitForPodsReady: &kueueconfig.WaitForPodsReady{
			Timeout:         metav1.Duration{Duration: clusterStart},
			RecoveryTimeout: &metav1.Duration{Duration: clusterRecovery},
			RequeuingStrategy: &kueueconfig.RequeuingStrategy{
				BackoffBaseSeconds: new(int32(1)),
				BackoffMaxSeconds:  new(int32(60)),
			},
		},
	}
}

// startManager starts a manager that can be stopped alone. It is wired as the program
// is, apart from what the program has besides.
func startManager(opts ...framework.ManagerOption) (stop func()) {
	managerCtx, cancel := context.WithCancel(ctx)
	adapter := kueueadapter.New()
	adapter.Configure(&configapi.ReadinessRecovery{MaxWindow: &metav1.Duration{Duration: 2 * time.Hour}})
	opts = append(opts, adapter.ChangeManager)
	fwk.StartManager(managerCtx, cfg, managerSetup(adapter), opts...)
	return func() {
		fwk.StopManager(ctx)
		cancel()
	}
}

func managerSetup(adapter *kueueadapter.Adapter) framework.ManagerSetup {
	return func(ctx context.Context, mgr manager.Manager) {
		configuration := configuration()
		mgr.GetScheme().Default(configuration)
		gomega.Expect(indexer.Setup(ctx, mgr.GetFieldIndexer())).To(gomega.Succeed())

		cache := schdcache.New(mgr.GetClient())
		expectations := preemptexpectations.New()
		queues := util.NewManagerForIntegrationTests(ctx, mgr.GetClient(), cache, qcache.WithPreemptionExpectations(expectations))
		failed, err := core.SetupControllers(mgr, queues, cache, configuration, core.SetupControllersOpts{
			PreemptionExpectations: expectations,
			PodsReadyPolicy:        adapter.PodsReadyPolicy(),
		})
		gomega.Expect(err).ToNot(gomega.HaveOccurred(), "controller", failed)
		failed, err = webhooks.Setup(mgr, nil)
		gomega.Expect(err).ToNot(gomega.HaveOccurred(), "webhook", failed)

		options := append([]jobframework.Option{
			jobframework.WithWaitForPodsReady(configuration.WaitForPodsReady),
			jobframework.WithEnabledFrameworks([]string{
				"batch/job", "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice", "pod", "deployment", "statefulset",
			}),
			jobframework.WithManagerName(constants.KueueName),
			jobframework.WithManagedJobsNamespaceSelector(labels.Everything()),
			jobframework.WithCache(cache),
			jobframework.WithQueues(queues),
		}, adapter.JobOptions()...)
		gomega.Expect(jobframework.SetupIndexes(ctx, mgr.GetFieldIndexer(), options...)).To(gomega.Succeed())
		gomega.Expect(jobframework.SetupControllers(ctx, mgr, ctrl.Log.WithName("setup"), options...)).To(gomega.Succeed())

		gomega.Expect(adapter.Setup(ctx, app.Handles{
			Manager: mgr, Cache: cache, Queues: queues, Config: configuration, Clock: clock.RealClock{},
		})).To(gomega.Succeed())

		go queues.CleanUpOnContext(ctx)
		go cache.CleanUpOnContext(ctx)
		gomega.Expect(mgr.Add(scheduler.New(queues, cache, mgr.GetClient(), mgr.GetEventRecorder(constants.AdmissionName),
			scheduler.WithPreemptionExpectations(expectations)))).To(gomega.Succeed())
	}
}
