// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Figures are the figures of one run.
type Figures struct {
	// Passed says that every check passed and no invariant was violated.
	Passed       bool `json:"passed"`
	ChecksPassed int  `json:"checksPassed"`
	Checks       int  `json:"checks"`
	Violations   int  `json:"violations"`

	// Hours is the length of the run in hours of the story.
	Hours    float64 `json:"hours"`
	Capacity int     `json:"capacity"`
	// MeanGPUs is the mean over time of the GPUs held, PeakGPUs the most.
	MeanGPUs float64 `json:"meanGPUs"`
	PeakGPUs int     `json:"peakGPUs"`
	// HeldHours, IdleHours and AwayHours are GPU-hours that add up to
	// Capacity times Hours (unless a node held more than it has).
	HeldHours float64 `json:"heldHours"`
	IdleHours float64 `json:"idleHours"`
	AwayHours float64 `json:"awayHours"`
	// ByClass and ByPriority split HeldHours.
	ByClass    map[string]float64 `json:"byClass"`
	ByPriority map[string]float64 `json:"byPriority"`

	// Evictions counts them by reason.
	Evictions map[string]int `json:"evictions"`
	Lost      Lost           `json:"lost"`
	// Waits are by class.
	Waits map[string]Wait `json:"waits"`
	Jobs  []JobFigures    `json:"jobs"`
}

// Wait says how long jobs waited, in seconds of the story.
type Wait struct {
	Jobs int `json:"jobs"`
	// First is from submission to the first admission.
	MeanFirst   float64 `json:"meanFirst"`
	MedianFirst float64 `json:"medianFirst"`
	MaxFirst    float64 `json:"maxFirst"`
	// MeanTotal also has the waits after evictions.
	MeanTotal float64 `json:"meanTotal"`
}

// Run computes the figures of a run.
func Run(rec *recording.Recording) Figures {
	f := Figures{
		Checks: len(rec.Checks), Violations: len(rec.Violations),
		Hours: hours(rec, rec.Duration), Capacity: Capacity(rec),
		ByClass: map[string]float64{}, ByPriority: map[string]float64{},
		Evictions: map[string]int{}, Waits: map[string]Wait{},
		Jobs: []JobFigures{},
	}
	for _, check := range rec.Checks {
		if check.Passed {
			f.ChecksPassed++
		}
	}
	f.Passed = f.ChecksPassed == f.Checks && f.Violations == 0

	heldSeconds := 0.0
	Sweep(rec, ByClass(rec), func(level Level) {
		length := level.To - level.From
		heldSeconds += length * float64(level.Total)
		f.IdleHours += hours(rec, length*float64(max(0, f.Capacity-level.Total-level.Away)))
		f.AwayHours += hours(rec, length*float64(level.Away))
		f.PeakGPUs = max(f.PeakGPUs, level.Total)
		for class, gpus := range level.Held {
			f.ByClass[class] += hours(rec, length*float64(gpus))
		}
	})
	Sweep(rec, ByPriority(rec), func(level Level) {
		for priority, gpus := range level.Held {
			f.ByPriority[priority] += hours(rec, (level.To-level.From)*float64(gpus))
		}
	})
	f.HeldHours = hours(rec, heldSeconds)
	if rec.Duration > 0 {
		f.MeanGPUs = heldSeconds / rec.Duration
	}
	ofJob := byJob(rec)
	for _, job := range rec.Jobs {
		figures := Job(ofJob(job.Name), job)
		f.Jobs = append(f.Jobs, figures)
		f.Lost = f.Lost.Plus(figures.Lost)
		for _, eviction := range figures.Evictions {
			f.Evictions[eviction.Reason]++
		}
	}
	f.Waits = waitsByClass(f.Jobs)
	return f
}

// byJob returns a function that gives a recording of one job alone, so that
// a run of many jobs is not searched for each of them.
func byJob(rec *recording.Recording) func(name string) *recording.Recording {
	pods, workloads := map[string][]recording.Pod{}, map[string][]recording.Workload{}
	for _, pod := range rec.Pods {
		pods[pod.Job] = append(pods[pod.Job], pod)
	}
	for _, wl := range rec.Workloads {
		workloads[wl.Job] = append(workloads[wl.Job], wl)
	}
	return func(name string) *recording.Recording {
		part := *rec
		part.Pods, part.Workloads = pods[name], workloads[name]
		return &part
	}
}

// waitsByClass sums up how long the jobs of each class waited.
func waitsByClass(jobs []JobFigures) map[string]Wait {
	firsts, totals := map[string][]float64{}, map[string]float64{}
	for _, job := range jobs {
		if job.Rejected {
			continue
		}
		class := job.Class
		if class == "" {
			class = None
		}
		firsts[class] = append(firsts[class], job.FirstWait)
		totals[class] += job.TotalWait
	}
	waits := map[string]Wait{}
	for class, first := range firsts {
		n := float64(len(first))
		waits[class] = Wait{
			Jobs: len(first), MeanFirst: sum(first) / n, MedianFirst: Median(first), MaxFirst: slices.Max(first),
			MeanTotal: totals[class] / n,
		}
	}
	return waits
}

// Median is the middle of values, or the mean of the middle two; 0 if there
// are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func sum(values []float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}
