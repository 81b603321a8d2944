// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/kueue/pkg/util/testingjobs/deployment"
	testingjob "sigs.k8s.io/kueue/pkg/util/testingjobs/job"
	testingpod "sigs.k8s.io/kueue/pkg/util/testingjobs/pod"
	testingraycluster "sigs.k8s.io/kueue/pkg/util/testingjobs/raycluster"
	testingrayservice "sigs.k8s.io/kueue/pkg/util/testingjobs/rayservice"
	"sigs.k8s.io/kueue/pkg/util/testingjobs/statefulset"
	"sigs.k8s.io/kueue/test/util"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

var _ = ginkgo.Describe("Annotations are validated", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() {
	var (
		f    *fixture
		stop func()
	)
	ginkgo.BeforeAll(func() { stop = startManager() })
	ginkgo.AfterAll(func() { stop() })
	ginkgo.BeforeEach(func() { f = newFixture() })
	ginkgo.AfterEach(func() { f.remove() })

	const (
		notDuration = `Invalid value: "soon": must be a Go duration such as 90s, 5m or 1h30m`
		key         = "annotations[" + recovery + "]"
	)
	bad := func(meta *metav1.ObjectMeta) { metav1.SetMetaDataAnnotation(meta, recovery, "soon") }

	ginkgo.DescribeTable("of every kind of job, at the field that is wrong",
		func(object func() client.Object, want string) {
			gomega.Expect(k8sClient.Create(ctx, object())).To(gomega.MatchError(gomega.ContainSubstring(want)))
		},
		ginkgo.Entry("RayJob", func() client.Object {
			job := f.rayJob("bad").Obj()
			bad(&job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.ObjectMeta)
			return job
		}, "spec.rayClusterSpec.workerGroupSpecs[0].template.metadata."+key+": "+notDuration),
		ginkgo.Entry("RayJob with an annotation of its own", func() client.Object {
			return f.rayJob("bad").Annotation(readinessrecovery.WaitForPodsReadyAnnotation, `{"recoveryTimeoutSeconds":5}`).Obj()
		}, `metadata.annotations[kueue.x-k8s.io/wait-for-pods-ready]: Invalid value: "{\"recoveryTimeoutSeconds\":5}": timeoutSeconds must be given, and be greater than 0`),
		ginkgo.Entry("RayJob with a window above the longest", func() client.Object {
			return f.rayJob("bad", recovery, "2h1s").Obj()
		}, `Invalid value: "2h1s": must not be longer than 2h, the cluster's maxWindow`),
		ginkgo.Entry("RayJob with a negative window", func() client.Object {
			return f.rayJob("bad", recovery, "-1s").Obj()
		}, `Invalid value: "-1s": must not be negative`),
		ginkgo.Entry("RayJob with a limit that isn't a number", func() client.Object {
			return f.rayJob("bad", readinessrecovery.BackoffLimitAnnotation, "1.5").Obj()
		}, `Invalid value: "1.5": must be an integer from 0 to 2147483647`),
		ginkgo.Entry("RayCluster", func() client.Object {
			cluster := testingraycluster.MakeCluster("bad", f.ns.Name).Queue(f.lq.Name).Obj()
			bad(&cluster.Spec.HeadGroupSpec.Template.ObjectMeta)
			return cluster
		}, "spec.headGroupSpec.template.metadata."+key+": "+notDuration),
		ginkgo.Entry("RayService", func() client.Object {
			service := testingrayservice.MakeService("bad", f.ns.Name).Queue(f.lq.Name).Obj()
			bad(&service.Spec.RayClusterSpec.HeadGroupSpec.Template.ObjectMeta)
			return service
		}, "spec.rayClusterConfig.headGroupSpec.template.metadata."+key+": "+notDuration),
		ginkgo.Entry("Job", func() client.Object {
			job := testingjob.MakeJob("bad", f.ns.Name).Queue("queue").Obj()
			bad(&job.Spec.Template.ObjectMeta)
			return job
		}, "spec.template.metadata."+key+": "+notDuration),
		ginkgo.Entry("Pod", func() client.Object {
			pod := testingpod.MakePod("bad", f.ns.Name).Queue(f.lq.Name).Obj()
			bad(&pod.ObjectMeta)
			return pod
		}, "metadata."+key+": "+notDuration),
		ginkgo.Entry("Deployment", func() client.Object {
			deployment := deployment.MakeDeployment("bad", f.ns.Name).Queue(f.lq.Name).Obj()
			bad(&deployment.Spec.Template.ObjectMeta)
			return deployment
		}, "spec.template.metadata."+key+": "+notDuration),
		ginkgo.Entry("StatefulSet", func() client.Object {
			set := statefulset.MakeStatefulSet("bad", f.ns.Name).Queue(f.lq.Name).Obj()
			bad(&set.Spec.Template.ObjectMeta)
			return set
		}, "spec.template.metadata."+key+": "+notDuration),
	)

	ginkgo.It("and the longest window, no window, and a pod that a controller has made from what slipped through are accepted", func() {
		util.MustCreate(ctx, k8sClient, f.rayJob("longest", recovery, "2h").Obj())
		util.MustCreate(ctx, k8sClient, f.rayJob("none", recovery, "0s").Obj())
		owner := f.rayJob("owner").Obj()
		util.MustCreate(ctx, k8sClient, owner)
		pod := testingpod.MakePod("made", f.ns.Name).Obj()
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, rayv1.GroupVersion.WithKind("RayJob"))}
		bad(&pod.ObjectMeta)
		util.MustCreate(ctx, k8sClient, pod)
	})

	ginkgo.It("when they change", func() {
		job := f.rayJob("eval", recovery, "15s").Obj()
		util.MustCreate(ctx, k8sClient, job)
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(job), job)).To(gomega.Succeed())
			bad(&job.Spec.RayClusterSpec.HeadGroupSpec.Template.ObjectMeta)
			g.Expect(k8sClient.Update(ctx, job)).To(gomega.MatchError(gomega.ContainSubstring(
				"spec.rayClusterSpec.headGroupSpec.template.metadata." + key + ": " + notDuration)))
		}, util.Timeout, util.Interval).Should(gomega.Succeed())
	})
})
