// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"cmp"
	"slices"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

// chain is what there is of a group's Workloads, by the part that each plays.
type chain struct {
	// holder holds the quota of the group's pods; nil if none does.
	holder *kueue.Workload
	// pending waits for quota: to replace the holder if there is one, or to start.
	pending *kueue.Workload
	// replaced still hold quota, though the holder took over from them.
	replaced []*kueue.Workload
	// surplus wait for something that is of no use any more.
	surplus []*kueue.Workload
	// finished need nothing but to lose their finalizers.
	finished []*kueue.Workload
}

// readChain sorts the Workloads of one group. base is the group's base name.
func readChain(base string, workloads []*kueue.Workload) chain {
	var c chain
	var holding, waiting []*kueue.Workload
	sorted := slices.Clone(workloads)
	// Newest first. Creation times are whole seconds, so the ordinals decide.
	slices.SortFunc(sorted, func(a, b *kueue.Workload) int {
		return cmp.Or(cmp.Compare(ordinal(base, b.Name), ordinal(base, a.Name)), cmp.Compare(b.Name, a.Name))
	})
	for _, wl := range sorted {
		switch {
		case workloadfinish.IsFinished(wl):
			c.finished = append(c.finished, wl)
		case workload.HasQuotaReservation(wl):
			holding = append(holding, wl)
		default:
			waiting = append(waiting, wl)
		}
	}
	if len(holding) > 0 {
		c.holder, c.replaced = holding[0], holding[1:]
	}
	for _, wl := range waiting {
		if c.pending == nil && continues(wl, c.holder) {
			c.pending = wl
			continue
		}
		c.surplus = append(c.surplus, wl)
	}
	return c
}

// continues returns whether the pending Workload has a use beside the holder.
func continues(pending, holder *kueue.Workload) bool {
	if holder == nil {
		return true
	}
	ref := workloadslicing.ReplacementForKey(pending)
	return ref != nil && *ref == workload.Key(holder) && !isStopping(holder) && pending.DeletionTimestamp == nil
}

// isStopping returns whether the pods of a Workload that holds quota have to go.
func isStopping(wl *kueue.Workload) bool {
	return workloadevict.IsEvicted(wl) || wl.DeletionTimestamp != nil
}

// count is how many pods the Workload asks for. It has one PodSet.
func count(wl *kueue.Workload) int32 {
	if wl == nil || len(wl.Spec.PodSets) == 0 {
		return 0
	}
	return wl.Spec.PodSets[0].Count
}

// granted is how many pods of the group may run by this Workload.
func granted(wl *kueue.Workload) int32 {
	if wl == nil || !workload.IsAdmitted(wl) || isStopping(wl) || wl.Status.Admission == nil {
		return 0
	}
	n := count(wl)
	for _, psa := range wl.Status.Admission.PodSetAssignments {
		if psa.Count != nil {
			n = min(n, *psa.Count)
		}
		// Pods beyond the assignment would wait for a domain that nobody names.
		if psa.TopologyAssignment != nil {
			n = min(n, assigned(psa.TopologyAssignment))
		}
	}
	return n
}

func assigned(assignment *kueue.TopologyAssignment) int32 {
	return utiltas.CountPodsInAssignment(utiltas.InternalFrom(assignment))
}

// assignsTooMany returns whether the assignment places more pods than the Workload
// counts, as when a shrink was interrupted.
func assignsTooMany(wl *kueue.Workload) bool {
	if wl.Status.Admission == nil {
		return false
	}
	return slices.ContainsFunc(wl.Status.Admission.PodSetAssignments, func(psa kueue.PodSetAssignment) bool {
		return psa.TopologyAssignment != nil && assigned(psa.TopologyAssignment) > count(wl)
	})
}
