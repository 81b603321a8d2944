// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Deadline is when a Workload without ready pods is evicted, and by which window.
type Deadline struct {
	// Cause is the reason of the PodsReady condition that the clock belongs to.
	Cause kueue.EvictionUnderlyingCause
	At    time.Time
	// Since is when the clock started, by the Workload's own record.
	Since  time.Time
	Window Window
}

// DeadlineFor returns the first deadline of an admitted Workload that isn't ready.
// There is none for a Workload that isn't admitted or is ready, and none where the
// window is 0. Clocks are kept in the Workload only, so they survive the manager.
func DeadlineFor(wl *kueue.Workload, h *History, windows Windows) (Deadline, bool) {
	admitted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
	if admitted == nil || admitted.Status != metav1.ConditionTrue {
		return Deadline{}, false
	}
	condition := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	if condition != nil && condition.Status == metav1.ConditionTrue {
		return Deadline{}, false
	}

	var clocks []Deadline
	recovering := waitsForRecovery(condition)
	if recovering {
		clocks = append(clocks, Deadline{
			Cause:  kueue.WorkloadWaitForRecovery,
			Since:  condition.LastTransitionTime.Time,
			Window: windows.Recovery,
		})
	}
	// Pods of a growth may be starting while others are lost.
	if !recovering || h != nil {
		since := admitted.LastTransitionTime.Time
		if h != nil && len(h.Starts) > 0 {
			since = h.Starts[0].Since.Time
		}
		clocks = append(clocks, Deadline{Cause: kueue.WorkloadWaitForStart, Since: since, Window: windows.Start})
	}

	var first Deadline
	var found bool
	for _, c := range clocks {
		if c.Window.Length == 0 {
			continue
		}
		c.At = c.Since.Add(c.Window.Length)
		if !found || c.At.Before(first.At) {
			first, found = c, true
		}
	}
	return first, found
}
