// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/test/util"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

var _ = ginkgo.Describe("Recovery of Ray jobs", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
	var (
		f    *fixture
		stop func()
	)
	ginkgo.BeforeAll(func() { stop = startManager() })
	ginkgo.AfterAll(func() { stop() })
	ginkgo.BeforeEach(func() { f = newFixture() })
	ginkgo.AfterEach(func() { f.remove() })

	ginkgo.It("evicts after the job's own window, holds the quota until the pods are gone, and comes back after the backoff", func() {
		ray := f.create(f.rayJob("eval", recovery, "2s", readinessrecovery.BackoffBaseAnnotation, "3s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)

		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		gomega.Expect(lost.Message).To(gomega.HaveSuffix("recovery window 2s from pod template annotation; cluster default 20s"))

		evicted := ray.awaitEviction()
		expectOnTime(lost, evicted, 2*time.Second)
		gomega.Expect(evicted.Message).To(gomega.HaveSuffix("recovery window 2s from pod template annotation; cluster default 20s"))

		state := ray.workload(gomega.Default).Status.RequeueState
		gomega.Expect(state).ToNot(gomega.BeNil())
		gomega.Expect(state.Count).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
		requeueAt := state.RequeueAt.Time
		gomega.Expect(requeueAt).To(gomega.BeTemporally(">=", evicted.LastTransitionTime.Add(3*time.Second)))

		ray.awaitSuspended()
		gomega.Consistently(func(g gomega.Gomega) {
			g.Expect(ray.workload(g).Status.Admission).ToNot(gomega.BeNil(), "the quota is free while the pods run")
		}, util.ShortTimeout, util.ShortInterval).Should(gomega.Succeed())
		ray.stop()
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		wl := ray.workload(gomega.Default)
		admitted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
		gomega.Expect(admitted.LastTransitionTime.Time).To(gomega.BeTemporally(">=", requeueAt))
		gomega.Expect(evictions(wl)).To(gomega.Equal(map[kueue.EvictionUnderlyingCause]int32{kueue.WorkloadWaitForRecovery: 1}))
	})

	ginkgo.It("applies the start window to a readmission, whatever the loss before it", func() {
		ray := f.create(f.rayJob("eval", recovery, "2s", readinessrecovery.BackoffBaseAnnotation, "0s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.removePod("eval-worker-0")
		ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		ray.awaitEviction()
		ray.stop()
		ray.start("worker-0")
		gomega.Eventually(func() string { return ray.awaitReadiness(kueue.WorkloadWaitForStart).Message }, util.Timeout, util.ShortInterval).
			Should(gomega.HaveSuffix("start window 30m, the cluster default"))
		ray.expectNoEviction(4 * time.Second)
	})

	ginkgo.DescribeTable("sees every kind of loss, and its end",
		func(lose, mend func(*fakeRay)) {
			ray := f.create(f.rayJob("eval", recovery, "15s"))
			ray.start()
			ray.awaitReadiness(kueue.WorkloadStarted)
			lose(ray)
			ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
			mend(ray)
			ray.awaitReadiness(kueue.WorkloadRecovered)
		},
		ginkgo.Entry("a worker isn't ready", setReady("worker-0", corev1.ConditionFalse), setReady("worker-0", corev1.ConditionTrue)),
		ginkgo.Entry("nobody knows of a worker", setReady("worker-0", corev1.ConditionUnknown), setReady("worker-0", corev1.ConditionTrue)),
		ginkgo.Entry("the head isn't ready", setReady("head", corev1.ConditionFalse), setReady("head", corev1.ConditionTrue)),
		ginkgo.Entry("a worker is removed and replaced",
			func(r *fakeRay) { r.removePod("eval-worker-0") },
			func(r *fakeRay) {
				r.makePod("worker-1", r.job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template)
				r.setReady("worker-1", corev1.ConditionTrue)
			}),
		ginkgo.Entry("a worker fails, and then all its work is done",
			func(r *fakeRay) {
				setPhase("worker-0", corev1.PodFailed)(r)
				setReady("worker-0", corev1.ConditionFalse)(r)
			},
			setPhase("worker-0", corev1.PodSucceeded)),
	)

	ginkgo.It("doesn't count a worker that has succeeded as lost", func() {
		ray := f.create(f.rayJob("eval", recovery, "1s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		setPhase("worker-0", corev1.PodSucceeded)(ray)
		setReady("worker-0", corev1.ConditionFalse)(ray)
		ray.expectNoEviction(3 * time.Second)
		ray.awaitReadiness(kueue.WorkloadStarted)
	})

	ginkgo.It("never evicts a job that is back before its window is over, however often it is lost", func() {
		ray := f.create(f.rayJob("eval", recovery, "3s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		for range 4 {
			ray.setReady("worker-0", corev1.ConditionFalse)
			ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
			ray.expectNoEviction(time.Second)
			ray.setReady("worker-0", corev1.ConditionTrue)
			ray.awaitReadiness(kueue.WorkloadRecovered)
		}
		ray.expectNoEviction(4 * time.Second)
		gomega.Expect(evictions(ray.workload(gomega.Default))).To(gomega.BeEmpty())
	})

	ginkgo.It("never evicts for a loss if the window is 0", func() {
		ray := f.create(f.rayJob("eval", recovery, "0s"))
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		gomega.Expect(ray.awaitReadiness(kueue.WorkloadWaitForRecovery).Message).
			To(gomega.HaveSuffix("recovery window off from pod template annotation; cluster default 20s"))
		ray.expectNoEviction(3 * time.Second)
	})

	ginkgo.It("evicts a job that doesn't start within its start window", func() {
		ray := f.create(f.rayJob("eval", readinessrecovery.StartupTimeoutAnnotation, "2s"))
		ray.start("worker-0")
		evicted := ray.awaitEviction()
		gomega.Expect(evicted.Message).To(gomega.HaveSuffix("start window 2s from pod template annotation; cluster default 30m"))
		wl := ray.workload(gomega.Default)
		expectOnTime(*apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted), evicted, 2*time.Second)
		gomega.Expect(evictions(wl)).To(gomega.Equal(map[kueue.EvictionUnderlyingCause]int32{kueue.WorkloadWaitForStart: 1}))
	})

	ginkgo.It("applies the cluster's window and warns once if the templates differ", func() {
		job := f.rayJob("eval", recovery, "45s")
		job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Annotations[recovery] = "15s"
		ray := f.create(job)
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		gomega.Expect(ray.awaitReadiness(kueue.WorkloadWaitForRecovery).Message).
			To(gomega.HaveSuffix("recovery window 20s, the cluster default"))
		want := []string{"Annotation fleet.ai/readiness-recovery-timeout has no effect, the cluster's setting applies: " +
			`the PodSets differ: head has "45s", workers-group-0 has "15s"`}
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(f.warnings(g, ray.workload(g))).To(gomega.Equal(want))
		}, util.Timeout, util.Interval).Should(gomega.Succeed())
		gomega.Consistently(func(g gomega.Gomega) {
			g.Expect(f.warnings(g, ray.workload(g))).To(gomega.Equal(want))
		}, util.ShortTimeout, util.Interval).Should(gomega.Succeed())
	})

	ginkgo.It("follows the annotations, from the next loss on", func() {
		job := f.rayJob("eval").Annotation(readinessrecovery.WaitForPodsReadyAnnotation, `{"timeoutSeconds":60,"recoveryTimeoutSeconds":10}`)
		ray := f.create(job)
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		uid := ray.workload(gomega.Default).UID

		ray.setReady("worker-0", corev1.ConditionFalse)
		gomega.Expect(ray.awaitReadiness(kueue.WorkloadWaitForRecovery).Message).
			To(gomega.HaveSuffix("recovery window 10s from job annotation; cluster default 20s"))
		ray.setJobWindow(`{"timeoutSeconds":60,"recoveryTimeoutSeconds":1}`)
		ray.expectNoEviction(3 * time.Second)
		ray.setReady("worker-0", corev1.ConditionTrue)
		ray.awaitReadiness(kueue.WorkloadRecovered)
		gomega.Eventually(func(g gomega.Gomega) {
			policy, err := readinessrecovery.DecodePolicy(ray.workload(g).Annotations)
			g.Expect(err).ToNot(gomega.HaveOccurred())
			g.Expect(policy.Recovery.Value.Duration).To(gomega.Equal(time.Second))
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())

		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		expectOnTime(lost, ray.awaitEviction(), time.Second)

		ray.setJobWindow(`{"timeoutSeconds":60,"recoveryTimeoutSeconds":30}`)
		gomega.Eventually(func(g gomega.Gomega) {
			wl := ray.workload(g)
			policy, err := readinessrecovery.DecodePolicy(wl.Annotations)
			g.Expect(err).ToNot(gomega.HaveOccurred())
			g.Expect(policy.Recovery.Value.Duration).To(gomega.Equal(30 * time.Second))
			g.Expect(wl.UID).To(gomega.Equal(uid), "the Workload was made anew")
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	})

	ginkgo.It("follows the templates of a job that waits for quota", func() {
		blocker := f.highPriorityWorkload("4")
		util.ExpectWorkloadsToBeAdmitted(ctx, k8sClient, blocker)
		ray := f.create(f.rayJob("eval", recovery, "15s"))
		asks := func(window time.Duration) (uid types.UID) {
			ginkgo.GinkgoHelper()
			gomega.Eventually(func(g gomega.Gomega) {
				wl := ray.workload(g)
				policy, err := readinessrecovery.DecodePolicy(wl.Annotations)
				g.Expect(err).ToNot(gomega.HaveOccurred())
				g.Expect(policy.Recovery).ToNot(gomega.BeNil())
				g.Expect(policy.Recovery.Value.Duration).To(gomega.Equal(window))
				uid = wl.UID
			}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
			return uid
		}
		uid := asks(15 * time.Second)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(ray.job), ray.job)).To(gomega.Succeed())
			ray.job.Spec.RayClusterSpec.HeadGroupSpec.Template.Annotations[recovery] = "2s"
			ray.job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Annotations[recovery] = "2s"
			g.Expect(k8sClient.Update(ctx, ray.job)).To(gomega.Succeed())
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		gomega.Expect(asks(2*time.Second)).To(gomega.Equal(uid), "the Workload was made anew")

		util.FinishWorkloads(ctx, k8sClient, blocker)
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		lost := ray.awaitReadiness(kueue.WorkloadWaitForRecovery)
		expectOnTime(lost, ray.awaitEviction(), 2*time.Second)
	})

	ginkgo.It("asks for as much after its backoff as before", func() {
		job := f.rayJob("eval", recovery, "1s", readinessrecovery.BackoffBaseAnnotation, "3s")
		// Nothing but a limit: the request follows from it.
		job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		}
		ray := f.create(job)
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		ray.awaitEviction()
		requeueAt := ray.workload(gomega.Default).Status.RequeueState.RequeueAt.Time
		ray.stop()

		// Two of four CPUs are taken: enough for the head, but not for the worker too.
		other := f.highPriorityWorkload("2")
		util.ExpectWorkloadsToBeAdmitted(ctx, k8sClient, other)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(apimeta.IsStatusConditionTrue(ray.workload(g).Status.Conditions, kueue.WorkloadRequeued)).To(gomega.BeTrue())
			g.Expect(time.Now()).To(gomega.BeTemporally(">=", requeueAt))
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		gomega.Consistently(func(g gomega.Gomega) {
			g.Expect(ray.workload(g).Status.Admission).To(gomega.BeNil(), "admitted for less than it needs")
		}, util.ShortTimeout, util.ShortInterval).Should(gomega.Succeed())
		util.FinishWorkloads(ctx, k8sClient, other)
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
	})

	ginkgo.It("deactivates at the job's own limit, and starts clean when the user revives the job", func() {
		ray := f.create(f.rayJob("eval", recovery, "1s",
			readinessrecovery.BackoffBaseAnnotation, "0s", readinessrecovery.BackoffLimitAnnotation, "1"))
		for range 2 {
			ray.start()
			ray.awaitReadiness(kueue.WorkloadStarted)
			ray.setReady("worker-0", corev1.ConditionFalse)
			ray.stop()
		}
		gomega.Eventually(func(g gomega.Gomega) {
			wl := ray.workload(g)
			g.Expect(wl.Spec.Active).To(gomega.HaveValue(gomega.BeFalse()))
			g.Expect(apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted).Reason).
				To(gomega.Equal("DeactivatedDueToRequeuingLimitExceeded"))
			g.Expect(wl.Status.RequeueState).To(gomega.BeNil())
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())

		gomega.Eventually(func(g gomega.Gomega) {
			wl := ray.workload(g)
			wl.Spec.Active = new(true)
			g.Expect(k8sClient.Update(ctx, wl)).To(gomega.Succeed())
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		ray.start()
		ray.awaitReadiness(kueue.WorkloadStarted)
		ray.setReady("worker-0", corev1.ConditionFalse)
		ray.awaitEviction()
		gomega.Expect(ray.workload(gomega.Default).Status.RequeueState.Count).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
	})

	ginkgo.It("neither delays nor counts a preemption", func() {
		low := f.create(f.rayJob("low", recovery, "10s", readinessrecovery.BackoffBaseAnnotation, "1h"))
		low.start()
		low.awaitReadiness(kueue.WorkloadStarted)
		low.setReady("worker-0", corev1.ConditionFalse)
		low.awaitReadiness(kueue.WorkloadWaitForRecovery)

		high := f.highPriorityWorkload("4")
		gomega.Eventually(func(g gomega.Gomega) {
			evicted := apimeta.FindStatusCondition(low.workload(g).Status.Conditions, kueue.WorkloadEvicted)
			g.Expect(evicted).ToNot(gomega.BeNil())
			g.Expect(evicted.Reason).To(gomega.Equal(kueue.WorkloadEvictedByPreemption))
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		low.stop()
		util.ExpectWorkloadsToBeAdmitted(ctx, k8sClient, high)
		util.FinishWorkloads(ctx, k8sClient, high)
		// The backoff of an hour would keep it out.
		low.start()
		low.awaitReadiness(kueue.WorkloadStarted)
		gomega.Expect(low.workload(gomega.Default).Status.RequeueState).To(gomega.BeNil())
	})
})

func setReady(pod string, status corev1.ConditionStatus) func(*fakeRay) {
	return func(r *fakeRay) { r.setReady(pod, status) }
}

func setPhase(pod string, phase corev1.PodPhase) func(*fakeRay) {
	return func(r *fakeRay) {
		r.setPodStatus(r.job.Name+"-"+pod, func(status *corev1.PodStatus) { status.Phase = phase })
	}
}

// setJobWindow changes the annotation of the job.
func (r *fakeRay) setJobWindow(value string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(r.job), r.job)).To(gomega.Succeed())
		r.job.Annotations[readinessrecovery.WaitForPodsReadyAnnotation] = value
		g.Expect(k8sClient.Update(ctx, r.job)).To(gomega.Succeed())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
}
