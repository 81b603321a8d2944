// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Quota is what a ClusterQueue has of a resource in a flavor.
type Quota struct {
	Flavor   kueue.ResourceFlavorReference `json:"flavor"`
	Resource corev1.ResourceName           `json:"resource"`
	// Nominal is the queue's own, Reserved what its Workloads hold, Free what it
	// could take without preemption, loans included. CPU is in thousandths.
	Nominal  int64 `json:"nominal"`
	Reserved int64 `json:"reserved"`
	Free     int64 `json:"free"`
}

// quota finds the quota in a queue's own list; nil if the queue has none.
func quota(groups []kueue.ResourceGroup, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) *kueue.ResourceQuota {
	for i := range groups {
		for j := range groups[i].Flavors {
			f := &groups[i].Flavors[j]
			for k := range f.Resources {
				if f.Name == flavor && f.Resources[k].Name == name {
					return &f.Resources[k]
				}
			}
		}
	}
	return nil
}

func reserved(cq *kueue.ClusterQueue, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) int64 {
	for _, f := range cq.Status.FlavorsReservation {
		for _, r := range f.Resources {
			if f.Name == flavor && r.Name == name {
				return units(name, r.Total)
			}
		}
	}
	return 0
}

// headroom is the queue's quota and what is free of it. A tree of cohorts counts as
// one cohort: limits inside the tree are not looked at.
func (s *State) headroom(cq *kueue.ClusterQueue, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) Quota {
	out := Quota{Flavor: flavor, Resource: name, Reserved: reserved(cq, flavor, name)}
	own := quota(cq.Spec.ResourceGroups, flavor, name)
	if own == nil {
		return out
	}
	out.Nominal = units(name, own.NominalQuota)
	out.Free = out.Nominal - out.Reserved
	if cq.Spec.CohortName == "" {
		return out
	}

	lent := func(q *kueue.ResourceQuota) int64 {
		if q.LendingLimit != nil {
			return min(units(name, *q.LendingLimit), units(name, q.NominalQuota))
		}
		return units(name, q.NominalQuota)
	}
	root := s.root(cq.Spec.CohortName)
	// What members keep for themselves is outside of the shared account.
	var shared, used int64
	for i := range s.ClusterQueues {
		member := &s.ClusterQueues[i]
		if q := quota(member.Spec.ResourceGroups, flavor, name); q != nil && member.Spec.CohortName != "" && s.root(member.Spec.CohortName) == root {
			kept := units(name, q.NominalQuota) - lent(q)
			shared += lent(q)
			used += max(0, reserved(member, flavor, name)-kept)
		}
	}
	for i := range s.Cohorts {
		if s.root(kueue.CohortReference(s.Cohorts[i].Name)) == root {
			if q := quota(s.Cohorts[i].Spec.ResourceGroups, flavor, name); q != nil {
				shared += lent(q)
			}
		}
	}
	kept := out.Nominal - lent(own)
	out.Free = max(0, kept-out.Reserved) + max(0, shared-used)
	if own.BorrowingLimit != nil {
		out.Free = min(out.Free, out.Nominal+units(name, *own.BorrowingLimit)-out.Reserved)
	}
	return out
}

// root is the top of the tree that a cohort is in.
func (s *State) root(name kueue.CohortReference) kueue.CohortReference {
	// A tree is no higher than there are cohorts; a ring ends here too.
	for range s.Cohorts {
		parent := kueue.CohortReference("")
		for i := range s.Cohorts {
			if s.Cohorts[i].Name == string(name) {
				parent = s.Cohorts[i].Spec.ParentName
			}
		}
		if parent == "" {
			return name
		}
		name = parent
	}
	return name
}

func (s *State) inTree(name kueue.CohortReference) bool {
	if name == "" {
		return false
	}
	for i := range s.Cohorts {
		if parent := s.Cohorts[i].Spec.ParentName; parent != "" && s.root(kueue.CohortReference(s.Cohorts[i].Name)) == s.root(name) {
			return true
		}
	}
	return false
}
