// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// longestListOfHolders is how many holders are named: those that hold the most.
const longestListOfHolders = 5

// listFree lists the quota of what is asked for, and the places of each flavor.
func (s *State) listFree(queue *kueue.ClusterQueue, asks []ask) ([]Quota, []Free) {
	wanted := Amounts{}
	for _, a := range asks {
		wanted.add(a.each, a.count)
	}
	var quotas []Quota
	var places []Free
	for _, group := range queue.Spec.ResourceGroups {
		for _, f := range group.Flavors {
			for _, name := range group.CoveredResources {
				if wanted[name] > 0 {
					quotas = append(quotas, s.headroom(queue, f.Name, name))
				}
			}
			flavor := s.flavor(f.Name)
			if s.levels(flavor) == nil || !slices.Contains(group.CoveredResources, wanted.key()) {
				continue
			}
			for _, p := range s.places(flavor, func(*corev1.Node) bool { return true }) {
				places = append(places, Free{Flavor: f.Name, Domain: p.values, Resource: wanted.key(), Free: p.free[wanted.key()]})
			}
		}
	}
	return quotas, places
}

// holders are the Workloads that hold the most of a resource in a flavor.
func (s *State) holders(flavor kueue.ResourceFlavorReference, name corev1.ResourceName) []Holder {
	var out []Holder
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if !holdsQuota(wl) {
			continue
		}
		var held int64
		for _, granted := range wl.Status.Admission.PodSetAssignments {
			if granted.Flavors[name] == flavor {
				held += units(name, granted.ResourceUsage[name])
			}
		}
		if held > 0 {
			out = append(out, Holder{Workload: wl.Namespace + "/" + wl.Name, Priority: priority(wl), Flavor: flavor, Resource: name, Amount: held})
		}
	}
	slices.SortFunc(out, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.Workload, b.Workload))
	})
	return out[:min(len(out), longestListOfHolders)]
}

// outsiders tells of pods on the flavor's nodes that no Workload stands for: the
// quota doesn't show them.
func (s *State) outsiders(name kueue.ResourceFlavorReference, res corev1.ResourceName) string {
	flavor := s.flavor(name)
	if s.levels(flavor) == nil {
		return ""
	}
	on := map[string]bool{}
	for i := range s.Nodes {
		on[s.Nodes[i].Name] = hasLabels(&s.Nodes[i], flavor.Spec.NodeLabels)
	}
	var pods, held int64
	for i := range s.Pods {
		pod := &s.Pods[i]
		if n := podAmounts(&pod.Spec)[res]; n > 0 && on[pod.Spec.NodeName] && !ended(pod) && podChain(pod) == "" {
			pods++
			held += n
		}
	}
	if pods == 0 {
		return ""
	}
	return fmt.Sprintf("%s outside of Kueue's topology placement on the flavor's nodes, with %s", map[bool]string{true: "1 pod is", false: fmt.Sprintf("%d pods are", pods)}[pods == 1], amount(res, held))
}
