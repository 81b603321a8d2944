// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	testingrayjob "sigs.k8s.io/kueue/pkg/util/testingjobs/rayjob"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
	"sigs.k8s.io/kueue/test/util"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// fixture is a namespace with a queue of four CPUs.
type fixture struct {
	ns     *corev1.Namespace
	flavor *kueue.ResourceFlavor
	cq     *kueue.ClusterQueue
	lq     *kueue.LocalQueue
}

func newFixture() *fixture {
	ginkgo.GinkgoHelper()
	f := &fixture{ns: util.CreateNamespaceFromPrefixWithLog(ctx, k8sClient, "readiness-")}
	f.flavor = utiltestingapi.MakeResourceFlavor(f.ns.Name).Obj()
	f.cq = utiltestingapi.MakeClusterQueue(f.ns.Name).
		ResourceGroup(*utiltestingapi.MakeFlavorQuotas(f.flavor.Name).Resource(corev1.ResourceCPU, "4").Obj()).
		Preemption(kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}).
		Obj()
	f.lq = utiltestingapi.MakeLocalQueue("queue", f.ns.Name).ClusterQueue(f.cq.Name).Obj()
	util.MustCreate(ctx, k8sClient, f.flavor)
	util.CreateClusterQueuesAndWaitForActive(ctx, k8sClient, f.cq)
	util.CreateLocalQueuesAndWaitForActive(ctx, k8sClient, f.lq)
	return f
}

func (f *fixture) remove() {
	ginkgo.GinkgoHelper()
	gomega.Expect(k8sClient.DeleteAllOf(ctx, &rayv1.RayCluster{}, client.InNamespace(f.ns.Name))).To(gomega.Succeed())
	gomega.Expect(util.DeleteNamespace(ctx, k8sClient, f.ns)).To(gomega.Succeed())
	util.ExpectObjectToBeDeleted(ctx, k8sClient, f.cq, true)
	util.ExpectObjectToBeDeleted(ctx, k8sClient, f.flavor, true)
}

// rayJob makes a RayJob of one head and one worker with a CPU each. The annotations,
// given as key, value, ..., are put on both pod templates.
func (f *fixture) rayJob(name string, annotations ...string) *testingrayjob.JobWrapper {
	job := testingrayjob.MakeJob(name, f.ns.Name).
		Queue(f.lq.Name).
		WithSubmissionMode(rayv1.HTTPMode).
		RequestHead(corev1.ResourceCPU, "1").
		RequestWorkerGroup(corev1.ResourceCPU, "1").
		Image(rayv1.HeadNode, "ray").
		Image(rayv1.WorkerNode, "ray")
	spec := job.Spec.RayClusterSpec
	for i := 0; i < len(annotations); i += 2 {
		metav1.SetMetaDataAnnotation(&spec.HeadGroupSpec.Template.ObjectMeta, annotations[i], annotations[i+1])
		metav1.SetMetaDataAnnotation(&spec.WorkerGroupSpecs[0].Template.ObjectMeta, annotations[i], annotations[i+1])
	}
	return job
}

func (f *fixture) elasticRayJob(name string, annotations ...string) *testingrayjob.JobWrapper {
	job := f.rayJob(name, annotations...).
		Annotation(workloadslicing.EnabledAnnotationKey, workloadslicing.EnabledAnnotationValue).
		EnableInTreeAutoscaling()
	// The queue has CPUs only, and each is counted.
	job.Spec.RayClusterSpec.AutoscalerOptions = &rayv1.AutoscalerOptions{Resources: &corev1.ResourceRequirements{}}
	return job
}

// create makes the job and returns what plays its Ray.
func (f *fixture) create(job *testingrayjob.JobWrapper) *fakeRay {
	ginkgo.GinkgoHelper()
	util.MustCreate(ctx, k8sClient, job.Obj())
	return &fakeRay{job: job.Obj()}
}

// workloads returns the job's Workloads that aren't finished, the oldest first.
func (r *fakeRay) workloads(g gomega.Gomega) []kueue.Workload {
	ginkgo.GinkgoHelper()
	workloads, err := workloadslicing.FindNotFinishedWorkloads(ctx, indexless{k8sClient}, r.job, rayv1.GroupVersion.WithKind("RayJob"))
	g.Expect(err).ToNot(gomega.HaveOccurred())
	return slices.DeleteFunc(workloads, func(wl kueue.Workload) bool { return !metav1.IsControlledBy(&wl, r.job) })
}

// workload returns the newest Workload of the job.
func (r *fakeRay) workload(g gomega.Gomega) *kueue.Workload {
	ginkgo.GinkgoHelper()
	workloads := r.workloads(g)
	g.Expect(workloads).ToNot(gomega.BeEmpty())
	return &workloads[len(workloads)-1]
}

// indexless lists without indexes, which a client of the API server doesn't have. It
// leaves the choice among the objects of the namespace to the caller.
type indexless struct{ client.Client }

func (c indexless) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	return c.Client.List(ctx, list, client.InNamespace(options.Namespace))
}

// awaitReadiness waits for the reason of the newest Workload's PodsReady condition.
func (r *fakeRay) awaitReadiness(reason string) metav1.Condition {
	ginkgo.GinkgoHelper()
	var condition metav1.Condition
	gomega.Eventually(func(g gomega.Gomega) {
		found := apimeta.FindStatusCondition(r.workload(g).Status.Conditions, kueue.WorkloadPodsReady)
		g.Expect(found).ToNot(gomega.BeNil())
		g.Expect(found.Reason).To(gomega.Equal(reason))
		condition = *found
	}, util.Timeout, util.ShortInterval).Should(gomega.Succeed())
	return condition
}

// awaitEviction waits until the newest Workload is evicted for readiness.
func (r *fakeRay) awaitEviction() metav1.Condition {
	ginkgo.GinkgoHelper()
	var condition metav1.Condition
	gomega.Eventually(func(g gomega.Gomega) {
		found := apimeta.FindStatusCondition(r.workload(g).Status.Conditions, kueue.WorkloadEvicted)
		g.Expect(found).ToNot(gomega.BeNil())
		g.Expect(found.Status).To(gomega.Equal(metav1.ConditionTrue))
		g.Expect(found.Reason).To(gomega.Equal(kueue.WorkloadEvictedByPodsReadyTimeout))
		condition = *found
	}, util.MediumTimeout, util.ShortInterval).Should(gomega.Succeed())
	return condition
}

// expectNoEviction looks at the newest Workload for so long.
func (r *fakeRay) expectNoEviction(d time.Duration) {
	ginkgo.GinkgoHelper()
	gomega.Consistently(func(g gomega.Gomega) {
		g.Expect(apimeta.IsStatusConditionTrue(r.workload(g).Status.Conditions, kueue.WorkloadEvicted)).To(gomega.BeFalse())
	}, d, util.Interval).Should(gomega.Succeed())
}

// expectOnTime fails if the eviction came before the window was over, and reports how
// long after it came.
func expectOnTime(lost, evicted metav1.Condition, window time.Duration) {
	ginkgo.GinkgoHelper()
	late := evicted.LastTransitionTime.Sub(lost.LastTransitionTime.Add(window))
	gomega.Expect(late).To(gomega.BeNumerically(">=", 0), "evicted before the window was over")
	ginkgo.AddReportEntry("eviction", fmt.Sprintf("window %s, %s late by the stored times", window, late), ginkgo.ReportEntryVisibilityAlways)
}

// evictions returns how often the Workload was evicted for readiness, by cause.
func evictions(wl *kueue.Workload) map[kueue.EvictionUnderlyingCause]int32 {
	counts := make(map[kueue.EvictionUnderlyingCause]int32)
	if wl.Status.SchedulingStats == nil {
		return counts
	}
	for _, e := range wl.Status.SchedulingStats.Evictions {
		if e.Reason == kueue.WorkloadEvictedByPodsReadyTimeout {
			counts[e.UnderlyingCause] += e.Count
		}
	}
	return counts
}

// warnings returns the notes of the warnings about the Workload.
func (f *fixture) warnings(g gomega.Gomega, wl *kueue.Workload) []string {
	var list eventsv1.EventList
	g.Expect(k8sClient.List(ctx, &list, client.InNamespace(f.ns.Name))).To(gomega.Succeed())
	var notes []string
	for _, e := range list.Items {
		if e.Type == corev1.EventTypeWarning && e.Regarding.UID == wl.UID {
			count := int32(1)
			if e.Series != nil {
				count = e.Series.Count
			}
			for range count {
				notes = append(notes, e.Note)
			}
		}
	}
	return notes
}

const recovery = readinessrecovery.RecoveryTimeoutAnnotation

// highPriorityWorkload makes a Workload without a job that asks for so many CPUs and
// may preempt all others.
func (f *fixture) highPriorityWorkload(cpus string) *kueue.Workload {
	ginkgo.GinkgoHelper()
	wl := utiltestingapi.MakeWorkload("high", f.ns.Name).
		Queue(kueue.LocalQueueName(f.lq.Name)).
		Priority(1000).
		Request(corev1.ResourceCPU, cpus).
		Obj()
	util.MustCreate(ctx, k8sClient, wl)
	return wl
}
