// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"
)

// place is a domain at the lowest level of a topology: a node, mostly.
type place struct {
	// values are the node labels' values, from the widest level.
	values []string
	free   Amounts
}

func (p *place) name() string { return p.values[len(p.values)-1] }
func (p *place) key() string  { return strings.Join(p.values, ",") }

// usable says whether new pods may come to the node at all.
func usable(node *corev1.Node) bool {
	if node.Spec.Unschedulable {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasLabels(node *corev1.Node, labels map[string]string) bool {
	for key, value := range labels {
		if node.Labels[key] != value {
			return false
		}
	}
	return true
}

func valuesOf(node *corev1.Node, levels []string) []string {
	out := make([]string, 0, len(levels))
	for _, level := range levels {
		value, found := node.Labels[level]
		if !found {
			return nil
		}
		out = append(out, value)
	}
	return out
}

// places are the domains of a flavor with what is free in them for pods that may go
// to the nodes that accept says.
func (s *State) places(flavor *kueue.ResourceFlavor, accept func(*corev1.Node) bool) []*place {
	levels := s.levels(flavor)
	bound := s.bound()
	byKey := map[string]*place{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		values := valuesOf(node, levels)
		if values == nil || !usable(node) || !hasLabels(node, flavor.Spec.NodeLabels) || !accept(node) {
			continue
		}
		key := strings.Join(values, ",")
		if byKey[key] == nil {
			byKey[key] = &place{values: values, free: Amounts{}}
		}
		byKey[key].free.add(amountsOf(node.Status.Allocatable), 1)
		byKey[key].free.add(bound[node.Name], -1)
	}
	for _, a := range s.awaited() {
		// A domain of the same topology, or a node by its name.
		if p := byKey[strings.Join(a.values, ",")]; p != nil && slices.Equal(a.levels, levels) {
			p.free.add(a.each, -a.count)
		} else if last := len(a.levels) - 1; a.levels[last] == corev1.LabelHostname {
			for _, p := range byKey {
				if levels[len(levels)-1] == corev1.LabelHostname && p.name() == a.values[last] {
					p.free.add(a.each, -a.count)
				}
			}
		}
	}
	var out []*place
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, byKey[key])
	}
	return out
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// bound is what the pods on each node ask for, those that terminate included.
func (s *State) bound() map[string]Amounts {
	out := map[string]Amounts{}
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.Spec.NodeName == "" || ended(pod) {
			continue
		}
		if out[pod.Spec.NodeName] == nil {
			out[pod.Spec.NodeName] = Amounts{}
		}
		out[pod.Spec.NodeName].add(podAmounts(&pod.Spec), 1)
	}
	return out
}

// awaited are pods that were given a place and aren't there yet.
type awaited struct {
	// chain is the job's, as chainName says it.
	chain          string
	levels, values []string
	each           Amounts
	count          int64
}

func (s *State) awaited() []awaited {
	type groupKey struct{ chain, podSet string }
	type domain struct {
		group  groupKey
		values string
	}
	// While a slice takes over from another, both have the pods that stay.
	found := map[domain]*awaited{}
	var order []domain
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if !holdsQuota(wl) {
			continue
		}
		for j := range wl.Status.Admission.PodSetAssignments {
			granted := &wl.Status.Admission.PodSetAssignments[j]
			podSet := findPodSet(wl, granted.Name)
			if granted.TopologyAssignment == nil || podSet == nil {
				continue
			}
			for d := range tas.InternalSeqFrom(granted.TopologyAssignment) {
				key := domain{groupKey{chainName(wl), string(granted.Name)}, strings.Join(d.Values, ",")}
				if found[key] == nil {
					found[key] = &awaited{chain: chainName(wl), levels: granted.TopologyAssignment.Levels, values: d.Values, each: podAmounts(&podSet.Template.Spec)}
					order = append(order, key)
				}
				found[key].count = max(found[key].count, int64(d.Count))
			}
		}
	}
	nodes := map[string]*corev1.Node{}
	for i := range s.Nodes {
		nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		node := nodes[pod.Spec.NodeName]
		if node == nil || ended(pod) {
			continue
		}
		for _, key := range order {
			a := found[key]
			if key.group == (groupKey{podChain(pod), pod.Labels[podSetLabel]}) && slices.Equal(valuesOf(node, a.levels), a.values) {
				a.count--
			}
		}
	}
	var out []awaited
	for _, key := range order {
		if a := found[key]; a.count > 0 {
			out = append(out, *a)
		}
	}
	return out
}

func findPodSet(wl *kueue.Workload, name kueue.PodSetReference) *kueue.PodSet {
	for i := range wl.Spec.PodSets {
		if wl.Spec.PodSets[i].Name == name {
			return &wl.Spec.PodSets[i]
		}
	}
	return nil
}
