// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/constants"
)

const (
	gpu       = corev1.ResourceName("example.com/gpu")
	namespace = "team"
	topology  = "default"
	rackLabel = "example.com/rack"
	kindLabel = "example.com/kind"
	// plainNode has the CPUs of the flavor without a topology.
	plainNode   = "plain"
	plainFlavor = "plain"
)

// setup is the cluster that a sequence starts with. It follows from the seed alone.
type setup struct {
	nodes      []nodeSetup
	racks      bool // rack and hostname levels; else hostname alone
	headsPlain bool // heads ask for CPUs of a flavor without a topology; else for a GPU
	flavors    []flavorSetup
	queues     []queueSetup
	cohort     bool
	slow       int  // per cent of the pods that terminate slowly
	flaky      bool // snapshots may fail
	hurried    bool // scheduling cycles rarely wait for the reconcilers
	habits
	// constrained lets two in three jobs ask for a rack.
	constrained bool
	elasticFit  bool // the fit engine places the pods; else Kueue's algorithm
}

// habits are how fast and how well things happen. They have a source of their own, so
// that what else a seed chooses doesn't depend on them.
type habits struct {
	quick  bool // the steps of a sequence follow each other within a second
	eager  bool // pods come and go before the reconcilers are done
	bursts bool // jobs come to all queues at a time
	shaky  int  // one in so many writes to the status of a Workload fails, none if zero
}

func newHabits(r *rand.Rand) habits {
	h := habits{quick: r.IntN(4) == 0, eager: r.IntN(4) == 0, bursts: r.IntN(4) == 0, shaky: pick(r, 0, 0, 0, 0, 0, 0, 4, 16)}
	if r.IntN(8) == 0 {
		h.quick, h.eager, h.shaky = true, true, 4
	}
	return h
}

type nodeSetup struct {
	name, rack, kind string
	gpus, pods       int64
}

type flavorSetup struct{ name, kind string }

type queueSetup struct {
	name       string
	flavors    []string
	quota      []int64 // per flavor
	borrowing  int64   // limit, -1 for none
	lending    int64   // limit, -1 for none
	preemption kueue.ClusterQueuePreemption
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func newSetup(r *rand.Rand) setup {
	s := setup{racks: r.IntN(3) == 0, headsPlain: r.IntN(2) == 0, slow: pick(r, 0, 0, 30, 100), flaky: r.IntN(8) == 0, hurried: r.IntN(3) == 0}
	count := pick(r, 1, 1, 2, 2, 3, 4)
	if r.IntN(8) == 0 {
		count = 5 + r.IntN(36)
	}
	kinds := []string{"a"}
	switch r.IntN(4) {
	case 0: // two flavors on the same nodes
		s.flavors = []flavorSetup{{"f1", "a"}, {"f2", "a"}}
	case 1: // two flavors on different nodes
		s.flavors = []flavorSetup{{"f1", "a"}, {"f2", "b"}}
		kinds = []string{"a", "b"}
		count = max(count, 2)
	default:
		// A flavor without labels leaves no trace in the templates of its jobs.
		s.flavors = []flavorSetup{{"f1", pick(r, "a", "a", "")}}
	}
	var total int64
	for i := range count {
		n := nodeSetup{
			name: fmt.Sprintf("n%02d", i+1), rack: fmt.Sprintf("r%d", i%3+1), kind: kinds[i%len(kinds)],
			gpus: pick(r, int64(2), 3, 4, 4, 6, 8),
		}
		n.pods = pick(r, 110, 110, 110, n.gpus, max(1, n.gpus-1))
		total += n.gpus
		s.nodes = append(s.nodes, n)
	}
	queues := pick(r, 1, 1, 2, 2, 2, 3)
	s.cohort = queues > 1 && r.IntN(3) > 0
	for i := range queues {
		q := queueSetup{
			name: fmt.Sprintf("q%d", i+1), borrowing: -1, lending: -1,
			preemption: kueue.ClusterQueuePreemption{
				WithinClusterQueue: pick(r, kueue.PreemptionPolicyNever, kueue.PreemptionPolicyLowerPriority,
					kueue.PreemptionPolicyLowerPriority, kueue.PreemptionPolicyLowerPriority, kueue.PreemptionPolicyLowerOrNewerEqualPriority),
				ReclaimWithinCohort: kueue.PreemptionPolicyNever,
			},
		}
		if s.cohort {
			q.preemption.ReclaimWithinCohort = pick(r, kueue.PreemptionPolicyNever, kueue.PreemptionPolicyLowerPriority, kueue.PreemptionPolicyAny)
			if r.IntN(4) == 0 {
				q.borrowing = int64(r.IntN(4))
			}
			if r.IntN(4) == 0 {
				q.lending = int64(r.IntN(4))
			}
		}
		for j, f := range s.flavors {
			// Flavors on the same nodes are for one queue each as a rule.
			if len(kinds) == 1 && len(s.flavors) == 2 && queues > 1 && j != i%2 {
				continue
			}
			q.flavors = append(q.flavors, f.name)
			q.quota = append(q.quota, pick(r, total, total, max(1, total/int64(queues)), 3+int64(r.IntN(6)), 50))
		}
		s.queues = append(s.queues, q)
	}
	return s
}

func (n nodeSetup) object() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.name, Labels: map[string]string{
			corev1.LabelHostname: n.name, rackLabel: n.rack, kindLabel: n.kind,
		}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				gpu:                 *resource.NewQuantity(n.gpus, resource.DecimalSI),
				corev1.ResourceCPU:  resource.MustParse("64"),
				corev1.ResourcePods: *resource.NewQuantity(n.pods, resource.DecimalSI),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func (s setup) topology() *kueue.Topology {
	t := &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: topology}}
	if s.racks {
		t.Spec.Levels = append(t.Spec.Levels, kueue.TopologyLevel{NodeLabel: rackLabel})
	}
	t.Spec.Levels = append(t.Spec.Levels, kueue.TopologyLevel{NodeLabel: corev1.LabelHostname})
	return t
}

func (f flavorSetup) object() *kueue.ResourceFlavor {
	name := kueue.TopologyReference(topology)
	flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: f.name}, Spec: kueue.ResourceFlavorSpec{TopologyName: &name}}
	if f.kind != "" {
		flavor.Spec.NodeLabels = map[string]string{kindLabel: f.kind}
	}
	return flavor
}

func (q queueSetup) object(cohort bool) *kueue.ClusterQueue {
	cq := &kueue.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: q.name},
		Spec: kueue.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			QueueingStrategy:  kueue.BestEffortFIFO,
			Preemption:        &q.preemption,
			FlavorFungibility: &kueue.FlavorFungibility{WhenCanBorrow: kueue.MayStopSearch, WhenCanPreempt: kueue.TryNextFlavor},
		},
	}
	if cohort {
		cq.Spec.CohortName = "all"
	}
	group := kueue.ResourceGroup{CoveredResources: []corev1.ResourceName{gpu}}
	for i, flavor := range q.flavors {
		quota := kueue.ResourceQuota{Name: gpu, NominalQuota: *resource.NewQuantity(q.quota[i], resource.DecimalSI)}
		if q.borrowing >= 0 {
			quota.BorrowingLimit = resource.NewQuantity(q.borrowing, resource.DecimalSI)
		}
		if q.lending >= 0 {
			quota.LendingLimit = resource.NewQuantity(q.lending, resource.DecimalSI)
		}
		group.Flavors = append(group.Flavors, kueue.FlavorQuotas{Name: kueue.ResourceFlavorReference(flavor), Resources: []kueue.ResourceQuota{quota}})
	}
	cq.Spec.ResourceGroups = []kueue.ResourceGroup{group, {
		CoveredResources: []corev1.ResourceName{corev1.ResourceCPU},
		Flavors: []kueue.FlavorQuotas{{Name: plainFlavor, Resources: []kueue.ResourceQuota{{
			Name: corev1.ResourceCPU, NominalQuota: resource.MustParse("100"),
		}}}},
	}}
	return cq
}

// priorities are the WorkloadPriorityClasses that jobs pick from.
var priorities = []int32{0, 10, 20}

func priorityClass(i int) string { return fmt.Sprintf("p%d", priorities[i%len(priorities)]) }

const queueLabel = constants.QueueLabel
