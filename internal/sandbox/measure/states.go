// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// rank orders states by how much a job has: the state of a job is the
// highest of its Workloads' states.
var rank = map[recording.State]int{
	recording.Admitted:   6,
	recording.Draining:   5,
	recording.Pending:    4,
	recording.BackingOff: 3,
	recording.Inactive:   2,
	recording.Done:       1,
}

// HeadGroup is the name of a Ray cluster's head among its groups.
const HeadGroup = "head"

// workers are a job's Workloads without that of its head alone, which needs
// no GPU and says nothing about the job's wait.
func workers(rec *recording.Recording, job string) []recording.Workload {
	var workloads []recording.Workload
	for _, wl := range rec.Workloads {
		if wl.Job == job && wl.Group != HeadGroup {
			workloads = append(workloads, wl)
		}
	}
	return workloads
}

// States returns the states that a job went through, joined where they are
// equal, with the GPUs of all its Workloads in that state. The head's own
// Workload is left out. Spans are in order and do not overlap.
func States(rec *recording.Recording, job string) []recording.Span {
	workloads := workers(rec, job)
	var times []float64
	for _, wl := range workloads {
		for _, span := range wl.Spans {
			times = append(times, span.From, orEnd(rec, span.To))
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)

	var states []recording.Span
	for i := range len(times) - 1 {
		span, ok := stateAt(rec, workloads, times[i])
		if !ok {
			continue
		}
		to := times[i+1]
		span.From, span.To = times[i], &to
		if last := len(states) - 1; last >= 0 && *states[last].To == span.From && sameState(states[last], span) {
			states[last].To = &to
			continue
		}
		states = append(states, span)
	}
	return states
}

func sameState(a, b recording.Span) bool {
	return a.State == b.State && a.GPUs == b.GPUs && a.Reason == b.Reason && a.Message == b.Message
}

// stateAt is the highest state among Workloads at a time. Admitted ones add
// up, save a slice whose successor is admitted already.
func stateAt(rec *recording.Recording, workloads []recording.Workload, at float64) (recording.Span, bool) {
	var best recording.Span
	admitted, succeeded := map[string]int{}, map[string]bool{}
	for _, wl := range workloads {
		span, ok := spanAt(rec, wl, at)
		if !ok {
			continue
		}
		if rank[span.State] > rank[best.State] {
			best = recording.Span{State: span.State, GPUs: span.GPUs, Reason: span.Reason, Message: span.Message}
		}
		if span.State == recording.Admitted {
			admitted[wl.Name] = span.GPUs
			if wl.Replaces != "" {
				succeeded[wl.Replaces] = true
			}
		}
	}
	if best.State == recording.Admitted {
		best.GPUs = 0
		for name, gpus := range admitted {
			if !succeeded[name] {
				best.GPUs += gpus
			}
		}
	}
	return best, best.State != ""
}

// spanAt is what a Workload did at a time.
func spanAt(rec *recording.Recording, wl recording.Workload, at float64) (recording.Span, bool) {
	for _, span := range wl.Spans {
		if span.From <= at && at < orEnd(rec, span.To) {
			return span, true
		}
	}
	return recording.Span{}, false
}

// Eviction is the loss of an admission.
type Eviction struct {
	// At is in seconds of the run.
	At float64 `json:"at"`
	// Workload lost its admission.
	Workload string `json:"workload"`
	Reason   string `json:"reason,omitempty"`
	// GPUs is what it held.
	GPUs int `json:"gpus"`
}

// Evictions returns when Workloads of a job lost their admission without
// being done, in the order of time.
func Evictions(rec *recording.Recording, job string) []Eviction {
	var evictions []Eviction
	for _, wl := range rec.Workloads {
		if wl.Job != job {
			continue
		}
		for i, span := range wl.Spans {
			if i == 0 || wl.Spans[i-1].State != recording.Admitted {
				continue
			}
			if span.State != recording.Admitted && span.State != recording.Done {
				evictions = append(evictions, Eviction{At: span.From, Workload: wl.Name, Reason: span.Reason, GPUs: wl.Spans[i-1].GPUs})
			}
		}
	}
	slices.SortStableFunc(evictions, func(a, b Eviction) int { return cmp.Compare(a.At, b.At) })
	return evictions
}
