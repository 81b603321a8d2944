// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evicted says why a Workload was evicted, by whom, and what comes next. It
// works on the Workloads that the user may read.
package evicted

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// State is what is known.
type State struct {
	Now      time.Time
	Workload *kueue.Workload
	// Workloads are all that the user may read, to name who took the place.
	Workloads []kueue.Workload
}

// Report is the answer.
type Report struct {
	Workload string `json:"workload"`
	// Evicted says whether it ever was, as far as the Workload remembers.
	Evicted bool `json:"evicted"`
	// Reason, Message and Time are those of the last eviction.
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	// Cause says the reason in a sentence.
	Cause string `json:"cause,omitempty"`
	// By is the Workload that took the place.
	By *Preemptor `json:"by,omitempty"`
	// Now is what has become of the Workload, and Next what it waits for.
	Now  string `json:"now"`
	Next string `json:"next,omitempty"`
	// Counts tells all evictions by reason.
	Counts []Count `json:"counts,omitempty"`
}

// Preemptor is a Workload that took the place of another.
type Preemptor struct {
	Workload string `json:"workload"`
	// Known is false if there is no Workload of the UID any more, or the user may not
	// see it; then Workload is the UID, and the rest is empty.
	Known        bool   `json:"known"`
	Priority     int32  `json:"priority"`
	ClusterQueue string `json:"clusterQueue,omitempty"`
	// Policy says by which rule, as "prioritization in the ClusterQueue".
	Policy string `json:"policy,omitempty"`
}

// Count is how often a Workload was evicted for a reason.
type Count struct {
	Reason string `json:"reason"`
	Cause  string `json:"cause,omitempty"`
	Count  int32  `json:"count"`
}

// Why explains the last eviction.
func Why(s *State) Report {
	wl := s.Workload
	r := Report{Workload: wl.Namespace + "/" + wl.Name, Now: now(wl), Next: next(wl, s.Now)}
	for _, e := range stats(wl) {
		r.Counts = append(r.Counts, Count{Reason: e.Reason, Cause: string(e.UnderlyingCause), Count: e.Count})
	}
	slices.SortStableFunc(r.Counts, func(a, b Count) int { return int(b.Count) - int(a.Count) })
	// A condition that is false again still tells about the last time.
	condition := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	r.Evicted = condition != nil || len(r.Counts) > 0
	if condition == nil {
		return r
	}
	r.Reason, r.Message = condition.Reason, condition.Message
	if condition.Status == metav1.ConditionTrue {
		r.Time = &condition.LastTransitionTime.Time
	}
	r.Cause = cause(condition.Reason)
	if preempted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPreempted); condition.Reason == kueue.WorkloadEvictedByPreemption {
		r.By = s.preemptor(condition, preempted)
	}
	return r
}

func stats(wl *kueue.Workload) []kueue.WorkloadSchedulingStatsEviction {
	if wl.Status.SchedulingStats == nil {
		return nil
	}
	return wl.Status.SchedulingStats.Evictions
}

// cause says a reason of Kueue's in a sentence. Reasons that are not listed have only
// their message.
func cause(reason string) string {
	switch {
	case reason == kueue.WorkloadEvictedByPreemption:
		return "another Workload took its place"
	case reason == kueue.WorkloadEvictedByPodsReadyTimeout:
		return "its pods were not all ready in time: at the start, or again after one was lost"
	case reason == kueue.WorkloadEvictedByAdmissionCheck:
		return "an admission check took its word back"
	case reason == kueue.WorkloadEvictedByClusterQueueStopped:
		return "somebody stopped its ClusterQueue"
	case reason == kueue.WorkloadEvictedByLocalQueueStopped:
		return "somebody stopped its LocalQueue"
	case reason == kueue.WorkloadEvictedDueToNodeFailures:
		return "nodes that it ran on failed, and there was no replacement"
	case reason == kueue.WorkloadEvictedByFlavorMigration:
		return "it moves to another flavor"
	case strings.HasPrefix(reason, "Deactivated"):
		return "it was deactivated (spec.active is false): by a limit, or by somebody"
	}
	return ""
}

// preemption matches what the scheduler says of a preemptor. Other texts are shown as
// they are.
var preemption = regexp.MustCompile(`\(UID: ([^,)]+),.*?\) due to (.*?)(?:;|$)`)

func (s *State) preemptor(conditions ...*metav1.Condition) *Preemptor {
	for _, condition := range conditions {
		if condition == nil {
			continue
		}
		said := preemption.FindStringSubmatch(condition.Message)
		if said == nil {
			continue
		}
		by := &Preemptor{Workload: said[1], Policy: said[2]}
		for i := range s.Workloads {
			if wl := &s.Workloads[i]; wl.UID == types.UID(said[1]) {
				by.Known, by.Workload = true, wl.Namespace+"/"+wl.Name
				if wl.Spec.Priority != nil {
					by.Priority = *wl.Spec.Priority
				}
				if wl.Status.Admission != nil {
					by.ClusterQueue = string(wl.Status.Admission.ClusterQueue)
				}
			}
		}
		return by
	}
	return nil
}

func isTrue(wl *kueue.Workload, condition string) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, condition)
}

func now(wl *kueue.Workload) string {
	switch {
	case isTrue(wl, kueue.WorkloadFinished):
		return "Finished"
	case isTrue(wl, kueue.WorkloadEvicted) && wl.Status.Admission != nil:
		return "Stopping: it holds its quota until its pods are gone"
	case wl.Spec.Active != nil && !*wl.Spec.Active:
		return "Deactivated"
	case isTrue(wl, kueue.WorkloadAdmitted):
		return "Admitted again"
	case isTrue(wl, kueue.WorkloadQuotaReserved):
		return "Quota is reserved, admission checks are pending"
	}
	return "Pending"
}

// next says what has to happen until it runs again; empty if nothing has to.
func next(wl *kueue.Workload, at time.Time) string {
	switch {
	case isTrue(wl, kueue.WorkloadFinished), isTrue(wl, kueue.WorkloadAdmitted) && !isTrue(wl, kueue.WorkloadEvicted):
		return ""
	case wl.Spec.Active != nil && !*wl.Spec.Active:
		return "set spec.active to true to queue it again"
	}
	state := wl.Status.RequeueState
	if state == nil || state.RequeueAt == nil {
		return ""
	}
	tries := ""
	if state.Count != nil {
		tries = fmt.Sprintf(", after requeueing number %d", *state.Count)
	}
	if left := state.RequeueAt.Sub(at); left > 0 {
		return fmt.Sprintf("it is queued again in %s, at %s%s", left.Round(time.Second), state.RequeueAt.UTC().Format(time.RFC3339), tries)
	}
	return fmt.Sprintf("its backoff is over since %s%s", state.RequeueAt.UTC().Format(time.RFC3339), tries)
}
