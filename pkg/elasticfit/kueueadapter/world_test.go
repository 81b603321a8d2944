// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

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
	"sigs.k8s.io/kueue/pkg/workload"
)

const (
	gpu       = corev1.ResourceName("example.com/gpu")
	kindLabel = "example.com/kind"
	queueName = "queue"
)

// emptyAPI is an API server without objects.
type emptyAPI struct{ client.Client }

func (emptyAPI) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// world is a random cluster, in the cache of Kueue's algorithm and in that of the
// engine. Both caches are told the same.
type world struct {
	r         *rand.Rand
	levels    []string
	flavors   []kueue.ResourceFlavorReference
	caches    [2]*schdcache.Cache
	nodes     map[string]*corev1.Node
	pods      []*corev1.Pod
	workloads []*kueue.Workload
	serial    int
	// scale multiplies what the nodes have; names is how many nodes there may be.
	scale int64
	names int
}

func newWorld(r *rand.Rand, engines *Engines) (*world, error) {
	w := &world{r: r, nodes: map[string]*corev1.Node{}, scale: pick(r, int64(1), 2, 4, 40), names: 20}
	if r.IntN(30) == 0 {
		w.names = 400
	}
	all := []string{"example.com/zone", "example.com/block", "example.com/rack", corev1.LabelHostname}
	w.levels = slices.Clone(all[r.IntN(4):])
	if len(w.levels) > 1 && r.IntN(5) == 0 {
		w.levels = w.levels[:len(w.levels)-1]
	}
	topology := &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: "topology"}}
	for _, level := range w.levels {
		topology.Spec.Levels = append(topology.Spec.Levels, kueue.TopologyLevel{NodeLabel: level})
	}
	w.flavors = []kueue.ResourceFlavorReference{"f1", "f2"}[:1+r.IntN(2)]
	queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: queueName}, Spec: kueue.ClusterQueueSpec{NamespaceSelector: &metav1.LabelSelector{}}}
	group := kueue.ResourceGroup{CoveredResources: []corev1.ResourceName{corev1.ResourceCPU, gpu}}
	var flavors []*kueue.ResourceFlavor
	for _, name := range w.flavors {
		ref := kueue.TopologyReference(topology.Name)
		flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: string(name)}, Spec: kueue.ResourceFlavorSpec{TopologyName: &ref}}
		if r.IntN(3) == 0 {
			flavor.Spec.NodeLabels = map[string]string{kindLabel: pick(r, "a", "b")}
		}
		if r.IntN(4) == 0 {
			flavor.Spec.Tolerations = []corev1.Toleration{{Key: "t1", Operator: corev1.TolerationOpExists}}
		}
		flavors = append(flavors, flavor)
		group.Flavors = append(group.Flavors, kueue.FlavorQuotas{Name: name, Resources: []kueue.ResourceQuota{
			{Name: corev1.ResourceCPU, NominalQuota: resource.MustParse("1000")}, {Name: gpu, NominalQuota: resource.MustParse("1000")},
		}})
	}
	queue.Spec.ResourceGroups = []kueue.ResourceGroup{group}
	for i := range w.caches {
		var opts []schdcache.Option
		if i == 1 {
			opts = append(opts, schdcache.WithTopologyFit(engines))
		}
		w.caches[i] = schdcache.New(emptyAPI{}, opts...)
		w.caches[i].AddOrUpdateTopology(logr.Discard(), topology)
		for _, flavor := range flavors {
			w.caches[i].AddOrUpdateResourceFlavor(logr.Discard(), flavor)
		}
		if err := w.caches[i].AddClusterQueue(context.Background(), queue); err != nil {
			return nil, err
		}
	}
	for range r.IntN(w.names * 3 / 2) {
		w.changeNode()
	}
	return w, nil
}

func (w *world) nodeName() string { return fmt.Sprintf("n%02d", w.r.IntN(w.names)) }

// change makes one random change to the cluster.
func (w *world) change() {
	switch w.r.IntN(6) {
	case 0:
		w.changeNode()
	case 1, 2:
		w.changePod()
	case 3:
		w.removeWorkload()
	default:
		w.addWorkload()
	}
}

func (w *world) changeNode() {
	name := w.nodeName()
	if w.nodes[name] != nil && w.r.IntN(3) == 0 {
		delete(w.nodes, name)
		for _, c := range w.caches {
			c.TASCache().DeleteNodeByName(name)
		}
		return
	}
	r := w.r
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU:  *resource.NewQuantity(int64(r.IntN(12))*w.scale, resource.DecimalSI),
				corev1.ResourcePods: *resource.NewQuantity(pick(r, int64(110), 110, 500, 3, 1, 0), resource.DecimalSI),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: pick(r, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}},
		},
		Spec: corev1.NodeSpec{Unschedulable: r.IntN(15) == 0},
	}
	if r.IntN(4) > 0 {
		node.Status.Allocatable[gpu] = *resource.NewQuantity(int64(r.IntN(9))*w.scale, resource.DecimalSI)
	}
	for _, level := range []string{"example.com/zone", "example.com/block", "example.com/rack"} {
		if r.IntN(25) > 0 {
			node.Labels[level] = pick(r, "a", "a-b", "b", "c")
		}
	}
	if r.IntN(3) > 0 {
		node.Labels[kindLabel] = pick(r, "a", "b")
	}
	if r.IntN(4) == 0 {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: pick(r, "t1", "t2"), Value: pick(r, "", "x"),
			Effect: pick(r, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		})
	}
	w.nodes[name] = node
	for _, c := range w.caches {
		c.TASCache().SyncNode(node)
	}
}

func (w *world) changePod() {
	if len(w.pods) > 0 && w.r.IntN(2) == 0 {
		i := w.r.IntN(len(w.pods))
		for _, c := range w.caches {
			c.TASCache().DeletePodByKey(client.ObjectKeyFromObject(w.pods[i]), logr.Discard())
		}
		w.pods = slices.Delete(w.pods, i, i+1)
		return
	}
	w.serial++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod%d", w.serial), Namespace: "ns"},
		Spec: corev1.PodSpec{NodeName: w.nodeName(), Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				pick(w.r, corev1.ResourceCPU, corev1.ResourceCPU, gpu): *resource.NewQuantity(int64(w.r.IntN(4)), resource.DecimalSI),
			}},
		}}},
	}
	w.pods = append(w.pods, pod)
	for _, c := range w.caches {
		c.TASCache().Update(pod, logr.Discard())
	}
}

// addWorkload admits a workload on random leaves, whether there is room or not.
func (w *world) addWorkload() {
	w.serial++
	wl := w.workload(fmt.Sprintf("wl%d", w.serial), pick(w.r, w.flavors...), w.randomAssignment(1+w.r.IntN(3)), w.perPod())
	w.workloads = append(w.workloads, wl)
	for _, c := range w.caches {
		c.AddOrUpdateWorkload(logr.Discard(), wl)
	}
}

func (w *world) removeWorkload() {
	if len(w.workloads) == 0 {
		return
	}
	i := w.r.IntN(len(w.workloads))
	for _, c := range w.caches {
		if err := c.DeleteWorkload(logr.Discard(), workload.Key(w.workloads[i])); err != nil {
			panic(err)
		}
	}
	w.workloads = slices.Delete(w.workloads, i, i+1)
}

// count is a number of pods, rarely one that takes many nodes.
func (w *world) count() int32 {
	if w.r.IntN(5) == 0 {
		return w.r.Int32N(20 * int32(w.names))
	}
	return w.r.Int32N(13)
}

func (w *world) perPod() corev1.ResourceList {
	list := corev1.ResourceList{}
	if w.r.IntN(4) > 0 {
		list[corev1.ResourceCPU] = *resource.NewQuantity(int64(w.r.IntN(4)), resource.DecimalSI)
	}
	if w.r.IntN(2) > 0 {
		list[gpu] = *resource.NewQuantity(int64(w.r.IntN(5)), resource.DecimalSI)
	}
	return list
}

// randomAssignment names up to n leaves, most of which exist.
func (w *world) randomAssignment(n int) *tas.TopologyAssignment {
	from := 0
	if tas.IsLowestLevelHostname(w.levels) {
		from = len(w.levels) - 1
	}
	ta := &tas.TopologyAssignment{Levels: w.levels[from:]}
	for range n {
		name := w.nodeName()
		values := []string{name}
		if node := w.nodes[name]; from == 0 {
			if node == nil {
				continue
			}
			values = tas.LevelValues(w.levels, node.Labels)
		}
		if !slices.ContainsFunc(ta.Domains, func(d tas.TopologyDomainAssignment) bool { return slices.Equal(d.Values, values) }) {
			ta.Domains = append(ta.Domains, tas.TopologyDomainAssignment{Values: values, Count: 1 + w.r.Int32N(3)})
		}
	}
	slices.SortFunc(ta.Domains, func(a, b tas.TopologyDomainAssignment) int { return slices.Compare(a.Values, b.Values) })
	return ta
}

func (w *world) workload(name string, flavor kueue.ResourceFlavorReference, ta *tas.TopologyAssignment, perPod corev1.ResourceList) *kueue.Workload {
	count := tas.CountPodsInAssignment(ta)
	usage := corev1.ResourceList{}
	for name, q := range perPod {
		q.Mul(int64(count))
		usage[name] = q
	}
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{
			Name: "main", Count: count,
			TopologyRequest: &kueue.PodSetTopologyRequest{Unconstrained: new(true)},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Resources: corev1.ResourceRequirements{Requests: perPod},
			}}}},
		}}},
		Status: kueue.WorkloadStatus{
			Conditions: []metav1.Condition{
				{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue},
				{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue},
			},
			Admission: &kueue.Admission{ClusterQueue: queueName, PodSetAssignments: []kueue.PodSetAssignment{{
				Name: "main", Count: new(count), ResourceUsage: usage,
				Flavors:            map[corev1.ResourceName]kueue.ResourceFlavorReference{corev1.ResourceCPU: flavor, gpu: flavor},
				TopologyAssignment: tas.V1Beta2From(ta),
			}}},
		},
	}
}

// requests returns random requests of one workload, and options to find them with.
func (w *world) requests() (schdcache.WorkloadTASRequests, []schdcache.FindTopologyAssignmentsOption) {
	r := w.r
	byFlavor := schdcache.WorkloadTASRequests{}
	w.serial++
	wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "ns", UID: types.UID(fmt.Sprintf("uid%d", w.serial))}}
	var options []schdcache.FindTopologyAssignmentsOption
	if r.IntN(6) == 0 {
		options = append(options, schdcache.WithSimulateEmpty(true))
	}
	for i := range 1 + r.IntN(3) {
		flavor := pick(r, w.flavors...)
		workers := w.request(kueue.PodSetReference(fmt.Sprintf("ps%d", i)), flavor, w.count())
		if r.IntN(4) == 0 {
			workers.PodSetGroupName = new(fmt.Sprintf("group%d", i))
			leader := w.request(kueue.PodSetReference(fmt.Sprintf("leader%d", i)), flavor, 1)
			leader.PodSetGroupName, leader.PodSet.TopologyRequest = workers.PodSetGroupName, workers.PodSet.TopologyRequest
			workers.Count = max(1, workers.Count)
			byFlavor[flavor] = append(byFlavor[flavor], leader)
		}
		byFlavor[flavor] = append(byFlavor[flavor], workers)
	}
	if r.IntN(8) == 0 {
		w.failNode(wl, byFlavor)
	}
	return byFlavor, append(options, schdcache.WithWorkload(wl))
}

// failNode makes the request one to replace a node of an admitted workload.
func (w *world) failNode(wl *kueue.Workload, byFlavor schdcache.WorkloadTASRequests) {
	flavor := pick(w.r, w.flavors...)
	admitted := w.workload("new", flavor, w.randomAssignment(1+w.r.IntN(4)), w.perPod())
	ta := tas.InternalFrom(admitted.Status.Admission.PodSetAssignments[0].TopologyAssignment)
	if len(ta.Domains) == 0 {
		return
	}
	wl.Status = admitted.Status
	values := pick(w.r, ta.Domains...).Values
	wl.Status.UnhealthyNodes = []kueue.UnhealthyNode{{Name: values[len(values)-1]}}
	clear(byFlavor)
	byFlavor[flavor] = schdcache.FlavorTASRequests{w.request("main", flavor, tas.CountPodsInAssignment(ta))}
	byFlavor[flavor][0].PreviousAssignment = nil
}

func (w *world) request(name kueue.PodSetReference, flavor kueue.ResourceFlavorReference, count int32) schdcache.TASPodSetRequests {
	r := w.r
	level := func() *string { return new(pick(r, w.levels...)) }
	topology := &kueue.PodSetTopologyRequest{}
	implied := false
	switch r.IntN(7) {
	case 0, 1:
		topology.Required = level()
	case 2, 3:
		topology.Preferred = level()
	case 4:
		implied = true
		if r.IntN(2) == 0 {
			topology = nil
		}
	default:
		topology.Unconstrained = new(true)
	}
	if topology != nil && r.IntN(3) == 0 {
		count = w.slices(topology, count)
	}
	ps := &kueue.PodSet{Name: name, Count: count, TopologyRequest: topology}
	w.restrict(&ps.Template.Spec)
	requests := resources.NewRequestsFromResourceList(w.perPod())
	result := schdcache.TASPodSetRequests{PodSet: ps, SinglePodRequests: requests, Count: count, Flavor: flavor, Implied: implied}
	if r.IntN(3) == 0 {
		result.PodSetUpdates = []*kueue.PodSetUpdate{{Name: name, NodeSelector: map[string]string{kindLabel: pick(r, "a", "b")}}}
	}
	if r.IntN(3) == 0 {
		result.PreviousAssignment = tas.V1Beta2From(w.randomAssignment(1 + r.IntN(3)))
		result.PinPrevious = r.IntN(2) == 0
	}
	return result
}

// slices asks for slices, mostly for valid ones, and returns a count to match.
func (w *world) slices(topology *kueue.PodSetTopologyRequest, count int32) int32 {
	r := w.r
	size := 1 + r.Int32N(4)
	if r.IntN(3) > 0 {
		topology.PodSetSliceRequiredTopology, topology.PodSetSliceSize = new(pick(r, w.levels...)), new(size)
		return count / size * size
	}
	size = pick(r, int32(2), 4, 4, 8)
	for i := r.IntN(len(w.levels)); i < len(w.levels) && size > 0; i++ {
		topology.PodsetSliceRequiredTopologyConstraints = append(topology.PodsetSliceRequiredTopologyConstraints,
			kueue.PodsetSliceRequiredTopologyConstraint{Topology: w.levels[i], Size: size})
		if r.IntN(3) == 0 {
			break
		}
		size = max(1, size/pick(r, int32(2), 2, 4, 3))
	}
	first := topology.PodsetSliceRequiredTopologyConstraints[0].Size
	return max(first, count/first*first)
}

// restrict gives pods node labels, tolerations and affinities at random.
func (w *world) restrict(spec *corev1.PodSpec) {
	r := w.r
	if r.IntN(4) == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: pick(r, "t1", "t2"), Operator: corev1.TolerationOpEqual, Value: pick(r, "", "x")}}
	}
	if r.IntN(6) == 0 {
		spec.NodeSelector = map[string]string{pick(r, w.levels...): pick(r, "a", "b", "n01", "not valid!")}
	}
	if r.IntN(6) > 0 {
		return
	}
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: kindLabel, Operator: pick(r, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOperator("Wrong")), Values: []string{pick(r, "a", "b")},
	}}}
	affinity := &corev1.NodeAffinity{}
	if r.IntN(2) == 0 {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
	} else {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: term}}
	}
	spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
}
