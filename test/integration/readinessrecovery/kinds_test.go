// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	testingjob "sigs.k8s.io/kueue/pkg/util/testingjobs/job"
	testingraycluster "sigs.k8s.io/kueue/pkg/util/testingjobs/raycluster"
	testingrayservice "sigs.k8s.io/kueue/pkg/util/testingjobs/rayservice"
	"sigs.k8s.io/kueue/test/util"
)

// RayJobs have the other tests. Here the point is that their rules are those of all.
var _ = ginkgo.Describe("Recovery of other kinds", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
	var (
		f    *fixture
		stop func()
	)
	ginkgo.BeforeAll(func() { stop = startManager() })
	ginkgo.AfterAll(func() { stop() })
	ginkgo.BeforeEach(func() { f = newFixture() })
	ginkgo.AfterEach(func() { f.remove() })

	ginkgo.It("sees the loss of a RayCluster's worker, and evicts it after its window", func() {
		cluster := testingraycluster.MakeCluster("alone", f.ns.Name).Queue(f.lq.Name).Obj()
		askForRecovery(&cluster.Spec, "2s")
		util.MustCreate(ctx, k8sClient, cluster)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(gomega.Succeed())
			g.Expect(cluster.Spec.Suspend).To(gomega.HaveValue(gomega.BeFalse()))
			// What KubeRay says of it stays as it is when a worker is lost.
			cluster.Status.State = rayv1.Ready //nolint:staticcheck // Kueue reads it.
			g.Expect(k8sClient.Status().Update(ctx, cluster)).To(gomega.Succeed())
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		f.loseWorker(cluster, cluster)
	})

	ginkgo.It("sees the loss of a RayService's worker, and evicts it after its window", func() {
		service := testingrayservice.MakeService("served", f.ns.Name).Queue(f.lq.Name).Obj()
		askForRecovery(&service.Spec.RayClusterSpec, "2s")
		util.MustCreate(ctx, k8sClient, service)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(service), service)).To(gomega.Succeed())
			g.Expect(service.Spec.RayClusterSpec.Suspend).To(gomega.HaveValue(gomega.BeFalse()))
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())

		cluster := &rayv1.RayCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "served-cluster", Namespace: f.ns.Name},
			Spec:       *service.Spec.RayClusterSpec.DeepCopy(),
		}
		gomega.Expect(controllerutil.SetControllerReference(service, cluster, k8sClient.Scheme())).To(gomega.Succeed())
		util.MustCreate(ctx, k8sClient, cluster)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(service), service)).To(gomega.Succeed())
			service.Status.ActiveServiceStatus.RayClusterName = cluster.Name
			apimeta.SetStatusCondition(&service.Status.Conditions, metav1.Condition{
				Type: string(rayv1.RayServiceReady), Status: metav1.ConditionTrue, Reason: string(rayv1.NonZeroServeEndpoints),
			})
			g.Expect(k8sClient.Status().Update(ctx, service)).To(gomega.Succeed())
		}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		f.loseWorker(service, cluster)
	})

	ginkgo.It("evicts a Job that isn't Ray's after its window", func() {
		job := testingjob.MakeJob("plain", f.ns.Name).Queue(kueue.LocalQueueName(f.lq.Name)).
			Request(corev1.ResourceCPU, "1").PodAnnotation(recovery, "2s").Obj()
		util.MustCreate(ctx, k8sClient, job)
		setReady := func(n int32) {
			gomega.Eventually(func(g gomega.Gomega) {
				g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(job), job)).To(gomega.Succeed())
				g.Expect(job.Spec.Suspend).To(gomega.HaveValue(gomega.BeFalse()))
				job.Status.Active, job.Status.Ready = 1, &n
				g.Expect(k8sClient.Status().Update(ctx, job)).To(gomega.Succeed())
			}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
		}
		setReady(1)
		f.awaitReason(job, kueue.WorkloadStarted)
		setReady(0)
		lost := f.awaitReason(job, kueue.WorkloadWaitForRecovery)
		gomega.Expect(lost.Message).To(gomega.HaveSuffix("recovery window 2s from pod template annotation; cluster default 20s"))
		expectOnTime(lost, f.awaitTimeout(job), 2*time.Second)
	})
})

// askForRecovery gives both pod templates the window, and a CPU.
func askForRecovery(spec *rayv1.RayClusterSpec, window string) {
	for _, template := range []*corev1.PodTemplateSpec{&spec.HeadGroupSpec.Template, &spec.WorkerGroupSpecs[0].Template} {
		metav1.SetMetaDataAnnotation(&template.ObjectMeta, recovery, window)
		container := &template.Spec.Containers[0]
		container.Image = "ray"
		container.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	}
}

// loseWorker starts the pods of the job's cluster, stops the worker being ready, and
// waits for the eviction.
func (f *fixture) loseWorker(job client.Object, cluster *rayv1.RayCluster) {
	ginkgo.GinkgoHelper()
	head := client.ObjectKey{Namespace: f.ns.Name, Name: cluster.Name + "-head"}
	worker := client.ObjectKey{Namespace: f.ns.Name, Name: cluster.Name + "-worker"}
	makePod(head, cluster.Name, cluster.Spec.HeadGroupSpec.Template)
	makePod(worker, cluster.Name, cluster.Spec.WorkerGroupSpecs[0].Template)
	setPodReady(head, corev1.ConditionTrue)
	f.awaitReason(job, kueue.WorkloadWaitForStart)
	setPodReady(worker, corev1.ConditionTrue)
	f.awaitReason(job, kueue.WorkloadStarted)
	setPodReady(worker, corev1.ConditionFalse)
	lost := f.awaitReason(job, kueue.WorkloadWaitForRecovery)
	gomega.Expect(lost.Message).To(gomega.HaveSuffix("recovery window 2s from pod template annotation; cluster default 20s"))
	expectOnTime(lost, f.awaitTimeout(job), 2*time.Second)
}

// workloadOf returns the Workload of a job of any kind.
func (f *fixture) workloadOf(g gomega.Gomega, job client.Object) *kueue.Workload {
	var list kueue.WorkloadList
	g.Expect(k8sClient.List(ctx, &list, client.InNamespace(f.ns.Name))).To(gomega.Succeed())
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], job) {
			return &list.Items[i]
		}
	}
	g.Expect(list.Items).To(gomega.ContainElement(gomega.HaveField("Name", job.GetName())), "no Workload belongs to the job")
	return nil
}

func (f *fixture) awaitReason(job client.Object, reason string) metav1.Condition {
	ginkgo.GinkgoHelper()
	var condition metav1.Condition
	gomega.Eventually(func(g gomega.Gomega) {
		found := apimeta.FindStatusCondition(f.workloadOf(g, job).Status.Conditions, kueue.WorkloadPodsReady)
		g.Expect(found).ToNot(gomega.BeNil())
		g.Expect(found.Reason).To(gomega.Equal(reason))
		condition = *found
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	return condition
}

func (f *fixture) awaitTimeout(job client.Object) metav1.Condition {
	ginkgo.GinkgoHelper()
	var condition metav1.Condition
	gomega.Eventually(func(g gomega.Gomega) {
		found := apimeta.FindStatusCondition(f.workloadOf(g, job).Status.Conditions, kueue.WorkloadEvicted)
		g.Expect(found).ToNot(gomega.BeNil())
		g.Expect(found.Reason).To(gomega.Equal(kueue.WorkloadEvictedByPodsReadyTimeout))
		condition = *found
	}, util.MediumTimeout, util.ShortInterval).Should(gomega.Succeed())
	return condition
}
