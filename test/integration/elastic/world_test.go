// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/features"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	"sigs.k8s.io/kueue/test/util"

	"fleet.ai/kueue-fleet/internal/sandbox/guard"
	"fleet.ai/kueue-fleet/pkg/invariant"
)

const (
	patience = 20 * time.Second
	interval = 100 * time.Millisecond

	workers = "workers"
)

// world is a cluster with one queue, in a namespace of its own.
type world struct {
	ctx       context.Context
	namespace string
	nodes     *fakeNodes
}

// newWorld starts the controllers, with the constrained gate on or off, and the nodes:
// n1 and n2 in one rack, n3 in a second one, n4 in another block.
func newWorld(constrained bool, gpus ...int64) *world {
	features.SetFeatureGatesDuringTest(ginkgo.GinkgoTB(), map[featuregate.Feature]bool{
		features.ElasticJobsViaWorkloadSlices:        true,
		features.ElasticJobsViaWorkloadSlicesWithTAS: true,
		features.TopologyAwareScheduling:             true,
		features.FleetElasticConstrainedTopology:     constrained,
	})
	ctx, cancel := context.WithCancel(suiteCtx)
	ginkgo.DeferCleanup(cancel)
	fwk.StartManager(ctx, config, setupKueue)
	ginkgo.DeferCleanup(func() { fwk.StopManager(suiteCtx) })

	ns := util.CreateNamespaceFromPrefixWithLog(ctx, k8sClient, "elastic-")
	w := &world{ctx: ctx, namespace: ns.Name, nodes: &fakeNodes{client: k8sClient, namespace: ns.Name}}
	ginkgo.DeferCleanup(w.cleanUp)
	racks := [][2]string{{"b1", "r1"}, {"b1", "r1"}, {"b1", "r2"}, {"b2", "r1"}}
	nodes := make([]corev1.Node, 0, len(gpus))
	for i, n := range gpus {
		nodes = append(nodes, *makeNode(fmt.Sprintf("n%d", i+1), racks[i][0], racks[i][1], n))
	}
	util.CreateNodesWithStatus(ctx, k8sClient, nodes)
	w.create(utiltestingapi.MakeWorkloadPriorityClass("high").PriorityValue(100).Obj())
	w.create(utiltestingapi.MakeTopology("racks").Levels(blockLevel, rackLevel, corev1.LabelHostname).Obj())
	w.create(utiltestingapi.MakeResourceFlavor("gpus").NodeLabel("pool", "gpu").TopologyName("racks").Obj())
	queue := utiltestingapi.MakeClusterQueue("queue").ResourceGroup(*utiltestingapi.MakeFlavorQuotas("gpus").
		Resource(corev1.ResourceCPU, "100").Resource(gpu, "100").Obj()).
		Preemption(kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}).Obj()
	w.create(queue)
	util.ExpectClusterQueuesToBeActive(ctx, k8sClient, queue)
	w.create(utiltestingapi.MakeLocalQueue("lq", ns.Name).ClusterQueue("queue").Obj())

	nodesCtx, stopNodes := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); w.nodes.run(nodesCtx) }()
	ginkgo.DeferCleanup(func() {
		stopNodes()
		<-done
	})
	ginkgo.DeferCleanup(w.guard())
	return w
}

// guardLooks is how often a guard has looked, over all specs.
var guardLooks int

// guard checks the invariants all the time, until the returned function is called. That
// fails the spec if one was broken.
func (w *world) guard() (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	var broken []string
	keep := func(_ time.Time, v invariant.Violation) { broken = append(broken, v.String()) }
	g := guard.New(k8sClient, k8sClient, clock.RealClock{}, keep)
	var looks int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		looks, _, err = g.Run(ctx)
	}()
	return func() {
		ginkgo.GinkgoHelper()
		cancel()
		<-done
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		guardLooks += looks
		gomega.Expect(broken).To(gomega.BeEmpty(), "invariants that were broken")
	}
}

func (w *world) create(obj client.Object) {
	ginkgo.GinkgoHelper()
	gomega.Expect(k8sClient.Create(w.ctx, obj)).To(gomega.Succeed())
}

// cleanUp leaves nothing for the next spec; without a garbage collector owners don't do it.
func (w *world) cleanUp() {
	for _, list := range []client.ObjectList{&rayv1.RayClusterList{}, &kueue.WorkloadList{}, &corev1.PodList{}} {
		gomega.Eventually(func(g gomega.Gomega) {
			g.Expect(k8sClient.List(w.ctx, list, client.InNamespace(w.namespace))).To(gomega.Succeed())
			g.Expect(apimeta.EachListItem(list, func(o runtime.Object) error {
				obj := o.(client.Object)
				obj.SetFinalizers(nil)
				if err := client.IgnoreNotFound(k8sClient.Update(w.ctx, obj)); err != nil {
					return err
				}
				return client.IgnoreNotFound(k8sClient.Delete(w.ctx, obj, client.GracePeriodSeconds(0)))
			})).To(gomega.Succeed())
			g.Expect(apimeta.LenList(list)).To(gomega.BeZero())
		}, patience, interval).Should(gomega.Succeed())
	}
	util.ExpectObjectToBeDeletedWithTimeout(w.ctx, k8sClient, utiltestingapi.MakeClusterQueue("queue").Obj(), true, patience)
	util.ExpectObjectToBeDeletedWithTimeout(w.ctx, k8sClient, utiltestingapi.MakeResourceFlavor("gpus").Obj(), true, patience)
	util.ExpectObjectToBeDeletedWithTimeout(w.ctx, k8sClient, utiltestingapi.MakeTopology("racks").Obj(), true, patience)
	util.ExpectObjectToBeDeletedWithTimeout(w.ctx, k8sClient, utiltestingapi.MakeWorkloadPriorityClass("high").Obj(), true, patience)
	gomega.Expect(k8sClient.DeleteAllOf(w.ctx, &corev1.Node{})).To(gomega.Succeed())
}

// cluster makes an elastic RayCluster with a head and one group of workers with a GPU each.
func (w *world) cluster(name string, replicas, hosts int32, annotations map[string]string) *rayv1.RayCluster {
	container := func(name string, requests corev1.ResourceList) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: name, Image: "ray", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests},
		}}}}
	}
	group := rayv1.WorkerGroupSpec{
		GroupName: workers, Replicas: &replicas, MinReplicas: new(int32(0)), MaxReplicas: new(int32(100)), NumOfHosts: hosts,
		RayStartParams: map[string]string{},
		Template:       container("worker", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), gpu: resource.MustParse("1")}),
	}
	group.Template.Annotations = annotations
	return &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.namespace,
			Labels:      map[string]string{"kueue.x-k8s.io/queue-name": "lq"},
			Annotations: map[string]string{"kueue.x-k8s.io/elastic-job": "true"},
		},
		Spec: rayv1.RayClusterSpec{
			HeadGroupSpec: rayv1.HeadGroupSpec{
				RayStartParams: map[string]string{},
				Template:       container("head", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}),
			},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{group},
		},
	}
}

func (w *world) resize(name string, replicas int32) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() error {
		var cluster rayv1.RayCluster
		if err := k8sClient.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &cluster); err != nil {
			return err
		}
		cluster.Spec.WorkerGroupSpecs[0].Replicas = &replicas
		return k8sClient.Update(w.ctx, &cluster)
	}, patience, interval).Should(gomega.Succeed())
}

// expectRunning waits until the workers of the job run on these nodes, the assignment
// says so, and no promise is broken.
func (w *world) expectRunning(name, want string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		state := w.state(g)
		g.Expect(running(state.Pods, name)).To(gomega.Equal(want), "where the workers run")
		slice := holder(state.Workloads, name)
		g.Expect(slice).NotTo(gomega.BeNil(), "no slice holds quota")
		g.Expect(assigned(slice)).To(gomega.Equal(want), "where the assignment has them")
		g.Expect(invariant.Check(state)).To(gomega.BeEmpty())
	}, patience, interval).Should(gomega.Succeed())
}

// expectWaiting waits until a slice of the job waits with the reason.
func (w *world) expectWaiting(name, reason string) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		var messages []string
		for _, wl := range w.state(g).Workloads {
			cond := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
			if ownerOf(&wl) == name && cond != nil && cond.Status == metav1.ConditionFalse && !finished(&wl) {
				messages = append(messages, cond.Message)
			}
		}
		g.Expect(messages).To(gomega.ConsistOf(gomega.ContainSubstring(reason)))
	}, patience, interval).Should(gomega.Succeed())
}

// state reads what the checker judges. Between two lists something may change, so it is
// for moments in which nothing is under way.
func (w *world) state(g gomega.Gomega) invariant.State {
	ginkgo.GinkgoHelper()
	var (
		nodes      corev1.NodeList
		topologies kueue.TopologyList
		flavors    kueue.ResourceFlavorList
		queues     kueue.ClusterQueueList
		workloads  kueue.WorkloadList
		pods       corev1.PodList
	)
	for _, list := range []client.ObjectList{&nodes, &topologies, &flavors, &queues, &workloads, &pods} {
		g.Expect(k8sClient.List(w.ctx, list)).To(gomega.Succeed())
	}
	return invariant.State{
		Nodes: nodes.Items, Topologies: topologies.Items, Flavors: flavors.Items, ClusterQueues: queues.Items,
		Workloads: workloads.Items, Pods: pods.Items, Settled: true,
	}
}

func running(pods []corev1.Pod, cluster string) string {
	on := map[string]int32{}
	for i := range pods {
		pod := &pods[i]
		if pod.Labels["ray.io/cluster"] == cluster && pod.Labels["ray.io/group"] == workers && pod.Spec.NodeName != "" {
			on[pod.Spec.NodeName]++
		}
	}
	return places(on)
}

func places(on map[string]int32) string {
	var out []string
	for _, node := range slices.Sorted(maps.Keys(on)) {
		out = append(out, fmt.Sprintf("%s=%d", node, on[node]))
	}
	return strings.Join(out, " ")
}

func ownerOf(wl *kueue.Workload) string {
	if owner := metav1.GetControllerOf(wl); owner != nil {
		return owner.Name
	}
	return ""
}

func finished(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
}

func holder(workloads []kueue.Workload, owner string) *kueue.Workload {
	for i := range workloads {
		if wl := &workloads[i]; ownerOf(wl) == owner && wl.Status.Admission != nil && !finished(wl) {
			return wl
		}
	}
	return nil
}

func assigned(wl *kueue.Workload) string {
	on := map[string]int32{}
	for i := range wl.Status.Admission.PodSetAssignments {
		psa := &wl.Status.Admission.PodSetAssignments[i]
		// A group without pods has no assignment.
		if psa.Name != workers || psa.TopologyAssignment == nil {
			continue
		}
		for domain := range utiltas.InternalSeqFrom(psa.TopologyAssignment) {
			on[domain.Values[len(domain.Values)-1]] += domain.Count
		}
	}
	return places(on)
}
