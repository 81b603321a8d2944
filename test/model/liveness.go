// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

const (
	// growthWaits: a growth that fits beside everyone else is admitted.
	growthWaits invariant.Rule = "GrowthWaits"
	// jobWaits: a job that fits beside everyone else is admitted.
	jobWaits invariant.Rule = "JobWaits"
	// needlessEviction: nobody is evicted for a Workload that fits beside him.
	needlessEviction invariant.Rule = "NeedlessEviction"
	// evictsItself: the growth of a job never evicts the job.
	evictsItself invariant.Rule = "EvictsItself"
)

func condition(wl *kueue.Workload, name string) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, name)
}

func pending(wl *kueue.Workload) bool {
	return !condition(wl, kueue.WorkloadFinished) && !condition(wl, kueue.WorkloadQuotaReserved) && wl.DeletionTimestamp == nil &&
		(wl.Spec.Active == nil || *wl.Spec.Active)
}

// checkLiveness asks, when nothing is left to do, whether something that waits fits.
func (w *world) checkLiveness() {
	if !w.strict && len(w.setup.queues) > 1 && !w.setup.cohort {
		// Kueue wakes the queues of one cohort only when something has ended, though
		// others may use the same nodes.
		return
	}
	s := w.state(true)
	if !w.strict && inDebt(s) {
		return
	}
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if !pending(wl) || strings.HasPrefix(wl.Name, "impostor") {
			continue
		}
		if !w.strict && len(w.setup.flavors) > 1 {
			// Kueue goes on with the next flavor in the next cycle. What was freed on an
			// earlier one meanwhile is overlooked until the next event.
			continue
		}
		if !w.strict && rivals(s, wl) {
			// A head that doesn't fit reserves what it needs for that cycle, and the
			// others of its cohort are not tried again after it.
			continue
		}
		placed, old := place(s, wl, false)
		if placed == nil {
			continue
		}
		if old != nil {
			w.fail(growthWaits, "workload "+wl.Name, "it waits, though it fits as %s", describe(placed))
		} else {
			w.fail(jobWaits, "workload "+wl.Name, "it waits, though it fits as %s", describe(placed))
		}
	}
}

// checkGrowths asks the same of growths alone, when all have just been tried afresh:
// then it matters neither how many flavors there are nor who wakes whom.
func (w *world) checkGrowths() {
	s := w.state(true)
	if !w.strict && inDebt(s) {
		return
	}
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if !pending(wl) || !w.strict && (rivals(s, wl) || len(w.setup.flavors) > 1 && severalGroups(wl)) {
			continue
		}
		if placed, old := place(s, wl, true); placed != nil && old != nil {
			w.fail(growthWaits, "workload "+wl.Name, "it waits when it is tried, though it fits as %s", describe(placed))
		}
	}
}

// inDebt tells whether a queue uses more than it may, since its quota was lowered. For
// Kueue the others of the cohort then have nothing left, not even what they don't lend.
func inDebt(s invariant.State) bool {
	return len(s.ClusterQueues) > 1 && slices.ContainsFunc(invariant.Check(s), func(v invariant.Violation) bool {
		return v.Rule == invariant.QueueQuota || v.Rule == invariant.CohortQuota
	})
}

func severalGroups(wl *kueue.Workload) bool {
	groups := 0
	for i := range wl.Spec.PodSets {
		if gpusOf(&wl.Spec.PodSets[i]) > 0 {
			groups++
		}
	}
	return groups > 1
}

// rivals tells whether a Workload waits in another queue.
func rivals(s invariant.State, wl *kueue.Workload) bool {
	return slices.ContainsFunc(s.Workloads, func(other kueue.Workload) bool {
		return pending(&other) && other.Spec.QueueName != wl.Spec.QueueName
	})
}

// judgePreemptions looks at who was preempted since before, and for whom. The state
// is not complete while admissions of an earlier cycle are still to be written.
func (w *world) judgePreemptions(before invariant.State, complete bool) int {
	count := 0
	was := map[string]*kueue.Workload{}
	byUID := map[string]*kueue.Workload{}
	waiting, moving := 0, false
	for i := range before.Workloads {
		wl := &before.Workloads[i]
		was[wl.Name], byUID[string(wl.UID)] = wl, wl
		if pending(wl) {
			waiting++
		}
		// The second pass of a Workload that lost a node goes first.
		moving = moving || len(wl.Status.UnhealthyNodes) > 0
	}
	for _, wl := range all[*kueue.Workload](w.api) {
		old := was[wl.Name]
		cond := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
		if old == nil || condition(old, kueue.WorkloadEvicted) || cond == nil || cond.Status != metav1.ConditionTrue || cond.Reason != kueue.WorkloadEvictedByPreemption {
			continue
		}
		w.stats.evictions++
		count++
		_, rest, _ := strings.Cut(cond.Message, "(UID: ")
		id, _, _ := strings.Cut(rest, ",")
		preemptor := byUID[id]
		if preemptor == nil {
			continue
		}
		if preemptor.Annotations[replacementAnnotation] == wl.Namespace+"/"+wl.Name && sameOwner(preemptor, wl) {
			w.fail(evictsItself, "workload "+wl.Name, "it was evicted for its own growth %s", preemptor.Name)
		}
		if !complete || waiting != 1 || moving {
			continue
		}
		if placed, old := place(before, preemptor, false); placed != nil && (old != nil || len(w.setup.flavors) == 1) {
			w.fail(needlessEviction, "workload "+wl.Name, "it was evicted for %s, which fits beside it as %s", preemptor.Name, describe(placed))
		}
	}
	return count
}

func sameOwner(a, b *kueue.Workload) bool {
	x, y := metav1.GetControllerOfNoCopy(a), metav1.GetControllerOfNoCopy(b)
	return x != nil && y != nil && x.UID == y.UID
}
