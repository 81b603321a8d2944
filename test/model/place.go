// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

// place is a simple scheduler of our own. It returns wl admitted next to all that
// the state holds, keeping the pods of the slice it replaces where they are, or nil
// when it doesn't know how. It never gives a wrong yes, for package invariant judges
// the result; it may give a wrong no. Unless any flavor will do, it knows only what
// has a single one to go to.
func place(s invariant.State, wl *kueue.Workload, anyFlavor bool) (*kueue.Workload, *kueue.Workload) {
	old := replacedSlice(s, wl)
	if old == nil && wl.Annotations[replacementAnnotation] != "" {
		return nil, nil
	}
	if old != nil && (condition(old, kueue.WorkloadEvicted) || len(old.Status.UnhealthyNodes) > 0 || usesBadNode(s, old)) {
		return nil, nil
	}
	if mixedSizes(wl, old) {
		return nil, nil
	}
	queue := slices.IndexFunc(s.ClusterQueues, func(cq kueue.ClusterQueue) bool { return cq.Name == string(wl.Spec.QueueName) })
	if queue < 0 || ptr.Deref(s.ClusterQueues[queue].Spec.StopPolicy, kueue.None) != kueue.None {
		return nil, nil
	}
	flavors := s.ClusterQueues[queue].Spec.ResourceGroups[0].Flavors
	if !anyFlavor && len(flavors) > 1 && !pinned(wl, old) {
		// Which flavors are tried, and in which cycle, is for Kueue to decide.
		return nil, nil
	}
	for _, flavor := range flavors {
		if placed := placeOn(s, wl, old, flavor.Name); placed != nil && fits(s, placed, old) {
			return placed, old
		}
	}
	return nil, old
}

// pinned tells whether every group that grows has pods, which tie it to a flavor.
func pinned(wl, old *kueue.Workload) bool {
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		if n := countOf(old, ps.Name); gpusOf(ps) > 0 && ps.Count > n && n == 0 {
			return false
		}
	}
	return old != nil
}

func replacedSlice(s invariant.State, wl *kueue.Workload) *kueue.Workload {
	for i := range s.Workloads {
		old := &s.Workloads[i]
		if wl.Annotations[replacementAnnotation] == old.Namespace+"/"+old.Name && condition(old, kueue.WorkloadQuotaReserved) &&
			!condition(old, kueue.WorkloadFinished) && sameOwner(old, wl) {
			return old
		}
	}
	return nil
}

func usesBadNode(s invariant.State, wl *kueue.Workload) bool {
	good := map[string]bool{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		good[n.Name] = !n.Spec.Unschedulable && n.Status.Conditions[0].Status == corev1.ConditionTrue
	}
	for i := range wl.Status.Admission.PodSetAssignments {
		if ta := wl.Status.Admission.PodSetAssignments[i].TopologyAssignment; ta != nil {
			for d := range tas.InternalSeqFrom(ta) {
				if !good[d.Values[len(d.Values)-1]] {
					return true
				}
			}
		}
	}
	return false
}

// mixedSizes tells whether pods of several sizes have to be placed: with those, the
// order in which groups are placed decides whether they fit.
func mixedSizes(wl, old *kueue.Workload) bool {
	sizes := map[int64]bool{}
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		if n := gpusOf(ps); n > 0 && ps.Count > countOf(old, ps.Name) {
			sizes[n] = true
		}
	}
	return len(sizes) > 1
}

func gpusOf(ps *kueue.PodSet) int64 {
	q := ps.Template.Spec.Containers[0].Resources.Requests[gpu]
	return q.Value()
}

func countOf(wl *kueue.Workload, name kueue.PodSetReference) int32 {
	if wl != nil {
		for i := range wl.Spec.PodSets {
			if wl.Spec.PodSets[i].Name == name {
				return wl.Spec.PodSets[i].Count
			}
		}
	}
	return 0
}

func kindOfFlavor(s invariant.State, flavor kueue.ResourceFlavorReference) string {
	for i := range s.Flavors {
		if s.Flavors[i].Name == string(flavor) {
			return s.Flavors[i].Spec.NodeLabels[kindLabel]
		}
	}
	return ""
}

// placeOn puts all new pods on nodes of one flavor, first node first.
func placeOn(s invariant.State, wl, old *kueue.Workload, flavor kueue.ResourceFlavorReference) *kueue.Workload {
	freeGPUs, freeSlots, levels := free(s, flavor)
	placed := wl.DeepCopy()
	placed.Status.Admission = &kueue.Admission{ClusterQueue: kueue.ClusterQueueReference(wl.Spec.QueueName)}
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		psa := kueue.PodSetAssignment{Name: ps.Name, Count: ptr.To(ps.Count), Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{}, ResourceUsage: corev1.ResourceList{}}
		size := gpusOf(ps)
		if size == 0 {
			psa.Flavors[corev1.ResourceCPU] = plainFlavor
			psa.ResourceUsage[corev1.ResourceCPU] = *resource.NewQuantity(int64(ps.Count), resource.DecimalSI)
			placed.Status.Admission.PodSetAssignments = append(placed.Status.Admission.PodSetAssignments, psa)
			continue
		}
		psa.Flavors[gpu] = flavor
		// A job that runs has the labels of its flavor in all of its templates.
		if kind := ps.Template.Spec.NodeSelector[kindLabel]; kind != "" && kind != kindOfFlavor(s, flavor) {
			return nil
		}
		psa.ResourceUsage[gpu] = *resource.NewQuantity(size*int64(ps.Count), resource.DecimalSI)
		on, kept, heldFlavor := keptOf(old, ps.Name)
		if kept > 0 && heldFlavor != flavor {
			if ps.Count > kept {
				return nil
			}
			psa.Flavors[gpu] = heldFlavor
		}
		if ps.Count < kept {
			return nil
		}
		missing := ps.Count - kept
		for _, node := range slices.Sorted(maps.Keys(freeGPUs)) {
			for missing > 0 && freeGPUs[node] >= size && freeSlots[node] >= 1 {
				freeGPUs[node], freeSlots[node], missing = freeGPUs[node]-size, freeSlots[node]-1, missing-1
				on[node]++
			}
		}
		if missing > 0 {
			return nil
		}
		if ps.Count > 0 {
			psa.TopologyAssignment = assignment(s, levels, on)
		}
		placed.Status.Admission.PodSetAssignments = append(placed.Status.Admission.PodSetAssignments, psa)
	}
	apimeta.SetStatusCondition(&placed.Status.Conditions, metav1.Condition{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue, Reason: "Model"})
	return placed
}

func keptOf(old *kueue.Workload, name kueue.PodSetReference) (map[string]int32, int32, kueue.ResourceFlavorReference) {
	on := map[string]int32{}
	if old == nil {
		return on, 0, ""
	}
	for i := range old.Status.Admission.PodSetAssignments {
		psa := &old.Status.Admission.PodSetAssignments[i]
		if psa.Name != name || psa.TopologyAssignment == nil {
			continue
		}
		var kept int32
		for d := range tas.InternalSeqFrom(psa.TopologyAssignment) {
			on[d.Values[len(d.Values)-1]] += d.Count
			kept += d.Count
		}
		return on, kept, psa.Flavors[gpu]
	}
	return on, 0, ""
}

// free is what the usable nodes of a flavor have left.
func free(s invariant.State, flavor kueue.ResourceFlavorReference) (map[string]int64, map[string]int64, []string) {
	gpus, slots := map[string]int64{}, map[string]int64{}
	kind := kindOfFlavor(s, flavor)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if kind != "" && n.Labels[kindLabel] != kind || n.Spec.Unschedulable || n.Status.Conditions[0].Status != corev1.ConditionTrue {
			continue
		}
		g, p := n.Status.Allocatable[gpu], n.Status.Allocatable[corev1.ResourcePods]
		gpus[n.Name], slots[n.Name] = g.Value(), p.Value()
	}
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if !condition(wl, kueue.WorkloadQuotaReserved) || condition(wl, kueue.WorkloadFinished) || wl.Status.Admission == nil {
			continue
		}
		for j := range wl.Status.Admission.PodSetAssignments {
			psa := &wl.Status.Admission.PodSetAssignments[j]
			if psa.TopologyAssignment == nil {
				continue
			}
			size := gpusOf(&wl.Spec.PodSets[j])
			for d := range tas.InternalSeqFrom(psa.TopologyAssignment) {
				node := d.Values[len(d.Values)-1]
				if _, ok := gpus[node]; ok {
					gpus[node] -= size * int64(d.Count)
					slots[node] -= int64(d.Count)
				}
			}
		}
	}
	var levels []string
	for _, level := range s.Topologies[0].Spec.Levels {
		levels = append(levels, level.NodeLabel)
	}
	return gpus, slots, levels
}

func assignment(s invariant.State, levels []string, on map[string]int32) *kueue.TopologyAssignment {
	out := &tas.TopologyAssignment{Levels: levels}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if on[n.Name] == 0 {
			continue
		}
		var values []string
		for _, level := range levels {
			values = append(values, n.Labels[level])
		}
		out.Domains = append(out.Domains, tas.TopologyDomainAssignment{Values: values, Count: on[n.Name]})
	}
	return tas.V1Beta2From(out)
}

// fits asks package invariant whether the state with wl admitted breaks anything
// that it doesn't break already.
func fits(s invariant.State, placed, old *kueue.Workload) bool {
	known := map[string]bool{}
	for _, v := range invariant.Check(s) {
		known[string(v.Rule)+v.Subject+v.Evidence] = true
	}
	next := s
	next.Settled = false
	next.Workloads = nil
	for i := range s.Workloads {
		switch wl := s.Workloads[i]; {
		case wl.Name == placed.Name:
			next.Workloads = append(next.Workloads, *placed)
		case old == nil || wl.Name != old.Name:
			next.Workloads = append(next.Workloads, wl)
		}
	}
	for _, v := range invariant.Check(next) {
		if !known[string(v.Rule)+v.Subject+v.Evidence] {
			return false
		}
	}
	return true
}
