// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"fmt"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/test/util"
)

// fakeRay does for one RayJob what KubeRay, the kube-scheduler and the kubelets do:
// it makes the RayCluster and the pods, and says what state they are in. As with
// KubeRay, the state of the cluster stays ready when a pod is lost.
type fakeRay struct {
	job *rayv1.RayJob
}

// start waits until the job may run, and makes its cluster with all pods ready, but
// for those that are named.
func (r *fakeRay) start(unready ...string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(r.job), r.job)).To(gomega.Succeed())
		g.Expect(r.job.Spec.Suspend).To(gomega.BeFalse())
		g.Expect(workload.IsAdmitted(r.workload(g))).To(gomega.BeTrue())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())

	cluster := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Name: r.job.Name + "-cluster", Namespace: r.job.Namespace},
		Spec:       *r.job.Spec.RayClusterSpec.DeepCopy(),
	}
	gomega.Expect(controllerutil.SetControllerReference(r.job, cluster, k8sClient.Scheme())).To(gomega.Succeed())
	util.MustCreate(ctx, k8sClient, cluster)
	r.updateStatus(func(status *rayv1.RayJobStatus) {
		status.RayClusterName = cluster.Name
		status.JobDeploymentStatus = rayv1.JobDeploymentStatusRunning
		status.RayClusterStatus.State = rayv1.Ready //nolint:staticcheck // Kueue reads it.
	})
	r.makePod("head", cluster.Spec.HeadGroupSpec.Template)
	for _, group := range cluster.Spec.WorkerGroupSpecs {
		for i := range *group.Replicas {
			r.makePod(fmt.Sprintf("worker-%d", i), group.Template)
		}
	}
	for _, pod := range r.pods() {
		for _, name := range unready {
			if pod.Name == r.job.Name+"-"+name {
				pod.Name = ""
			}
		}
		if pod.Name != "" {
			r.setReadyByName(pod.Name, corev1.ConditionTrue)
		}
	}
}

// grow asks for more workers, as the autoscaler does, and makes their pods. They wait
// to be scheduled until the growth is admitted, as gated pods do.
func (r *fakeRay) grow(workers int32) {
	ginkgo.GinkgoHelper()
	before := r.resize(workers)
	for i := before; i < workers; i++ {
		key := client.ObjectKey{Namespace: r.job.Namespace, Name: fmt.Sprintf("%s-worker-%d", r.job.Name, i)}
		createPod(key, r.job.Name+"-cluster", r.job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template)
	}
}

// schedule starts the pods that wait for it.
func (r *fakeRay) schedule() {
	ginkgo.GinkgoHelper()
	for _, pod := range r.pods() {
		if pod.Status.Phase == corev1.PodPending {
			startPod(client.ObjectKeyFromObject(&pod))
		}
	}
}

// resize sets the number of workers and returns what it was.
func (r *fakeRay) resize(workers int32) int32 {
	ginkgo.GinkgoHelper()
	var before int32
	gomega.Eventually(func(g gomega.Gomega) {
		var cluster rayv1.RayCluster
		g.Expect(k8sClient.Get(ctx, client.ObjectKey{Namespace: r.job.Namespace, Name: r.job.Name + "-cluster"}, &cluster)).To(gomega.Succeed())
		before = *cluster.Spec.WorkerGroupSpecs[0].Replicas
		cluster.Spec.WorkerGroupSpecs[0].Replicas = &workers
		g.Expect(k8sClient.Update(ctx, &cluster)).To(gomega.Succeed())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	return before
}

// stop waits until the job is to stop, and removes pods and cluster.
func (r *fakeRay) stop() {
	ginkgo.GinkgoHelper()
	r.awaitSuspended()
	r.removePods()
	cluster := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: r.job.Name + "-cluster", Namespace: r.job.Namespace}}
	gomega.Expect(client.IgnoreNotFound(k8sClient.Delete(ctx, cluster))).To(gomega.Succeed())
	gomega.Eventually(func(g gomega.Gomega) {
		err := k8sClient.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)
		g.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	r.updateStatus(func(status *rayv1.RayJobStatus) {
		status.RayClusterName = ""
		status.JobDeploymentStatus = rayv1.JobDeploymentStatusSuspended
		status.RayClusterStatus.State = "" //nolint:staticcheck // Kueue reads it.
	})
}

func (r *fakeRay) awaitSuspended() {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(r.job), r.job)).To(gomega.Succeed())
		g.Expect(r.job.Spec.Suspend).To(gomega.BeTrue())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
}

func (r *fakeRay) removePods() {
	ginkgo.GinkgoHelper()
	for _, pod := range r.pods() {
		r.removePod(pod.Name)
	}
}

func (r *fakeRay) removePod(name string) {
	ginkgo.GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.job.Namespace}}
	gomega.Expect(client.IgnoreNotFound(k8sClient.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(gomega.Succeed())
}

func (r *fakeRay) makePod(name string, template corev1.PodTemplateSpec) {
	ginkgo.GinkgoHelper()
	makePod(client.ObjectKey{Namespace: r.job.Namespace, Name: r.job.Name + "-" + name}, r.job.Name+"-cluster", template)
}

// makePod makes a pod of a RayCluster that has been started and isn't ready.
func makePod(key client.ObjectKey, cluster string, template corev1.PodTemplateSpec) {
	ginkgo.GinkgoHelper()
	createPod(key, cluster, template)
	startPod(key)
}

func createPod(key client.ObjectKey, cluster string, template corev1.PodTemplateSpec) {
	ginkgo.GinkgoHelper()
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = key.Name, key.Namespace
	metav1.SetMetaDataLabel(&pod.ObjectMeta, rayutils.RayClusterLabelKey, cluster)
	// The gates are those of controllers that this suite doesn't run.
	pod.Spec.SchedulingGates = nil
	util.MustCreate(ctx, k8sClient, pod)
}

func startPod(key client.ObjectKey) {
	ginkgo.GinkgoHelper()
	setPodStatus(key, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()},
		}
	})
}

// setReady sets whether the pod with the short name is ready.
func (r *fakeRay) setReady(name string, status corev1.ConditionStatus) {
	ginkgo.GinkgoHelper()
	r.setReadyByName(r.job.Name+"-"+name, status)
}

func (r *fakeRay) setReadyByName(name string, ready corev1.ConditionStatus) {
	ginkgo.GinkgoHelper()
	setPodReady(client.ObjectKey{Namespace: r.job.Namespace, Name: name}, ready)
}

func setPodReady(key client.ObjectKey, ready corev1.ConditionStatus) {
	ginkgo.GinkgoHelper()
	setPodStatus(key, func(status *corev1.PodStatus) {
		for i := range status.Conditions {
			if c := &status.Conditions[i]; c.Type == corev1.PodReady {
				c.Status, c.LastTransitionTime = ready, metav1.Now()
			}
		}
	})
}

func (r *fakeRay) setPodStatus(name string, change func(*corev1.PodStatus)) {
	ginkgo.GinkgoHelper()
	setPodStatus(client.ObjectKey{Namespace: r.job.Namespace, Name: name}, change)
}

func setPodStatus(key client.ObjectKey, change func(*corev1.PodStatus)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		var pod corev1.Pod
		g.Expect(k8sClient.Get(ctx, key, &pod)).To(gomega.Succeed())
		change(&pod.Status)
		g.Expect(k8sClient.Status().Update(ctx, &pod)).To(gomega.Succeed())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
}

func (r *fakeRay) updateStatus(change func(*rayv1.RayJobStatus)) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(r.job), r.job)).To(gomega.Succeed())
		change(&r.job.Status)
		g.Expect(k8sClient.Status().Update(ctx, r.job)).To(gomega.Succeed())
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
}

func (r *fakeRay) pods() []corev1.Pod {
	ginkgo.GinkgoHelper()
	var list corev1.PodList
	gomega.Expect(k8sClient.List(ctx, &list, client.InNamespace(r.job.Namespace),
		client.MatchingLabels{rayutils.RayClusterLabelKey: r.job.Name + "-cluster"})).To(gomega.Succeed())
	return list.Items
}
