// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Observation is what is known of the pods of an admitted Workload.
type Observation struct {
	// Expected are the pods that should run now, Ready those that do.
	Expected, Ready Counts
	// EarlierUnready tells that a pod which ran before the Workload was admitted is
	// there and isn't ready.
	EarlierUnready bool
	// Previous is the Workload's PodsReady condition, nil if it has none.
	Previous *metav1.Condition
	// History is what the Workload has taken over from the slice it replaced.
	History *History
	Now     time.Time
}

// Readiness is what the PodsReady condition has to say.
type Readiness struct {
	Status metav1.ConditionStatus
	Reason string
	// Since is the transition time for a condition that changes.
	Since time.Time
	// History is what is left of the Observation's, nil if nothing is.
	History *History
}

// Judge tells whether the Workload is ready and, if it isn't, whether it waits for
// its start or for its recovery. A Workload that was ready waits for recovery. A
// slice that replaced another one waits for its start while the pods it took over
// are ready, and for recovery, since these were lost, while they are not.
func Judge(o Observation) Readiness {
	if o.Ready.reach(o.Expected, o.Expected) {
		return ready(o.Previous, o.Now)
	}
	if o.History == nil {
		return notReady(o.Previous, o.Now)
	}

	h := o.History.after(o.Ready, o.Expected)
	kept := o.Ready.reach(h.Kept, o.Expected)
	// Where earlier pods are still starting, one that isn't ready may be one of them.
	if len(h.Kept) > 0 && len(h.Starts) == 0 && o.EarlierUnready {
		kept = false
	}
	if kept {
		h.LostSince = nil
		return Readiness{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForStart, Since: o.Now, History: h}
	}
	since := o.Now
	switch {
	case waitsForRecovery(o.Previous):
		since = o.Previous.LastTransitionTime.Time
	case h.LostSince != nil:
		since = h.LostSince.Time
	}
	return Readiness{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForRecovery, Since: since, History: h}
}

// JudgeWhole does what Judge does where only is known whether all pods are ready.
func JudgeWhole(allReady bool, previous *metav1.Condition, h *History, now time.Time) Readiness {
	if allReady {
		return ready(previous, now)
	}
	r := notReady(previous, now)
	if r.Reason == kueue.WorkloadWaitForStart && h != nil && h.LostSince != nil {
		r.Reason, r.Since = kueue.WorkloadWaitForRecovery, h.LostSince.Time
	}
	r.History = h
	return r
}

func ready(previous *metav1.Condition, now time.Time) Readiness {
	reason := kueue.WorkloadStarted
	if previous != nil && (previous.Reason == kueue.WorkloadWaitForRecovery || previous.Reason == kueue.WorkloadRecovered) {
		reason = kueue.WorkloadRecovered
	}
	return Readiness{Status: metav1.ConditionTrue, Reason: reason, Since: now}
}

func notReady(previous *metav1.Condition, now time.Time) Readiness {
	r := Readiness{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForStart, Since: now}
	switch {
	case waitsForRecovery(previous):
		r.Reason, r.Since = kueue.WorkloadWaitForRecovery, previous.LastTransitionTime.Time
	case previous != nil && previous.Status == metav1.ConditionTrue:
		r.Reason = kueue.WorkloadWaitForRecovery
	case previous != nil:
		r.Since = previous.LastTransitionTime.Time
	}
	return r
}

func waitsForRecovery(c *metav1.Condition) bool {
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == kueue.WorkloadWaitForRecovery
}

// after drops the starts that are done: their pods are kept ones from now on.
func (h *History) after(ready, expected Counts) *History {
	left := *h
	left.Starts = slices.Clone(h.Starts)
	for len(left.Starts) > 0 && ready.reach(left.Starts[0].Counts, expected) {
		left.Kept, left.Starts = left.Starts[0].Counts, left.Starts[1:]
	}
	if len(left.Starts) == 0 {
		left.Starts = nil
	}
	return &left
}
