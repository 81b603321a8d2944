// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// unknown is the value of a measure for which nothing happened.
const unknown = "-"

// Comparisons puts measures of the recording beside those of another run.
func Comparisons(rec *recording.Recording, s *scenario.Scenario) []recording.Comparison {
	h := newHistory(rec, everyJob)
	out := make([]recording.Comparison, 0, len(s.Reference))
	for i := range s.Reference {
		r := &s.Reference[i]
		out = append(out, recording.Comparison{Measure: r.Measure, Reference: r.Value, Here: h.measure(&r.Metric, s.TimeScale)})
	}
	return out
}

// measure is the value of a metric. Times that the control plane takes are
// real; times that the simulation takes are those of the story.
func (h *history) measure(m *scenario.Metric, scale float64) string {
	if slices.Contains(scenario.FleetMetricNames(), m.Name) {
		return h.fleetMeasure(m.Name)
	}
	job := h.jobs[m.Job]
	if job == nil {
		return unknown
	}
	switch m.Name {
	case "growth-latency":
		return h.growthLatency(m.Job)
	case "readmission":
		return h.afterEviction(m.Job, scenario.Condition{Job: m.Job, State: scenario.StateAdmitted})
	case "first-item-after-eviction":
		return h.firstItem(job, scale)
	case "sizes":
		var list []int
		for _, s := range h.sizes(m.Job, m.Group) {
			list = append(list, s.n)
		}
		return ints(list)
	case "evictions":
		return strconv.Itoa(len(h.evictions[m.Job]))
	case "nodes":
		return strconv.Itoa(len(h.peaks(m.Job, m.Group)))
	case "waited":
		if waited, ok := h.waitedFor(m.Job); ok {
			return seconds(waited)
		}
	case "drain":
		return h.drain(m.Job, scale, func(p *recording.Pod) bool { return p.Group != headGroup })
	case "head-drain":
		return h.drain(m.Job, scale, func(p *recording.Pod) bool { return p.Group == headGroup })
	case "items":
		return fmt.Sprintf("%d of %d", job.ItemsDone, job.ItemsTotal)
	case "redone":
		return strconv.Itoa(job.ItemsRedone)
	case "duration":
		if job.Finished != nil {
			return seconds((*job.Finished-job.Submitted)*scale) + " of the story"
		}
	case "result":
		return cmp.Or(job.Result, "none")
	}
	return unknown
}

// fleetMeasure is the value of a metric that is of no job.
func (h *history) fleetMeasure(name string) string {
	options := measure.FillingOptions(h.rec)
	if options == nil || measure.Capacity(h.rec) == 0 || h.rec.Duration == 0 {
		return unknown
	}
	week := measure.NewWeek(h.rec, *options)
	gpus := func(mean float64) string {
		return fmt.Sprintf("%.0f of %d (%.0f %%)", mean, week.Capacity, 100*mean/float64(week.Capacity))
	}
	switch name {
	case "filled":
		return fmt.Sprintf("%.0f %%", 100*week.Filled())
	case "mean-gpus":
		return gpus(week.MeanAll)
	case "mean-gpus-of-others":
		return gpus(week.MeanOthers)
	case "nearly-full":
		return fmt.Sprintf("%.1f %% of the time", 100*week.HighAll)
	case "unallocated":
		return fmt.Sprintf("%.0f GPU-hours", week.SpareHours-week.FillerHours)
	}
	return unknown
}

func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.3f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}

func (h *history) growthLatency(job string) string {
	slowest, n := 0.0, 0
	for _, e := range h.rec.Events {
		if e.Job == job && e.What == "grown" && e.Since != "" {
			slowest, n = max(slowest, e.Latency), n+1
		}
	}
	if n == 0 {
		return unknown
	}
	return fmt.Sprintf("%s, slowest of %d", seconds(slowest), n)
}

func (h *history) afterEviction(job string, c scenario.Condition) string {
	var list []string
	for _, e := range h.evictions[job] {
		if at, ok := h.first(&c, e.At); ok {
			list = append(list, seconds(at-e.At))
		}
	}
	return cmp.Or(strings.Join(list, ", "), unknown)
}

func (h *history) firstItem(job *recording.Job, scale float64) string {
	var list []string
	for _, e := range h.evictions[job.Name] {
		before := itemsAt(job, e.At)
		for _, p := range job.Progress {
			if p.At > e.At && p.Done > before {
				list = append(list, seconds((p.At-e.At)*scale)+" of the story")
				break
			}
		}
	}
	return cmp.Or(strings.Join(list, ", "), unknown)
}

// drain is the median of the times from the end that was asked for to the
// end.
func (h *history) drain(job string, scale float64, want func(*recording.Pod) bool) string {
	var times []float64
	for _, p := range h.pods[job] {
		if want(p) && p.Stopping != nil && p.Gone != nil && p.Bound != nil {
			times = append(times, (*p.Gone-*p.Stopping)*scale)
		}
	}
	if len(times) == 0 {
		return unknown
	}
	slices.Sort(times)
	return fmt.Sprintf("%s of the story, median of %d", seconds(times[len(times)/2]), len(times))
}
