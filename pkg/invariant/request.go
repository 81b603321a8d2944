// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// checkRequests compares where pods are with what their groups ask of the topology.
func (v *view) checkRequests() {
	for _, c := range v.chains {
		for _, s := range c.holding {
			for i := range s.groups {
				g := &s.groups[i]
				if !g.assigned || g.request == nil {
					continue
				}
				subject := "workload " + s.Name + "/" + string(g.name)
				if g.request.Required != nil {
					v.checkRequired(subject, g, *g.request.Required)
				}
				if label, size, level := unitOf(s.Workload, g.request); label != "" {
					v.checkUnits(subject, podKey{c.name, g.name}, g, label, size, level)
				}
			}
		}
	}
}

func (v *view) checkRequired(subject string, g *group, level string) {
	if pods, known := v.podsByDomain(g, level); known && len(pods) > 1 {
		v.report(RequiredDomain, subject, "pods in %d domains of level %s: %s", len(pods), level, join(pods))
	}
}

// unitOf returns the label by which the units of a group of an elastic job are told
// apart, their size and their level; the label is empty if there are none.
func unitOf(wl *kueue.Workload, request *kueue.PodSetTopologyRequest) (label string, size int64, level string) {
	if !isElastic(wl) || request.SubGroupIndexLabel == nil || request.SubGroupCount != nil ||
		request.PodSetSliceRequiredTopology == nil || request.PodSetSliceSize == nil || *request.PodSetSliceSize <= 1 {
		return "", 0, ""
	}
	return *request.SubGroupIndexLabel, int64(*request.PodSetSliceSize), *request.PodSetSliceRequiredTopology
}

func (v *view) checkUnits(subject string, key podKey, g *group, label string, size int64, level string) {
	if pods, known := v.podsByDomain(g, level); known {
		for _, domain := range slices.Sorted(maps.Keys(pods)) {
			if pods[domain]%size != 0 {
				v.report(UnitSplit, subject, "the assignment has %d pods in domain %s, a unit has %d: %s", pods[domain], domain, size, join(g.domains))
			}
		}
	}
	keys := v.levelsDownTo(g, level)
	homes := map[string]map[string]int64{}
	for _, pod := range v.pods[key] {
		node := v.nodes[pod.Spec.NodeName]
		if unit := pod.Labels[label]; unit != "" && node != nil {
			if homes[unit] == nil {
				homes[unit] = map[string]int64{}
			}
			homes[unit][domainOf(node, keys)]++
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(homes)) {
		if len(homes[unit]) > 1 {
			v.report(UnitSplit, subject, "unit %s runs in %d domains of level %s: %s", unit, len(homes[unit]), level, join(homes[unit]))
		}
	}
}

// podsByDomain adds up the assignment by domains of the level. It reports false when a
// node is gone, since then nobody knows where it was.
func (v *view) podsByDomain(g *group, level string) (map[string]int64, bool) {
	keys := v.levelsDownTo(g, level)
	pods := map[string]int64{}
	for domain, n := range g.domains {
		nodes := v.nodesOf(g.levels, "="+domain)
		if len(nodes) == 0 || len(keys) == 0 {
			return nil, false
		}
		pods[domainOf(nodes[0], keys)] += n
	}
	return pods, true
}

func domainOf(node *corev1.Node, keys []string) string {
	values := make([]string, 0, len(keys))
	for _, key := range keys {
		values = append(values, node.Labels[key])
	}
	return strings.Join(values, domainSeparator)
}

// levelsDownTo returns the levels of the group's topology from the highest to this one.
func (v *view) levelsDownTo(g *group, level string) []string {
	for _, name := range g.flavors {
		flavor := v.flavors[name]
		if flavor == nil || flavor.Spec.TopologyName == nil {
			continue
		}
		for i := range v.Topologies {
			if v.Topologies[i].Name != string(*flavor.Spec.TopologyName) {
				continue
			}
			var keys []string
			for _, l := range v.Topologies[i].Spec.Levels {
				if keys = append(keys, l.NodeLabel); l.NodeLabel == level {
					return keys
				}
			}
		}
	}
	return nil
}
