// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// domainUse is what is admitted to one domain.
type domainUse struct {
	levels []string
	use    map[corev1.ResourceName]int64
	parts  map[corev1.ResourceName]map[string]int64
}

// checkCapacity compares what the assignments put into each domain, over all
// flavors, with what the domain's nodes have for Kueue.
func (v *view) checkCapacity() {
	uses := map[string]*domainUse{}
	for _, c := range v.chains {
		for _, name := range c.groupNames() {
			g := c.newest(name)
			_, domains := c.held(name)
			for domain, pods := range domains {
				key := strings.Join(g.levels, domainSeparator) + "=" + domain
				u := uses[key]
				if u == nil {
					u = &domainUse{levels: g.levels, use: map[corev1.ResourceName]int64{}, parts: map[corev1.ResourceName]map[string]int64{}}
					uses[key] = u
				}
				u.add(corev1.ResourcePods, pods, c.name+"/"+string(name))
				for res, perPod := range g.podRequest {
					u.add(res, perPod*pods, c.name+"/"+string(name))
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(uses)) {
		v.compareDomain(key, uses[key])
	}
}

func (u *domainUse) add(res corev1.ResourceName, n int64, part string) {
	u.use[res] += n
	if u.parts[res] == nil {
		u.parts[res] = map[string]int64{}
	}
	u.parts[res][part] += n
}

func (v *view) compareDomain(key string, u *domainUse) {
	limit := map[corev1.ResourceName]int64{}
	for _, node := range v.nodesOf(u.levels, key) {
		if !usable(node) {
			continue
		}
		for name, quantity := range node.Status.Allocatable {
			limit[name] += units(name, quantity)
		}
		for _, pod := range v.foreign {
			if pod.Spec.NodeName != node.Name {
				continue
			}
			limit[corev1.ResourcePods]--
			for name, n := range podRequests(&pod.Spec) {
				limit[name] -= n
			}
		}
	}
	names := map[corev1.ResourceName]bool{}
	for name := range limit {
		names[name] = true
	}
	for name := range u.use {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		rule := DomainCapacity
		if name == corev1.ResourcePods {
			rule = DomainPodSlots
		}
		v.count(rule, "domain "+key+" "+string(name), key+"/"+string(name), u.use[name], limit[name], u.parts[name])
	}
}

// nodesOf are the nodes in a domain, given as "level,level=value,value".
func (v *view) nodesOf(levels []string, key string) []*corev1.Node {
	_, joined, _ := strings.Cut(key, "=")
	values := strings.Split(joined, domainSeparator)
	var out []*corev1.Node
	for i := range v.Nodes {
		if inDomain(&v.Nodes[i], levels, values) {
			out = append(out, &v.Nodes[i])
		}
	}
	return out
}

// inDomain tells whether the node lies in the domain.
func inDomain(node *corev1.Node, levels, values []string) bool {
	if len(levels) != len(values) {
		return false
	}
	for i, level := range levels {
		if node.Labels[level] != values[i] {
			return false
		}
	}
	return true
}

// usable tells whether new pods may be placed on the node. What runs on a node that
// isn't usable is tolerated by the Checker.
func usable(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && isReady(node)
}

// checkBoundPods compares what the pods on each node really take with what the node
// has. It doesn't look at any assignment.
func (v *view) checkBoundPods() {
	type load struct {
		use   map[corev1.ResourceName]int64
		parts map[corev1.ResourceName]map[string]int64
	}
	loads := map[string]*load{}
	for i := range v.Pods {
		pod := &v.Pods[i]
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		l := loads[pod.Spec.NodeName]
		if l == nil {
			l = &load{use: map[corev1.ResourceName]int64{}, parts: map[corev1.ResourceName]map[string]int64{}}
			loads[pod.Spec.NodeName] = l
		}
		requests := podRequests(&pod.Spec)
		requests[corev1.ResourcePods] = 1
		for name, n := range requests {
			l.use[name] += n
			if l.parts[name] == nil {
				l.parts[name] = map[string]int64{}
			}
			l.parts[name][pod.Name] += n
		}
	}
	for i := range v.Nodes {
		node := &v.Nodes[i]
		l := loads[node.Name]
		if l == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(l.use)) {
			if quantity, ok := node.Status.Allocatable[name]; ok {
				v.count(NodeOvercommitted, "node "+node.Name+" "+string(name), node.Name+"/"+string(name), l.use[name], units(name, quantity), l.parts[name])
			}
		}
	}
}
