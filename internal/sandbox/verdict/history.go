// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package verdict judges a recording: when conditions held, whether checks
// pass, and measures to compare. Everything here is a function of the
// recording.
package verdict

import (
	"maps"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

const headGroup = "head"

// history is a recording sorted by job.
type history struct {
	rec       *recording.Recording
	jobs      map[string]*recording.Job
	workloads map[string][]*recording.Workload
	pods      map[string][]*recording.Pod
	evictions map[string][]recording.Event
	events    map[string]float64
	times     []float64
}

// newHistory sorts a recording. Only jobs for which want holds are looked at.
func newHistory(rec *recording.Recording, want func(job string) bool) *history {
	h := &history{
		rec: rec, jobs: map[string]*recording.Job{}, workloads: map[string][]*recording.Workload{},
		pods: map[string][]*recording.Pod{}, evictions: map[string][]recording.Event{}, events: map[string]float64{},
	}
	for i := range rec.Jobs {
		if job := &rec.Jobs[i]; want(job.Name) {
			h.jobs[job.Name] = job
		}
	}
	for i := range rec.Workloads {
		if w := &rec.Workloads[i]; want(w.Job) {
			h.workloads[w.Job] = append(h.workloads[w.Job], w)
		}
	}
	for i := range rec.Pods {
		if p := &rec.Pods[i]; p.Job != "" && want(p.Job) {
			h.pods[p.Job] = append(h.pods[p.Job], p)
		}
	}
	for _, event := range rec.Events {
		switch {
		case event.Name != "":
			if _, ok := h.events[event.Name]; !ok {
				h.events[event.Name] = event.At
			}
		case event.What == "evicted" && want(event.Job):
			h.evictions[event.Job] = append(h.evictions[event.Job], event)
		}
	}
	return h
}

func everyJob(string) bool { return true }

// moments are all times at which something changed, in order.
func (h *history) moments() []float64 {
	if h.times != nil {
		return h.times
	}
	seen := map[float64]bool{0: true}
	add := func(at *float64) {
		if at != nil {
			seen[*at] = true
		}
	}
	for _, job := range h.jobs {
		add(&job.Submitted)
		add(job.Finished)
		for i := range job.Progress {
			add(&job.Progress[i].At)
		}
	}
	for _, list := range h.workloads {
		for _, w := range list {
			for i := range w.Spans {
				add(&w.Spans[i].From)
			}
		}
	}
	for _, list := range h.pods {
		for _, p := range list {
			for _, at := range []*float64{&p.Created, p.Bound, p.Ready, p.Stopping, p.Gone} {
				add(at)
			}
			for i := range p.Unready {
				add(&p.Unready[i].From)
				add(p.Unready[i].To)
			}
		}
	}
	for _, list := range h.evictions {
		for i := range list {
			add(&list[i].At)
		}
	}
	for _, at := range h.events {
		add(&at)
	}
	h.times = slices.Sorted(maps.Keys(seen))
	return h.times
}

func reached(at *float64, t float64) bool { return at != nil && *at <= t }

// spanAt is the span of a Workload at a time; nil before the first.
func spanAt(w *recording.Workload, t float64) *recording.Span {
	for i := len(w.Spans) - 1; i >= 0; i-- {
		if w.Spans[i].From <= t {
			return &w.Spans[i]
		}
	}
	return nil
}

// workersIn is how many workers a span of a Workload is about. If the groups
// of a job are admitted on their own, a Workload is about one of them.
func workersIn(w *recording.Workload, span *recording.Span, group string) int {
	total := 0
	for name, count := range span.Counts {
		if w.Group != "" {
			name = w.Group
		}
		if name == group || group == "" && name != headGroup {
			total += count
		}
	}
	return total
}

// admitted is the size that is admitted at a time, over the job's groups if
// they are admitted on their own.
func (h *history) admitted(job, group string, t float64) (size int, ok bool) {
	type newest struct {
		of   *recording.Workload
		span *recording.Span
	}
	byGroup := map[string]newest{}
	replaced := map[string]bool{}
	for _, w := range h.workloads[job] {
		if span := spanAt(w, t); span != nil && span.State == recording.Admitted && w.Replaces != "" {
			replaced[w.Replaces] = true
		}
	}
	for _, w := range h.workloads[job] {
		span := spanAt(w, t)
		if span == nil || span.State != recording.Admitted || replaced[w.Name] {
			continue
		}
		if group != "" && w.Group != "" && w.Group != group {
			continue // It says nothing about this group.
		}
		if n := byGroup[w.Group]; n.span == nil || span.From >= n.span.From {
			byGroup[w.Group] = newest{w, span}
		}
	}
	for _, n := range byGroup {
		size, ok = size+workersIn(n.of, n.span, group), true
	}
	return size, ok
}

// waits is the size that waits for admission at a time.
func (h *history) waits(job, group string, t float64) (size int, ok bool) {
	for _, w := range h.workloads[job] {
		span := spanAt(w, t)
		if group != "" && w.Group != "" && w.Group != group {
			continue
		}
		if span != nil && (span.State == recording.Pending || span.State == recording.BackingOff) {
			size, ok = max(size, workersIn(w, span, group)), true
		}
	}
	return size, ok
}

func inGroup(p *recording.Pod, group string) bool {
	return p.Group == group || group == "" && p.Group != headGroup
}

// ready reports whether a pod runs and is ready at a time.
func ready(p *recording.Pod, t float64) bool {
	return reached(p.Ready, t) && !reached(p.Stopping, t) && !reached(p.Gone, t) &&
		!slices.ContainsFunc(p.Unready, func(i recording.Interval) bool { return i.From <= t && !reached(i.To, t) })
}

// holds reports whether a pod holds its node at a time.
func holds(p *recording.Pod, t float64) bool {
	return reached(p.Bound, t) && !reached(p.Gone, t)
}

func (h *history) countPods(job, group string, t float64, is func(*recording.Pod, float64) bool) int {
	n := 0
	for _, p := range h.pods[job] {
		if inGroup(p, group) && is(p, t) {
			n++
		}
	}
	return n
}

func itemsAt(job *recording.Job, t float64) int {
	done := 0
	for _, p := range job.Progress {
		if p.At <= t {
			done = p.Done
		}
	}
	return done
}

// evictionsOf are those of one group's Workload, or without a name all of the
// job's.
func (h *history) evictionsOf(job, group string) []recording.Event {
	return slices.DeleteFunc(slices.Clone(h.evictions[job]), func(e recording.Event) bool { return group != "" && e.Group != group })
}

// holdsAt reports whether a condition holds at a time.
func (h *history) holdsAt(c *scenario.Condition, t float64) bool {
	if c.Event != "" {
		if at, ok := h.events[c.Event]; !ok || at > t {
			return false
		}
	}
	if c.Job == "" {
		return true
	}
	job := h.jobs[c.Job]
	if job == nil || job.Submitted > t {
		return false
	}
	if c.Items > 0 && itemsAt(job, t) < c.Items {
		return false
	}
	if c.Evictions > 0 {
		n := 0
		for _, e := range h.evictionsOf(c.Job, c.Group) {
			if e.At <= t {
				n++
			}
		}
		if n < c.Evictions {
			return false
		}
	}
	if c.Pods != nil && h.countPods(c.Job, c.Group, t, holds) != *c.Pods {
		return false
	}
	if c.Waits != nil {
		if size, ok := h.waits(c.Job, c.Group, t); !ok || size != *c.Waits {
			return false
		}
	}
	return h.stateHolds(c, job, t)
}

func (h *history) stateHolds(c *scenario.Condition, job *recording.Job, t float64) bool {
	size, admitted := h.admitted(c.Job, c.Group, t)
	sized := c.Workers == nil || admitted && size == *c.Workers
	switch c.State {
	case scenario.StateRunning:
		n := h.countPods(c.Job, c.Group, t, ready)
		return admitted && sized && n >= size && (size > 0 || c.Workers != nil)
	case scenario.StateSubmitted:
		return sized
	case scenario.StatePending:
		_, waits := h.waits(c.Job, c.Group, t)
		return waits && !admitted
	case scenario.StateFinished:
		return reached(job.Finished, t)
	case scenario.StateSucceeded:
		return reached(job.Finished, t) && job.Result == "Succeeded"
	case scenario.StateFailed:
		return reached(job.Finished, t) && job.Result == "Failed"
	case scenario.StateRejected:
		return job.Rejected != ""
	case scenario.StateGone:
		had := h.countPods(c.Job, c.Group, t, func(p *recording.Pod, t float64) bool { return reached(p.Bound, t) }) > 0
		return had && h.countPods(c.Job, c.Group, t, holds) == 0
	case scenario.StateAdmitted:
		return admitted && sized
	default:
		return sized
	}
}

// first is the first time from a time on at which a condition holds.
func (h *history) first(c *scenario.Condition, from float64) (float64, bool) {
	if h.holdsAt(c, from) {
		return from, true
	}
	times := h.moments()
	i, _ := slices.BinarySearch(times, from)
	for ; i < len(times); i++ {
		if times[i] > from && h.holdsAt(c, times[i]) {
			return times[i], true
		}
	}
	return 0, false
}

// follow is the time at which the last of the conditions held, each at the
// time of the one before or later. failed is the first that did not.
func (h *history) follow(list []scenario.Condition, from float64) (at float64, failed int) {
	at = from
	for i := range list {
		next, ok := h.first(&list[i], at)
		if !ok {
			return at, i
		}
		at = next
	}
	return at, -1
}

// Holds reports whether a condition holds at the end of the recording.
func Holds(rec *recording.Recording, c *scenario.Condition, now float64) bool {
	return newHistory(rec, func(job string) bool { return job == c.Job }).holdsAt(c, now)
}
