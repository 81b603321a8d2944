// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/util/tas"

	"fleet.ai/kueue-fleet/pkg/elasticfit/kueueadapter"
)

const (
	blockLabel = "example.com/block"
	rackLabel  = "example.com/rack"
	gpu        = corev1.ResourceName("example.com/gpu")
	queueName  = "queue"
	flavorName = "gpus"

	nodesPerRack  = 16
	racksPerBlock = 16
	gpusPerNode   = 8
	// keptNodes are left to the group that grows.
	keptNodes      = 3
	smallWorkloads = 8
)

var levels = []string{blockLabel, rackLabel, corev1.LabelHostname}

// noObjects is an API server without objects.
type noObjects struct{ client.Client }

func (noObjects) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// cluster is a scheduler cache with nodes of 8 GPUs, half of which are in use.
type cluster struct {
	cache *schdcache.Cache
	nodes int
	// running are the admitted workloads, the small ones first.
	running []*kueue.Workload
}

// newCluster returns a cluster whose pods are placed by the engine, or by Kueue's
// algorithm. Both kinds get the same nodes and workloads.
func newCluster(nodes int, engine bool) (*cluster, error) {
	var opts []schdcache.Option
	if engine {
		opts = append(opts, schdcache.WithTopologyFit(kueueadapter.New()))
	}
	c := &cluster{cache: schdcache.New(noObjects{}, opts...), nodes: nodes}
	log := logr.Discard()
	for i := range nodes {
		c.cache.TASCache().SyncNode(node(i))
		c.cache.TASCache().Update(daemonPod(i), log)
	}
	topology := &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for _, level := range levels {
		topology.Spec.Levels = append(topology.Spec.Levels, kueue.TopologyLevel{NodeLabel: level})
	}
	c.cache.AddOrUpdateTopology(log, topology)
	c.cache.AddOrUpdateResourceFlavor(log, &kueue.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: flavorName},
		Spec:       kueue.ResourceFlavorSpec{TopologyName: new(kueue.TopologyReference(topology.Name))},
	})
	quota := func(name corev1.ResourceName) kueue.ResourceQuota {
		return kueue.ResourceQuota{Name: name, NominalQuota: resource.MustParse("1P")}
	}
	if err := c.cache.AddClusterQueue(context.Background(), &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: queueName},
		Spec: kueue.ClusterQueueSpec{NamespaceSelector: &metav1.LabelSelector{}, ResourceGroups: []kueue.ResourceGroup{{
			CoveredResources: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, gpu},
			Flavors: []kueue.FlavorQuotas{{Name: flavorName, Resources: []kueue.ResourceQuota{
				quota(corev1.ResourceCPU), quota(corev1.ResourceMemory), quota(gpu),
			}}},
		}}},
	}); err != nil {
		return nil, fmt.Errorf("failed to add the ClusterQueue: %w", err)
	}
	c.fill()
	for _, wl := range c.running {
		c.cache.AddOrUpdateWorkload(log, wl)
	}
	return c, nil
}

// fill admits workloads: a small one on each of the first nodes, and one for each
// block, with another number of pods on each node. So there are few workloads, and
// the cost of a snapshot is that of the nodes.
func (c *cluster) fill() {
	r := rand.New(rand.NewPCG(uint64(c.nodes), 0))
	busy := c.nodes - keptNodes
	for i := range min(busy, smallWorkloads) {
		c.running = append(c.running, workloadOn(fmt.Sprintf("small-%d", i), tas.TopologyDomainAssignment{Values: []string{nodeName(i)}, Count: 2}))
	}
	for first := 0; first < busy; first += nodesPerRack * racksPerBlock {
		var domains []tas.TopologyDomainAssignment
		for i := first; i < min(busy, first+nodesPerRack*racksPerBlock); i++ {
			if pods := r.Int32N(gpusPerNode - 1); pods > 0 {
				domains = append(domains, tas.TopologyDomainAssignment{Values: []string{nodeName(i)}, Count: pods})
			}
		}
		c.running = append(c.running, workloadOn(fmt.Sprintf("block-%d", first), domains...))
	}
}

// queue takes a snapshot and returns its queue.
func (c *cluster) queue() (*schdcache.ClusterQueueSnapshot, error) {
	snapshot, err := c.cache.Snapshot(context.Background())
	if err != nil {
		return nil, fmt.Errorf("failed to take a snapshot: %w", err)
	}
	return snapshot.ClusterQueue(queueName), nil
}

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

func node(i int) *corev1.Node {
	rack := i / nodesPerRack
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{
			corev1.LabelHostname: nodeName(i), rackLabel: fmt.Sprintf("rack-%04d", rack), blockLabel: fmt.Sprintf("block-%03d", rack/racksPerBlock),
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("96"), corev1.ResourceMemory: resource.MustParse("768Gi"),
				gpu: resource.MustParse("8"), corev1.ResourcePods: resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func daemonPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("daemon-%d", i), Namespace: "system"},
		Spec:       corev1.PodSpec{NodeName: nodeName(i), Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}},
	}
}

// perPod is what a pod with one GPU asks for.
func perPod() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("64Gi"), gpu: resource.MustParse("1")}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: perPod()}}}}
}

func workloadOn(name string, domains ...tas.TopologyDomainAssignment) *kueue.Workload {
	var pods int32
	for _, domain := range domains {
		pods += domain.Count
	}
	usage := corev1.ResourceList{}
	flavors := map[corev1.ResourceName]kueue.ResourceFlavorReference{}
	for name, q := range perPod() {
		q.Mul(int64(pods))
		usage[name], flavors[name] = q, flavorName
	}
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID(name)},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{
			Name: "main", Count: pods, Template: corev1.PodTemplateSpec{Spec: podSpec()},
			TopologyRequest: &kueue.PodSetTopologyRequest{Unconstrained: new(true)},
		}}},
		Status: kueue.WorkloadStatus{
			Conditions: []metav1.Condition{
				{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}, {Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue},
			},
			Admission: &kueue.Admission{ClusterQueue: queueName, PodSetAssignments: []kueue.PodSetAssignment{{
				Name: "main", Count: new(pods), ResourceUsage: usage, Flavors: flavors,
				TopologyAssignment: tas.V1Beta2From(&tas.TopologyAssignment{
					Levels:  levels[len(levels)-1:],
					Domains: domains,
				}),
			}}},
		},
	}
}

// request asks for pods with one GPU each.
func request(name string, pods int32, topology *kueue.PodSetTopologyRequest) schdcache.TASPodSetRequests {
	return schdcache.TASPodSetRequests{
		PodSet:            &kueue.PodSet{Name: kueue.PodSetReference(name), Count: pods, TopologyRequest: topology, Template: corev1.PodTemplateSpec{Spec: podSpec()}},
		SinglePodRequests: resources.NewRequestsFromResourceList(perPod()),
		Count:             pods, Flavor: flavorName,
	}
}

func domainsOf(wl *kueue.Workload) []tas.TopologyDomainAssignment {
	return tas.InternalFrom(wl.Status.Admission.PodSetAssignments[0].TopologyAssignment).Domains
}
