// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/test/util"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

var _ = ginkgo.Describe("Growth of elastic Ray jobs", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
	var (
		f    *fixture
		stop func()
	)
	ginkgo.BeforeAll(func() { stop = startManager() })
	ginkgo.AfterAll(func() { stop() })
	ginkgo.BeforeEach(func() { f = newFixture() })
	ginkgo.AfterEach(func() { f.remove() })

	ginkgo.It("gives the start window to its own pods, and to them only", func() {
		ray := f.create(f.elasticRayJob("eval", recovery, "2s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)

		ray.grow(2)
		ray.awaitAdmitted(2)
		gomega.Expect(ray.awaitReadiness(kueue.WorkloadWaitForStart).Message).To(gomega.HaveSuffix("start window 30m, the cluster default"))
		ray.expectNoEviction(4 * time.Second)
		ray.setReady("worker-1", corev1.ConditionTrue)
		ray.awaitReadiness(kueue.WorkloadStarted)

		ray.grow(3)
		ray.awaitAdmitted(3)
		ray.awaitReadiness(kueue.WorkloadWaitForStart)
		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		expectOnTime(lost, ray.awaitEviction(), 2*time.Second)
	})

	ginkgo.It("takes a running recovery clock over", func() {
		ray := f.create(f.elasticRayJob("eval", recovery, "8s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		first := ray.workload(gomega.Default).Name

		ray.grow(2)
		ray.awaitAdmitted(2)
		gomega.Expect(ray.workload(gomega.Default).Name).ToNot(gomega.Equal(first))
		inherited := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		gomega.Expect(inherited.LastTransitionTime.Time).To(gomega.BeTemporally("==", lost.LastTransitionTime.Time))
		expectOnTime(lost, ray.awaitEviction(), 8*time.Second)
	})

	ginkgo.It("has its start clock taken over by the next growth", func() {
		ray := f.create(f.elasticRayJob("eval", readinessrecovery.StartupTimeoutAnnotation, "6s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.grow(2)
		ray.awaitAdmitted(2)
		ray.awaitReadiness(kueue.WorkloadWaitForStart)
		admitted := *apimeta.FindStatusCondition(ray.workload(gomega.Default).Status.Conditions, kueue.WorkloadAdmitted)
		// The second growth comes some seconds later, and is ready at once.
		gomega.Eventually(time.Now, util.Timeout).Should(gomega.BeTemporally(">", admitted.LastTransitionTime.Add(3*time.Second)))
		ray.grow(3)
		ray.awaitAdmitted(3)
		evicted := ray.awaitEviction()
		expectOnTime(admitted, evicted, 6*time.Second)
		later := apimeta.FindStatusCondition(ray.workload(gomega.Default).Status.Conditions, kueue.WorkloadAdmitted)
		gomega.Expect(evicted.LastTransitionTime.Time).To(gomega.BeTemporally("<", later.LastTransitionTime.Add(6*time.Second)),
			"the second growth has started the clock anew")
	})

	ginkgo.It("doesn't hide a loss while it waits for quota", func() {
		ray := f.create(f.elasticRayJob("eval", recovery, "3s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		blocker := utiltestingapi.MakeWorkload("blocker", f.ns.Name).Queue(kueue.LocalQueueName(f.lq.Name)).Request(corev1.ResourceCPU, "2").Obj()
		util.MustCreate(ctx, k8sClient, blocker)
		util.ExpectWorkloadsToBeAdmitted(ctx, k8sClient, blocker)

		ray.grow(2)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(ray.workloads(g)).To(gomega.HaveLen(2))
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		running := func(g gomega.Gomega) *kueue.Workload { return &ray.workloads(g)[0] }
		// The pod of the growth isn't ready, and is not waited for.
		gomega.Consistently(func(g gomega.Gomega) {
			g.Expect(apimeta.IsStatusConditionTrue(running(g).Status.Conditions, kueue.WorkloadPodsReady)).To(gomega.BeTrue())
		}, util.ShortTimeout, util.ShortInterval).Should(gomega.Succeed())
		ray.setReady("worker-0", corev1.ConditionFalse)
		var lost metav1.Condition
		gomega.Eventually(func(g gomega.Gomega) {
			found := apimeta.FindStatusCondition(running(g).Status.Conditions, kueue.WorkloadPodsReady)
			g.Expect(found.Reason).To(gomega.Equal(kueue.WorkloadWaitForRecovery))
			lost = *found
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		gomega.Eventually(func(g gomega.Gomega) {
			evicted := apimeta.FindStatusCondition(running(g).Status.Conditions, kueue.WorkloadEvicted)
			g.Expect(evicted).ToNot(gomega.BeNil())
			g.Expect(evicted.Reason).To(gomega.Equal(kueue.WorkloadEvictedByPodsReadyTimeout))
			expectOnTime(lost, *evicted, 3*time.Second)
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	})

	ginkgo.It("keeps the count of evictions", func() {
		ray := f.create(f.elasticRayJob("eval", recovery, "2s", readinessrecovery.BackoffBaseAnnotation, "0s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		ray.awaitEviction()
		ray.stop()
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)

		ray.grow(2)
		ray.awaitAdmitted(2)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(readinessrecovery.RequeueCount(ray.workload(g))).To(gomega.BeEquivalentTo(1))
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		ray.setReady("worker-1", corev1.ConditionTrue)
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		ray.awaitEviction()
		gomega.Expect(readinessrecovery.RequeueCount(ray.workload(gomega.Default))).To(gomega.BeEquivalentTo(2))
	})

	ginkgo.It("doesn't wait for a worker that the autoscaler has given up", func() {
		job := f.elasticRayJob("eval", recovery, "3s")
		job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(2))
		ray := f.create(job)
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-1", corev1.ConditionFalse)
		ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		ray.resize(1)
		ray.awaitReadiness(kueue.WorkloadRecovered)
		ray.removePod("eval-worker-1")
		ray.expectNoEviction(5 * time.Second)
		ray.awaitAdmitted(1)
	})
})

// awaitAdmitted waits until the newest Workload is admitted with so many workers, and
// is the only one. Its pods are scheduled then.
func (r *fakeRay) awaitAdmitted(workers int32) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		workloads := r.workloads(g)
		g.Expect(workloads).To(gomega.HaveLen(1))
		g.Expect(workload.IsAdmitted(&workloads[0])).To(gomega.BeTrue())
		g.Expect(workloads[0].Spec.PodSets[1].Count).To(gomega.Equal(workers))
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	r.schedule()
}
