// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Counts are numbers of pods by PodSet.
type Counts map[kueue.PodSetReference]int32

// History is what a slice takes over from the slice that it replaces, until all its
// pods have been ready. It is kept on the slice under HistoryAnnotation.
type History struct {
	// Kept are the pods that were ready before, by number. They are waited for with
	// the recovery window. It is empty if the job has never been ready.
	Kept Counts `json:"kept,omitempty"`
	// Starts are the earlier growths that are not ready yet, the oldest first.
	Starts []Start `json:"starts,omitempty"`
	// LostSince is set if kept pods were missing when the slice was replaced.
	LostSince *metav1.Time `json:"lostSince,omitempty"`
	// RequeueCount is how often the job has been evicted for readiness.
	RequeueCount int32 `json:"requeueCount,omitempty"`
}

// Start is the start of some pods of a job.
type Start struct {
	// Counts are reached when the pods are ready.
	Counts Counts `json:"counts"`
	// Since is when these pods were admitted.
	Since metav1.Time `json:"since"`
}

// Encode returns the value for HistoryAnnotation, or an empty string for no History.
func (h *History) Encode() (string, error) {
	if h == nil {
		return "", nil
	}
	data, err := json.Marshal(h)
	if err != nil {
		return "", fmt.Errorf("failed to encode the readiness history: %w", err)
	}
	return string(data), nil
}

// DecodeHistory reads the History of a Workload from its annotations. It is nil if
// there is none.
func DecodeHistory(annotations map[string]string) (*History, error) {
	if _, found := annotations[HistoryAnnotation]; !found {
		return nil, nil
	}
	var h History
	if err := decode(annotations, HistoryAnnotation, &h); err != nil {
		return nil, err
	}
	return &h, nil
}

// Inherit returns what the slice that replaces old takes over.
func Inherit(old *kueue.Workload) (*History, error) {
	own, err := DecodeHistory(old.Annotations)
	if err != nil {
		return nil, err
	}
	h := &History{RequeueCount: RequeueCount(old)}
	admitted := apimeta.FindStatusCondition(old.Status.Conditions, kueue.WorkloadAdmitted)
	if admitted == nil || admitted.Status != metav1.ConditionTrue {
		return h, nil
	}
	counts := CountsOf(old)
	ready := apimeta.FindStatusCondition(old.Status.Conditions, kueue.WorkloadPodsReady)
	if ready != nil && ready.Status == metav1.ConditionTrue {
		h.Kept = counts
		return h, nil
	}

	lost := ready != nil && ready.Reason == kueue.WorkloadWaitForRecovery
	if lost {
		h.LostSince = ready.LastTransitionTime.DeepCopy()
	}
	switch {
	case own != nil:
		h.Kept = maps.Clone(own.Kept)
		h.Starts = append(slices.Clone(own.Starts), Start{Counts: counts, Since: admitted.LastTransitionTime})
	case lost:
		h.Kept = counts
	default:
		h.Starts = []Start{{Counts: counts, Since: admitted.LastTransitionTime}}
	}
	return h, nil
}

// RequeueCount returns how often wl has been evicted for readiness, by its own record.
func RequeueCount(wl *kueue.Workload) int32 {
	if wl.Status.RequeueState == nil {
		return 0
	}
	return ptr.Deref(wl.Status.RequeueState.Count, 0)
}

// CountsOf returns the pods of each PodSet that were granted to wl, or that it asks
// for while nothing is.
func CountsOf(wl *kueue.Workload) Counts {
	counts := make(Counts, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		counts[wl.Spec.PodSets[i].Name] = wl.Spec.PodSets[i].Count
	}
	if wl.Status.Admission != nil {
		for _, psa := range wl.Status.Admission.PodSetAssignments {
			// A PodSet that shrinks has its count lowered first.
			if count, found := counts[psa.Name]; found {
				counts[psa.Name] = min(count, ptr.Deref(psa.Count, count))
			}
		}
	}
	return counts
}

// reach tells whether c has at least the pods that want asks for, where no PodSet
// counts for more than limit says.
func (c Counts) reach(want, limit Counts) bool {
	for name, n := range want {
		if most, found := limit[name]; found {
			n = min(n, most)
		} else {
			n = 0
		}
		if c[name] < n {
			return false
		}
	}
	return true
}
