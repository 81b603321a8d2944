// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// measures are what is told of one run. Times are those at which a watch delivered
// a change, in seconds.
type measures struct {
	// Growths are from the autoscaler's request to the admission of the slice that
	// grants it; Releases from the creation of a worker's pod to its release; Waits
	// from the creation of a Workload to its first admission.
	Growths  []float64 `json:"growths"`
	Releases []float64 `json:"releases"`
	Waits    []float64 `json:"waits"`
	// Admissions are those of all Workloads.
	Admissions int     `json:"admissions"`
	Evictions  int     `json:"evictions"`
	Duration   float64 `json:"duration"`
	// Jobs is how many there were, Succeeded how many ended well, and Violations
	// how often an invariant was broken.
	Jobs       int `json:"jobs"`
	Succeeded  int `json:"succeeded"`
	Violations int `json:"violations"`
	// Cost is nil if it was not measured.
	Cost *recording.Cost `json:"cost,omitempty"`
}

func measure(rec *recording.Recording) measures {
	m := measures{Duration: rec.Duration, Jobs: len(rec.Jobs), Violations: len(rec.Violations), Cost: rec.Manager.Cost}
	for _, job := range rec.Jobs {
		if job.Result == "Succeeded" {
			m.Succeeded++
		}
	}
	for _, e := range rec.Events {
		switch e.What {
		case "grown":
			// Without a cause, several requests were granted at once.
			if e.Since != "" {
				m.Growths = append(m.Growths, e.Latency)
			}
		case "evicted":
			m.Evictions++
		}
	}
	for i := range rec.Pods {
		p := &rec.Pods[i]
		if p.Job != "" && p.Group != "head" && p.Released != nil {
			m.Releases = append(m.Releases, *p.Released-p.Created)
		}
	}
	for i := range rec.Workloads {
		spans, first := rec.Workloads[i].Spans, true
		for j, s := range spans {
			if s.State != recording.Admitted || j > 0 && spans[j-1].State == recording.Admitted {
				continue
			}
			m.Admissions++
			if first {
				m.Waits = append(m.Waits, s.From-spans[0].From)
				first = false
			}
		}
	}
	return m
}

// String is one line about a run.
func (m measures) String() string {
	return fmt.Sprintf("%d of %d jobs succeeded in %.0f s, %d admissions, growth p50 %s p99 %s, release p50 %s",
		m.Succeeded, m.Jobs, m.Duration, m.Admissions, millis(m.Growths, 50), millis(m.Growths, 99), millis(m.Releases, 50))
}

// percentile is the smallest value that at least p percent of the values don't
// exceed; false if there is none.
func percentile(values []float64, p int) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max((len(sorted)*p+99)/100, 1)-1], true
}

// millis writes a percentile in milliseconds.
func millis(values []float64, p int) string {
	v, ok := percentile(values, p)
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.0f ms", v*1000)
}
