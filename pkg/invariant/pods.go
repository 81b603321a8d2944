// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// released tells whether the pod may be on a node, now or in a moment.
func released(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) == 0 }

// checkPods compares the pods of each group with what the job's slices hold.
func (v *view) checkPods() {
	byName := map[string]*chain{}
	for _, c := range v.chains {
		if len(c.holding) > 0 {
			byName[c.name] = c
		}
	}
	keys := slices.SortedFunc(maps.Keys(v.pods), func(a, b podKey) int {
		return cmp.Or(cmp.Compare(a.chain, b.chain), cmp.Compare(a.group, b.group))
	})
	for _, key := range keys {
		var live, all int64
		for _, pod := range v.pods[key] {
			if !released(pod) || v.lost(pod) {
				continue
			}
			all++
			if pod.DeletionTimestamp == nil {
				live++
			}
		}
		if all == 0 {
			continue
		}
		subject := "job " + key.chain + "/" + string(key.group)
		c := byName[key.chain]
		if c == nil {
			v.report(PodsWithoutQuota, subject, "%d pods hold nodes (%d terminate), and no slice holds quota", all, all-live)
			continue
		}
		count, domains := c.held(key.group)
		if live > count {
			v.report(MorePodsThanGranted, subject, "%d pods are released, %d were granted", live, count)
		} else if all > count {
			v.report(PodsWithoutQuota, subject, "%d pods hold nodes (%d terminate), quota is held for %d", all, all-live, count)
		}
		if g := c.newest(key.group); g != nil && g.assigned {
			v.checkPlaces(subject, key, g.levels, domains)
		}
	}
}

// lost tells whether the pod went with its node. Nobody knows what still runs on a
// node that isn't ready; pods that were given up there are replaced.
func (v *view) lost(pod *corev1.Pod) bool {
	node := v.nodes[pod.Spec.NodeName]
	return pod.Spec.NodeName != "" && (node == nil || pod.DeletionTimestamp != nil && !isReady(node))
}

func (v *view) checkPlaces(subject string, key podKey, levels []string, domains map[string]int64) {
	on := map[string]int64{}
	for _, pod := range v.pods[key] {
		if pod.Spec.NodeName == "" || v.lost(pod) {
			continue
		}
		node := v.nodes[pod.Spec.NodeName]
		values := make([]string, 0, len(levels))
		for _, level := range levels {
			values = append(values, node.Labels[level])
		}
		on[strings.Join(values, domainSeparator)]++
	}
	for _, domain := range slices.Sorted(maps.Keys(on)) {
		if on[domain] > domains[domain] {
			v.report(PodOutsideAssignment, subject, "%d pods run in domain %s, the assignment has %d there: %s", on[domain], domain, domains[domain], join(domains))
		}
	}
}
