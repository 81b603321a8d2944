// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Lost are GPU-hours of the story that were held for nothing, because of
// evictions and restarts.
type Lost struct {
	// Draining is the time from the request to stop until they were gone, of
	// pods that an eviction stopped.
	Draining float64 `json:"draining"`
	// StartingAgain is the time from binding to ready of the pods that took
	// the place of those, GPU for GPU.
	StartingAgain float64 `json:"startingAgain"`
	// Redone is the time spent on items that came to nothing.
	Redone float64 `json:"redone"`
	// Estimated says that Redone was not measured. It is then the share
	// ItemsRedone / (ItemsDone + ItemsRedone) of the ready time, which is
	// too high when items were lost early in their run.
	Estimated bool `json:"estimated,omitempty"`
}

// Total is the sum of all parts.
func (l Lost) Total() float64 {
	return l.Draining + l.StartingAgain + l.Redone
}

// Plus adds up two losses.
func (l Lost) Plus(other Lost) Lost {
	return Lost{
		Draining:      l.Draining + other.Draining,
		StartingAgain: l.StartingAgain + other.StartingAgain,
		Redone:        l.Redone + other.Redone,
		Estimated:     l.Estimated || other.Estimated,
	}
}

func lostOf(rec *recording.Recording, job recording.Job) Lost {
	var lost Lost
	var pods []recording.Pod
	for _, pod := range rec.Pods {
		if pod.Job == job.Name {
			pods = append(pods, pod)
		}
	}
	slices.SortStableFunc(pods, func(a, b recording.Pod) int { return cmp.Compare(a.Created, b.Created) })

	// Pods that an eviction stopped, and the GPUs that are to be replaced.
	missing, ready := 0, 0.0
	evictions := evictionWindows(rec, job.Name)
	next := 0
	for _, pod := range pods {
		ready += readySeconds(rec, pod) * float64(pod.GPUs)
		if pod.Bound == nil {
			continue
		}
		for next < len(evictions) && evictions[next].from <= pod.Created {
			missing += evictions[next].gpus(pods)
			next++
		}
		if missing > 0 {
			starting := orEnd(rec, cmp.Or(pod.Ready, pod.Gone)) - *pod.Bound
			counted := min(missing, pod.GPUs)
			lost.StartingAgain += hours(rec, max(0, starting)*float64(counted))
			missing -= counted
		}
	}
	for _, window := range evictions {
		for _, pod := range window.stopped(pods) {
			lost.Draining += hours(rec, max(0, orEnd(rec, pod.Gone)-*pod.Stopping)*float64(pod.GPUs))
		}
	}
	switch starts := job.ItemsDone + job.ItemsRedone; {
	case job.RedoneGPUSeconds > 0:
		lost.Redone = hours(rec, job.RedoneGPUSeconds)
	case job.ItemsRedone > 0:
		lost.Redone = hours(rec, ready*float64(job.ItemsRedone)/float64(starts))
		lost.Estimated = true
	}
	return lost
}

// window is the time from an eviction to the next admission of the Workload.
type window struct {
	from, to float64
	group    string
}

// evictionWindows are in the order of time.
func evictionWindows(rec *recording.Recording, job string) []window {
	var windows []window
	for _, wl := range rec.Workloads {
		if wl.Job != job {
			continue
		}
		evicted := false
		for i, span := range wl.Spans {
			switch {
			case span.State == recording.Admitted || span.State == recording.Done:
				evicted = false
			case evicted:
				windows[len(windows)-1].to = orEnd(rec, span.To)
			case i > 0 && wl.Spans[i-1].State == recording.Admitted:
				windows = append(windows, window{from: span.From, to: orEnd(rec, span.To), group: wl.Group})
				evicted = true
			}
		}
	}
	slices.SortStableFunc(windows, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	return windows
}

// stopped are the pods that had been bound and were asked to stop in it.
func (w window) stopped(pods []recording.Pod) []recording.Pod {
	var stopped []recording.Pod
	for _, pod := range pods {
		if pod.Bound == nil || pod.Stopping == nil || (w.group != "" && w.group != pod.Group) {
			continue
		}
		if *pod.Bound < w.from && w.from <= *pod.Stopping && *pod.Stopping < w.to {
			stopped = append(stopped, pod)
		}
	}
	return stopped
}

func (w window) gpus(pods []recording.Pod) int {
	sum := 0
	for _, pod := range w.stopped(pods) {
		sum += pod.GPUs
	}
	return sum
}
