// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// The clock of a Workload is on the Workload, so it doesn't matter which manager, or
// whether one, watches it run.
var _ = ginkgo.Describe("A window outlives the manager", ginkgo.Ordered, func() {
	const window = 5 * time.Second
	var f *fixture
	ginkgo.AfterEach(func() { f.remove() })

	ginkgo.It("when the manager restarts in the middle of it", func() {
		stop := startManager()
		f = newFixture()
		ray := f.create(f.rayJob("eval", recovery, window.String()))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		stop()

		stop = startManager()
		ginkgo.DeferCleanup(stop)
		evicted := ray.awaitEviction()
		expectOnTime(lost, evicted, window)
		gomega.Expect(evictions(ray.workload(gomega.Default))).
			To(gomega.Equal(map[kueue.EvictionUnderlyingCause]int32{kueue.WorkloadWaitForRecovery: 1}))
	})

	ginkgo.It("when the window ends while no manager runs", func() {
		stop := startManager()
		f = newFixture()
		ray := f.create(f.rayJob("eval", recovery, "1s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		stop()
		gomega.Eventually(time.Now, window).Should(gomega.BeTemporally(">", lost.LastTransitionTime.Add(2*time.Second)))

		stop = startManager()
		ginkgo.DeferCleanup(stop)
		expectOnTime(lost, ray.awaitEviction(), time.Second)
	})

	ginkgo.It("when another manager takes the lead in the middle of it", func() {
		// One webhook server has the port; the second takes it over.
		gone := make(chan struct{})
		stopFirst := startManager(withLeaderElection)
		f = newFixture()
		ray := f.create(f.rayJob("eval", recovery, window.String()))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		first := fwk
		second := *fwk
		fwk = &second
		stopSecond := startManager(withLeaderElection, func(o *manager.Options) {
			o.WebhookServer = &lateServer{Server: o.WebhookServer, after: gone}
		})
		ginkgo.DeferCleanup(func() { stopSecond(); fwk = first })

		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		fwk = first
		stopFirst()
		fwk = &second
		close(gone)

		evicted := ray.awaitEviction()
		expectOnTime(lost, evicted, window)
		gomega.Expect(evictions(ray.workload(gomega.Default))).
			To(gomega.Equal(map[kueue.EvictionUnderlyingCause]int32{kueue.WorkloadWaitForRecovery: 1}))
	})
})

func withLeaderElection(o *manager.Options) {
	o.LeaderElection = true
	o.LeaderElectionID = "readiness-recovery"
	o.LeaderElectionNamespace = "default"
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(3*time.Second), new(2*time.Second), new(200*time.Millisecond)
}

// lateServer serves webhooks from a moment on. Until then another server has its port.
type lateServer struct {
	webhook.Server
	after <-chan struct{}
}

// Start implements manager.Runnable.
func (s *lateServer) Start(ctx context.Context) error {
	select {
	case <-s.after:
		return s.Server.Start(ctx)
	case <-ctx.Done():
		return nil
	}
}

// StartedChecker implements webhook.Server. The manager doesn't wait for this one.
func (s *lateServer) StartedChecker() healthz.Checker { return healthz.Ping }
