// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/test/util"
)

// The tests of this file compare the clock of the machine with the stored times. That
// nothing comes early is asserted; how late it comes is reported.
var _ = ginkgo.Describe("A window is exact", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
	var (
		f    *fixture
		stop func()
	)
	ginkgo.BeforeAll(func() { stop = startManager() })
	ginkgo.AfterAll(func() { stop() })
	ginkgo.BeforeEach(func() { f = newFixture() })
	ginkgo.AfterEach(func() { f.remove() })

	ginkgo.DescribeTable("when a worker is lost in it",
		func(window time.Duration) {
			ray := f.create(f.rayJob("eval", recovery, window.String()))
			ray.start()
			ray.awaitReadiness(kueue.WorkloadStarted)

			ray.setReady("worker-0", corev1.ConditionFalse)
			told := time.Now()
			var lost metav1.Condition
			seen := firstTime(func(g gomega.Gomega) {
				found := apimeta.FindStatusCondition(ray.workload(g).Status.Conditions, kueue.WorkloadPodsReady)
				g.Expect(found.Reason).To(gomega.Equal(kueue.WorkloadWaitForRecovery))
				lost = *found
			})
			evicted := firstTime(func(g gomega.Gomega) {
				g.Expect(apimeta.IsStatusConditionTrue(ray.workload(g).Status.Conditions, kueue.WorkloadEvicted)).To(gomega.BeTrue())
			})
			expires := lost.LastTransitionTime.Add(window)
			gomega.Expect(evicted).To(gomega.BeTemporally(">=", expires), "evicted before the window was over")
			gomega.Expect(evictions(ray.workload(gomega.Default))).To(gomega.Equal(map[kueue.EvictionUnderlyingCause]int32{kueue.WorkloadWaitForRecovery: 1}))
			ginkgo.AddReportEntry("exactness", fmt.Sprintf("window %s: loss seen after %d ms, evicted %d ms after the stored time plus the window",
				window, seen.Sub(told).Milliseconds(), evicted.Sub(expires).Milliseconds()), ginkgo.ReportEntryVisibilityAlways)
		},
		ginkgo.Entry("one second", time.Second),
		ginkgo.Entry("a part of a second more", 1500*time.Millisecond),
		ginkgo.Entry("two seconds", 2*time.Second),
		ginkgo.Entry("five seconds", 5*time.Second),
	)

	ginkgo.It("for a job whose node has failed", func() {
		ray := f.create(f.rayJob("eval", recovery, "2s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionUnknown)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		gomega.Eventually(func(g gomega.Gomega) {
			wl := ray.workload(g)
			wl.Status.UnhealthyNodes = []kueue.UnhealthyNode{{Name: "x1"}}
			g.Expect(k8sClient.Status().Update(ctx, wl)).To(gomega.Succeed())
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		expectOnTime(lost, ray.awaitEviction(), 2*time.Second)
	})
})

// firstTime returns when the condition was first found to hold.
func firstTime(condition func(gomega.Gomega)) time.Time {
	ginkgo.GinkgoHelper()
	gomega.Eventually(condition, util.MediumTimeout, 5*time.Millisecond).Should(gomega.Succeed())
	return time.Now()
}
