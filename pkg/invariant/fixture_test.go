// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"
)

const gpu = corev1.ResourceName("example.com/gpu")

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

// part adds something to a state, or changes it.
type part func(*State)

// cluster is two nodes of four GPUs, a flavor with the hostname level, one without a
// topology, and the queue q with a quota of 50, with the parts added.
func cluster(parts ...part) State {
	hostnames := kueue.TopologyReference("hostnames")
	s := State{
		Topologies: []kueue.Topology{{
			ObjectMeta: metav1.ObjectMeta{Name: "hostnames"},
			Spec:       kueue.TopologySpec{Levels: []kueue.TopologyLevel{{NodeLabel: corev1.LabelHostname}}},
		}},
		Flavors: []kueue.ResourceFlavor{
			{ObjectMeta: metav1.ObjectMeta{Name: "f"}, Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{"kind": "gpu"}, TopologyName: &hostnames}},
			{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
		},
	}
	node("n1")(&s)
	node("n2")(&s)
	queue("q", 50)(&s)
	for _, p := range parts {
		p(&s)
	}
	return s
}

func settled(s *State) { s.Settled = true }

// node adds a node, or replaces the one of that name.
func node(name string, change ...func(*corev1.Node) bool) part {
	return func(s *State) {
		n := corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "kind": "gpu"}},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{gpu: quantity("4"), corev1.ResourcePods: quantity("110")},
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		}
		keep := true
		for _, c := range change {
			keep = c(&n) && keep
		}
		var others []corev1.Node
		for i := range s.Nodes {
			if s.Nodes[i].Name != name {
				others = append(others, s.Nodes[i])
			}
		}
		if keep {
			others = append(others, n)
		}
		s.Nodes = others
	}
}

func gone(*corev1.Node) bool { return false }

func cordoned(n *corev1.Node) bool {
	n.Spec.Unschedulable = true
	return true
}

func slots(n int64) func(*corev1.Node) bool {
	return func(node *corev1.Node) bool {
		node.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(n, resource.DecimalSI)
		return true
	}
}

func kind(k string) func(*corev1.Node) bool {
	return func(node *corev1.Node) bool {
		node.Labels["kind"] = k
		return true
	}
}

// option changes a queue or a job.
type option interface{ apply(any) }

type optionFunc func(any)

func (f optionFunc) apply(x any) { f(x) }

func onQueue(change func(*kueue.ClusterQueue, *kueue.ResourceQuota)) option {
	return optionFunc(func(x any) {
		cq := x.(*kueue.ClusterQueue)
		change(cq, &cq.Spec.ResourceGroups[0].Flavors[0].Resources[0])
	})
}

func onJob(change func(*kueue.Workload)) option {
	return optionFunc(func(x any) { change(x.(*kueue.Workload)) })
}

// queue adds a ClusterQueue, or replaces the one of that name.
func queue(name string, quota int64, options ...option) part {
	return func(s *State) {
		cq := kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
		cq.Spec.ResourceGroups = groups("f", quota)
		for _, o := range options {
			o.apply(&cq)
		}
		for i := range s.ClusterQueues {
			if s.ClusterQueues[i].Name == name {
				s.ClusterQueues[i] = cq
				return
			}
		}
		s.ClusterQueues = append(s.ClusterQueues, cq)
	}
}

func groups(flavor kueue.ResourceFlavorReference, quota int64) []kueue.ResourceGroup {
	return []kueue.ResourceGroup{{
		CoveredResources: []corev1.ResourceName{gpu},
		Flavors: []kueue.FlavorQuotas{{Name: flavor, Resources: []kueue.ResourceQuota{{
			Name: gpu, NominalQuota: *resource.NewQuantity(quota, resource.DecimalSI),
		}}}},
	}}
}

func cohort(name string, quota int64) part {
	return func(s *State) {
		c := kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.ResourceGroups = groups("f", quota)
		s.Cohorts = append(s.Cohorts, c)
	}
}

func member(cohort kueue.CohortReference) option {
	return onQueue(func(cq *kueue.ClusterQueue, _ *kueue.ResourceQuota) { cq.Spec.CohortName = cohort })
}

func borrow(n int64) option {
	return onQueue(func(_ *kueue.ClusterQueue, q *kueue.ResourceQuota) {
		q.BorrowingLimit = resource.NewQuantity(n, resource.DecimalSI)
	})
}

func lend(n int64) option {
	return onQueue(func(_ *kueue.ClusterQueue, q *kueue.ResourceQuota) {
		q.LendingLimit = resource.NewQuantity(n, resource.DecimalSI)
	})
}

// without moves a queue or a job to the flavor that has no topology.
var without option = optionFunc(func(x any) {
	switch x := x.(type) {
	case *kueue.ClusterQueue:
		x.Spec.ResourceGroups[0].Flavors[0].Name = "plain"
	case *kueue.Workload:
		for i := range x.Status.Admission.PodSetAssignments {
			x.Status.Admission.PodSetAssignments[i].Flavors[gpu] = "plain"
		}
	}
})

// on is how many pods are in each domain.
type on map[string]int32

// grant is a PodSet of one GPU a pod, with its assignment.
type grant struct {
	name  kueue.PodSetReference
	count int32
	on    on
}

func (g grant) apply(x any) {
	wl := x.(*kueue.Workload)
	wl.Spec.PodSets = append(wl.Spec.PodSets, kueue.PodSet{Name: g.name, Count: g.count, Template: corev1.PodTemplateSpec{Spec: podSpec()}})
	psa := kueue.PodSetAssignment{
		Name: g.name, Count: ptr.To(g.count), Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{gpu: "f"},
		ResourceUsage: corev1.ResourceList{gpu: *resource.NewQuantity(int64(g.count), resource.DecimalSI)},
	}
	if len(g.on) > 0 {
		ta := &tas.TopologyAssignment{Levels: []string{corev1.LabelHostname}}
		for name, n := range g.on {
			ta.Domains = append(ta.Domains, tas.TopologyDomainAssignment{Values: []string{name}, Count: n})
		}
		psa.TopologyAssignment = tas.V1Beta2From(ta)
	}
	wl.Status.Admission.PodSetAssignments = append(wl.Status.Admission.PodSetAssignments, psa)
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: quantity("1")}},
	}}}
}

// job adds the only slice of an elastic job, admitted in queue q.
func job(name string, options ...option) part {
	return func(s *State) {
		wl := kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name,
			Annotations: map[string]string{elasticAnnotation: "true", kueue.WorkloadSliceNameAnnotation: name},
		}}
		ownedBy(&wl, name)
		wl.Status.Admission = &kueue.Admission{ClusterQueue: "q"}
		set(&wl, kueue.WorkloadQuotaReserved, metav1.ConditionTrue, "QuotaReserved")
		set(&wl, kueue.WorkloadAdmitted, metav1.ConditionTrue, "Admitted")
		for _, o := range options {
			o.apply(&wl)
		}
		s.Workloads = append(s.Workloads, wl)
	}
}

func ownedBy(wl *kueue.Workload, job string) {
	wl.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: types.UID("uid-" + job), Controller: ptr.To(true)}}
}

func set(wl *kueue.Workload, kind string, status metav1.ConditionStatus, reason string) {
	apimeta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
}

var evicted = onJob(func(wl *kueue.Workload) { set(wl, kueue.WorkloadEvicted, metav1.ConditionTrue, "Preempted") })

// gaveBack is a slice whose quota was given back.
var gaveBack = onJob(func(wl *kueue.Workload) {
	set(wl, kueue.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending")
	wl.Status.Admission = nil
})

var waits = gaveBack

func finished(reason string) option {
	return onJob(func(wl *kueue.Workload) { set(wl, kueue.WorkloadFinished, metav1.ConditionTrue, reason) })
}

func in(queue kueue.ClusterQueueReference) option {
	return onJob(func(wl *kueue.Workload) { wl.Status.Admission.ClusterQueue = queue })
}

func unhealthy(node string) option {
	return onJob(func(wl *kueue.Workload) { wl.Status.UnhealthyNodes = []kueue.UnhealthyNode{{Name: node}} })
}

// chainOf makes the Workload a slice of another one's job.
func chainOf(first string) option {
	return onJob(func(wl *kueue.Workload) {
		wl.Annotations[kueue.WorkloadSliceNameAnnotation] = first
		ownedBy(wl, first)
	})
}

// naming makes the Workload claim to replace another one, whoever owns it.
func naming(old string) option {
	return onJob(func(wl *kueue.Workload) { wl.Annotations[replacementAnnotation] = "team/" + old })
}

// replacing makes the Workload the next slice after old.
func replacing(old string) option {
	return onJob(func(wl *kueue.Workload) {
		naming(old).apply(wl)
		chainOf(old).apply(wl)
	})
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
func ended(p *corev1.Pod)       { p.Status.Phase = corev1.PodSucceeded }
func gated(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.TopologySchedulingGate}}
}

// foreign adds pods that Kueue knows nothing about.
func foreign(node string, n int, change ...func(*corev1.Pod)) part {
	return addPods("", "", node, n, change...)
}

// runs adds released pods of a job's group.
func runs(job, group, node string, n int, change ...func(*corev1.Pod)) part {
	return addPods(job, group, node, n, change...)
}

func addPods(job, group, node string, n int, change ...func(*corev1.Pod)) part {
	return func(s *State) {
		for range n {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("p%d", len(s.Pods))}, Spec: podSpec()}
			pod.Spec.NodeName = node
			if job != "" {
				pod.Labels = map[string]string{podSetLabel: group}
				pod.Annotations = map[string]string{kueue.WorkloadSliceNameAnnotation: job}
			}
			for _, c := range change {
				c(&pod)
			}
			s.Pods = append(s.Pods, pod)
		}
	}
}
