// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// flavorResource is what quotas are counted by.
type flavorResource struct {
	flavor   kueue.ResourceFlavorReference
	resource corev1.ResourceName
}

func (fr flavorResource) String() string { return string(fr.flavor) + "/" + string(fr.resource) }

// quotaNode is a ClusterQueue or a Cohort in the tree of quotas.
type quotaNode struct {
	name     string
	isQueue  bool
	parent   *quotaNode
	children []*quotaNode
	quotas   map[flavorResource]kueue.ResourceQuota
	use      map[flavorResource]int64
	parts    map[flavorResource]map[string]int64
}

// checkQuota compares what is held with the quotas, from the ClusterQueues up.
func (v *view) checkQuota() {
	queues, cohorts := v.quotaTree()
	for _, c := range v.chains {
		for name, held := range c.quotaHeld() {
			node := queues[name]
			if node == nil {
				v.report(UndecodableObject, "workload "+c.name, "it holds quota of ClusterQueue %q, which doesn't exist", name)
				continue
			}
			for fr, n := range held {
				node.use[fr] += n
				if node.parts[fr] == nil {
					node.parts[fr] = map[string]int64{}
				}
				node.parts[fr][c.name] += n
			}
		}
	}
	resources := map[flavorResource]bool{}
	for _, q := range queues {
		for fr := range q.quotas {
			resources[fr] = true
		}
		for fr := range q.use {
			resources[fr] = true
		}
	}
	for _, fr := range slices.SortedFunc(maps.Keys(resources), func(a, b flavorResource) int { return cmp.Compare(a.String(), b.String()) }) {
		for _, name := range slices.Sorted(maps.Keys(queues)) {
			q := queues[name]
			limit := q.nominal(fr)
			if q.parent != nil {
				limit = q.mayUse(fr)
			}
			if limit >= 0 {
				v.count(QueueQuota, fmt.Sprintf("ClusterQueue %s %s", name, fr), string(name)+"/"+fr.String(), q.use[fr], limit, q.parts[fr])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(cohorts)) {
			c := cohorts[name]
			limit := c.subtree(fr)
			if c.parent != nil {
				if limit = c.mayUse(fr); limit < 0 {
					continue
				}
			}
			parts := map[string]int64{}
			for _, child := range c.children {
				parts[child.name] = child.demand(fr)
			}
			v.count(CohortQuota, fmt.Sprintf("Cohort %s %s", name, fr), string(name)+"/"+fr.String(), c.total(fr), limit, parts)
		}
	}
}

func (v *view) quotaTree() (map[kueue.ClusterQueueReference]*quotaNode, map[kueue.CohortReference]*quotaNode) {
	queues := make(map[kueue.ClusterQueueReference]*quotaNode, len(v.ClusterQueues))
	cohorts := map[kueue.CohortReference]*quotaNode{}
	cohort := func(name kueue.CohortReference) *quotaNode {
		if cohorts[name] == nil {
			cohorts[name] = &quotaNode{name: string(name)}
		}
		return cohorts[name]
	}
	attach := func(child *quotaNode, parent kueue.CohortReference) {
		if parent != "" {
			child.parent = cohort(parent)
			child.parent.children = append(child.parent.children, child)
		}
	}
	for i := range v.Cohorts {
		c := cohort(kueue.CohortReference(v.Cohorts[i].Name))
		c.quotas = quotasOf(v.Cohorts[i].Spec.ResourceGroups)
		attach(c, v.Cohorts[i].Spec.ParentName)
	}
	for i := range v.ClusterQueues {
		cq := &v.ClusterQueues[i]
		q := &quotaNode{
			name: cq.Name, isQueue: true, quotas: quotasOf(cq.Spec.ResourceGroups),
			use: map[flavorResource]int64{}, parts: map[flavorResource]map[string]int64{},
		}
		queues[kueue.ClusterQueueReference(cq.Name)] = q
		attach(q, cq.Spec.CohortName)
	}
	return queues, cohorts
}

func quotasOf(groups []kueue.ResourceGroup) map[flavorResource]kueue.ResourceQuota {
	out := map[flavorResource]kueue.ResourceQuota{}
	for i := range groups {
		for _, flavor := range groups[i].Flavors {
			for _, q := range flavor.Resources {
				out[flavorResource{flavor.Name, q.Name}] = q
			}
		}
	}
	return out
}

func (n *quotaNode) nominal(fr flavorResource) int64 {
	q := n.quotas[fr]
	return units(fr.resource, q.NominalQuota)
}

// subtree is the node's own quota and what its children put into the common pot.
func (n *quotaNode) subtree(fr flavorResource) int64 {
	total := n.nominal(fr)
	for _, c := range n.children {
		total += c.subtree(fr) - c.reserved(fr)
	}
	return total
}

// reserved is what a node keeps for itself: its quota beyond the lending limit.
func (n *quotaNode) reserved(fr flavorResource) int64 {
	q := n.quotas[fr]
	if n.parent == nil || q.LendingLimit == nil {
		return 0
	}
	return max(0, n.subtree(fr)-units(fr.resource, *q.LendingLimit))
}

// mayUse is the most a member of a cohort may use, -1 without a limit.
func (n *quotaNode) mayUse(fr flavorResource) int64 {
	q := n.quotas[fr]
	if q.BorrowingLimit == nil {
		return -1
	}
	return n.subtree(fr) + units(fr.resource, *q.BorrowingLimit)
}

// total is what is in use below the node and counts against its pot.
func (n *quotaNode) total(fr flavorResource) int64 {
	if n.isQueue {
		return n.use[fr]
	}
	var sum int64
	for _, c := range n.children {
		sum += c.demand(fr)
	}
	return sum
}

// demand is what the node takes from its parent's pot.
func (n *quotaNode) demand(fr flavorResource) int64 { return max(0, n.total(fr)-n.reserved(fr)) }

// quotaHeld is the quota that a chain holds, by ClusterQueue. A pod that is in two
// slices counts once.
func (c *chain) quotaHeld() map[kueue.ClusterQueueReference]map[flavorResource]int64 {
	type place struct {
		queue kueue.ClusterQueueReference
		fr    flavorResource
		group kueue.PodSetReference
	}
	most := map[place]int64{}
	for _, s := range c.holding {
		for i := range s.groups {
			g := &s.groups[i]
			for res, perPod := range g.quotaUse {
				p := place{s.Status.Admission.ClusterQueue, flavorResource{g.flavors[res], res}, g.name}
				most[p] = max(most[p], perPod*g.count)
			}
		}
	}
	out := map[kueue.ClusterQueueReference]map[flavorResource]int64{}
	for p, n := range most {
		if out[p.queue] == nil {
			out[p.queue] = map[flavorResource]int64{}
		}
		out[p.queue][p.fr] += n
	}
	return out
}
