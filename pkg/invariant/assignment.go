// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// checkAssignments looks at each slice's assignment by itself.
func (v *view) checkAssignments() {
	for _, c := range v.chains {
		for _, s := range c.holding {
			for i := range s.groups {
				v.checkTotal(c, s, &s.groups[i])
				v.checkDomains(s, &s.groups[i])
			}
		}
	}
}

func (v *view) checkTotal(c *chain, s *slice, g *group) {
	subject := "workload " + s.Name + "/" + string(g.name)
	// A shrink trims the assignment to the pods that stay, then lowers the count.
	staying := int64(0)
	for _, pod := range v.pods[podKey{c.name, g.name}] {
		if released(pod) && pod.DeletionTimestamp == nil {
			staying++
		}
	}
	if !g.assigned {
		for res, flavor := range g.flavors {
			f := v.flavors[flavor]
			if g.count > 0 && f != nil && f.Spec.TopologyName != nil && (v.Settled || staying > 0) {
				v.report(AssignmentMissing, subject, "%d pods on flavor %s (%s), which has a topology, and no assignment", g.count, flavor, res)
				break
			}
		}
		return
	}
	var total int64
	for _, n := range g.domains {
		total += n
	}
	switch {
	case total == g.count:
	case total > g.count:
		v.report(AssignmentTotal, subject, "the assignment places %d pods, the PodSet has %d: %s", total, g.count, join(g.domains))
	case v.Settled:
		v.report(AssignmentTotal, subject, "the assignment places %d pods, the PodSet has %d, and nothing is under way: %s", total, g.count, join(g.domains))
	case staying > total:
		v.report(AssignmentTotal, subject, "the assignment places %d pods, the PodSet has %d, and %d stay: %s", total, g.count, staying, join(g.domains))
	}
}

func (v *view) checkDomains(s *slice, g *group) {
	if !g.assigned {
		return
	}
	subject := "workload " + s.Name + "/" + string(g.name)
	labels := v.flavorLabels(g)
	for _, domain := range slices.Sorted(maps.Keys(g.domains)) {
		values := strings.Split(domain, domainSeparator)
		if len(values) != len(g.levels) {
			v.report(UndecodableObject, subject, "domain %q has %d values for %d levels", domain, len(values), len(g.levels))
			continue
		}
		nodes := v.nodesOf(g.levels, "="+domain)
		alive := false
		for _, node := range nodes {
			if !hasLabels(node, labels) {
				v.report(UnknownDomain, subject, "node %s is not of the flavor that the pods were given", node.Name)
			}
			alive = alive || isReady(node)
		}
		if alive || !v.Settled || !apimeta.IsStatusConditionTrue(s.Status.Conditions, kueue.WorkloadAdmitted) ||
			isEvicted(s.Workload) {
			continue
		}
		recorded := slices.ContainsFunc(s.Status.UnhealthyNodes, func(n kueue.UnhealthyNode) bool { return n.Name == values[len(values)-1] })
		if !recorded {
			v.report(LostNodeForgotten, subject, "domain %s with %d pods has no node that is ready, and the status doesn't say so", domain, g.domains[domain])
		}
	}
}

func (v *view) flavorLabels(g *group) map[string]string {
	for _, name := range g.flavors {
		if f := v.flavors[name]; f != nil && f.Spec.TopologyName != nil {
			return f.Spec.NodeLabels
		}
	}
	return nil
}

func hasLabels(node *corev1.Node, labels map[string]string) bool {
	for key, value := range labels {
		if node.Labels[key] != value {
			return false
		}
	}
	return true
}

func isReady(node *corev1.Node) bool {
	for _, cond := range node.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}
