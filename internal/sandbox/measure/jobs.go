// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// JobFigures are the figures of one job.
type JobFigures struct {
	Name     string `json:"name"`
	Class    string `json:"class,omitempty"`
	Priority string `json:"priority,omitempty"`
	// Rejected says that the API server refused it: it never waited.
	Rejected bool `json:"rejected,omitempty"`
	// Admitted is when it was first admitted, in seconds of the run.
	Admitted *float64 `json:"admitted,omitempty"`
	// FirstWait is the time from submission to the first admission, or to
	// the end of the run, in seconds of the story.
	FirstWait float64 `json:"firstWait"`
	// TotalWait is all time without an admission while the job had not
	// ended, in seconds of the story; capacity that drains is not waiting.
	TotalWait float64 `json:"totalWait"`
	// PeakGPUs is the most it held at one time.
	PeakGPUs int `json:"peakGPUs"`
	// Grown and Shrunk count changes of the admitted GPUs.
	Grown     int        `json:"grown"`
	Shrunk    int        `json:"shrunk"`
	Evictions []Eviction `json:"evictions,omitempty"`
	// GPUHours is what its pods held, in hours of the story.
	GPUHours float64 `json:"gpuHours"`
	// ReadyGPUHours is the part of GPUHours in which the pods were ready.
	ReadyGPUHours float64 `json:"readyGPUHours"`
	Lost          Lost    `json:"lost"`
}

// Job computes the figures of a job.
func Job(rec *recording.Recording, job recording.Job) JobFigures {
	scale := storyScale(rec)
	figures := JobFigures{
		Name: job.Name, Class: job.Class, Priority: job.Priority,
		Evictions: Evictions(rec, job.Name), Lost: lostOf(rec, job),
	}
	if figures.Rejected = wasRejected(rec, job); figures.Rejected {
		return figures
	}
	end := orEnd(rec, job.Finished)
	waited := end - job.Submitted
	firstWait := waited
	states := States(rec, job.Name)
	for i, state := range states {
		length := overlap(state.From, *state.To, job.Submitted, end)
		if state.State == recording.Admitted || state.State == recording.Draining || state.State == recording.Done {
			waited -= length
		}
		if state.State != recording.Admitted {
			continue
		}
		if figures.Admitted == nil {
			from := state.From
			figures.Admitted = &from
			firstWait = from - job.Submitted
		}
		if i > 0 && states[i-1].State == recording.Admitted {
			switch before := states[i-1].GPUs; {
			case state.GPUs > before:
				figures.Grown++
			case state.GPUs < before:
				figures.Shrunk++
			}
		}
	}
	figures.FirstWait = max(0, firstWait) * scale
	figures.TotalWait = max(0, waited) * scale
	figures.addPods(rec)
	return figures
}

// wasRejected reports whether the API server refused a job, which is an event
// of its own, and it did not get in later.
func wasRejected(rec *recording.Recording, job recording.Job) bool {
	return job.Result == "" && len(workers(rec, job.Name)) == 0 &&
		slices.ContainsFunc(rec.Events, func(event recording.Event) bool { return event.Job == job.Name && event.What == "rejected" })
}

// addPods adds what the job's pods held.
func (f *JobFigures) addPods(rec *recording.Recording) {
	var steps []change
	for _, pod := range rec.Pods {
		from, to, ok := holds(rec, pod)
		if pod.Job != f.Name || !ok {
			continue
		}
		f.GPUHours += hours(rec, max(0, to-from)*float64(pod.GPUs))
		f.ReadyGPUHours += hours(rec, readySeconds(rec, pod)*float64(pod.GPUs))
		steps = append(steps, change{at: from, gpus: pod.GPUs}, change{at: to, gpus: -pod.GPUs})
	}
	// What is given back at a time is given back before something is taken.
	slices.SortFunc(steps, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.gpus, b.gpus)) })
	held := 0
	for _, step := range steps {
		held += step.gpus
		f.PeakGPUs = max(f.PeakGPUs, held)
	}
}

// readySeconds is how long a pod was ready, in seconds of the run.
func readySeconds(rec *recording.Recording, pod recording.Pod) float64 {
	if pod.Ready == nil {
		return 0
	}
	end := min(orEnd(rec, pod.Gone), orEnd(rec, pod.Stopping))
	ready := max(0, end-*pod.Ready)
	for _, unready := range pod.Unready {
		ready -= overlap(unready.From, orEnd(rec, unready.To), *pod.Ready, end)
	}
	return max(0, ready)
}

// overlap is the length of what two intervals share.
func overlap(from1, to1, from2, to2 float64) float64 {
	return max(0, min(to1, to2)-max(from1, from2))
}

// storyScale is how many seconds of the story a second of the run stands for.
func storyScale(rec *recording.Recording) float64 {
	if rec.TimeScale <= 0 {
		return 1
	}
	return rec.TimeScale
}

// hours turns seconds of the run into hours of the story.
func hours(rec *recording.Recording, seconds float64) float64 {
	return seconds * storyScale(rec) / 3600
}
