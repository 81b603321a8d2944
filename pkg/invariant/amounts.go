// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"
)

// units is a quantity as an integer: CPU in thousandths, all else in its own unit.
func units(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

const domainSeparator = ","

// domainsOf gives the pods by domain, a domain being its values joined.
func domainsOf(ta *kueue.TopologyAssignment) map[string]int64 {
	out := map[string]int64{}
	for d := range tas.InternalSeqFrom(ta) {
		out[strings.Join(d.Values, domainSeparator)] += int64(d.Count)
	}
	return out
}

// held is what a chain holds of a group: while a replacement and its predecessor
// both hold quota, a kept pod is in both and counts once, so the larger of the two
// counts in each domain.
func (c *chain) held(name kueue.PodSetReference) (count int64, domains map[string]int64) {
	domains = map[string]int64{}
	for _, s := range c.holding {
		for i := range s.groups {
			g := &s.groups[i]
			if g.name != name {
				continue
			}
			count = max(count, g.count)
			for d, n := range g.domains {
				domains[d] = max(domains[d], n)
			}
		}
	}
	return count, domains
}

// groupNames are the groups of the chain's holding slices, without repetition.
func (c *chain) groupNames() []kueue.PodSetReference {
	var out []kueue.PodSetReference
	seen := map[kueue.PodSetReference]bool{}
	for _, s := range c.holding {
		for i := range s.groups {
			if !seen[s.groups[i].name] {
				seen[s.groups[i].name] = true
				out = append(out, s.groups[i].name)
			}
		}
	}
	return out
}

// newest is the group as the newest holding slice has it.
func (c *chain) newest(name kueue.PodSetReference) *group {
	for i := len(c.holding) - 1; i >= 0; i-- {
		for j := range c.holding[i].groups {
			if c.holding[i].groups[j].name == name {
				return &c.holding[i].groups[j]
			}
		}
	}
	return nil
}
