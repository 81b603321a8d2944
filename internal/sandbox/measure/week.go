// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// WeekOptions say how a long run is cut into days and bins.
type WeekOptions struct {
	// Filler is the class of the jobs that fill what others leave free.
	Filler string
	// Waiting is the class whose waiting time must not suffer.
	Waiting string
	// Day is the length of a day in seconds of the story.
	Day float64
	// Edges cut the GPUs that all but the filler hold into bins, in
	// ascending order: n edges make n+1 bins.
	Edges []int
	// Until is the end of what counts, in seconds of the story; 0 is the end of
	// the run.
	Until float64
	// High is the share of the capacity above which a fleet counts as nearly
	// full.
	High float64
}

// The bins of the measured week, in GPUs of the 192 that it had.
const weekCapacity = 192

var weekEdges = []int{120, 140, 160, 170}

// DefaultWeekOptions cut as the measured week was cut, for a fleet of the
// given number of GPUs.
func DefaultWeekOptions(capacity int) WeekOptions {
	edges := make([]int, len(weekEdges))
	for i, edge := range weekEdges {
		edges[i] = (edge*capacity + weekCapacity/2) / weekCapacity
	}
	return WeekOptions{Filler: "evals", Waiting: "training", Day: 86400, Edges: slices.Compact(edges), High: 0.9}
}

// FillingOptions are those of a recording that is about filling, cut as the
// measured week was; nil if it is about something else.
func FillingOptions(rec *recording.Recording) *WeekOptions {
	if rec.Filling == nil {
		return nil
	}
	o := DefaultWeekOptions(Capacity(rec))
	o.Filler, o.Until = rec.Filling.Class, rec.Filling.Until
	return &o
}

// Validate names the first option that makes no sense.
func (o WeekOptions) Validate() error {
	switch {
	case o.Filler == "":
		return errors.New("invalid week: filler is empty, it must be the name of a class")
	case o.Day <= 0:
		return fmt.Errorf("invalid week: day is %g s, it must be above 0", o.Day)
	case o.Until < 0:
		return fmt.Errorf("invalid week: until is %g s, it must not be negative", o.Until)
	case !slices.IsSorted(o.Edges):
		return fmt.Errorf("invalid week: edges are %v, they must ascend", o.Edges)
	case o.High <= 0 || o.High > 1:
		return fmt.Errorf("invalid week: high is %g, it must be above 0 and at most 1", o.High)
	}
	return nil
}

// Week tells how well a filler used what the other jobs left free. Means are
// over time.
type Week struct {
	Capacity int `json:"capacity"`
	// MeanOthers and MeanAll are GPUs held without and with the filler.
	MeanOthers float64 `json:"meanOthers"`
	MeanAll    float64 `json:"meanAll"`
	// HighOthers and HighAll are the shares of the time in which these were
	// above WeekOptions.High of the capacity.
	HighOthers float64 `json:"highOthers"`
	HighAll    float64 `json:"highAll"`
	// SpareHours are GPU-hours that the others left free on nodes that took
	// pods, FillerHours what the filler held.
	SpareHours  float64 `json:"spareHours"`
	FillerHours float64 `json:"fillerHours"`
	Days        []Day   `json:"days"`
	Bins        []Bin   `json:"bins"`
	Lost        Lost    `json:"lost"`
	Wait        Wait    `json:"wait"`
}

// Filled is the share of the spare capacity that the filler held; 0 if there
// was none to spare.
func (w Week) Filled() float64 {
	if w.SpareHours == 0 {
		return 0
	}
	return w.FillerHours / w.SpareHours
}

// Day is one day; the last may be short.
type Day struct {
	// Mean are the GPUs held by class.
	Mean map[string]float64 `json:"mean"`
	// MaxFiller is the most that the filler held.
	MaxFiller int `json:"maxFiller"`
	// Unallocated is the mean of GPUs that nobody held, away or not.
	Unallocated float64 `json:"unallocated"`
	seconds     float64
}

// Bin is the time in which the others held at least From and fewer than To
// GPUs.
type Bin struct {
	From int `json:"from"`
	// To is nil for the last bin.
	To *int `json:"to,omitempty"`
	// Share of the time.
	Share float64 `json:"share"`
	// Spare and Filler are means within the bin.
	Spare  float64 `json:"spare"`
	Filler float64 `json:"filler"`
}

// NewWeek cuts a run. The options must be valid.
func NewWeek(rec *recording.Recording, o WeekOptions) Week {
	w := Week{Capacity: Capacity(rec), Days: []Day{}, Bins: makeBins(o.Edges)}
	high := o.High * float64(w.Capacity)
	counted := rec.Duration
	if o.Until > 0 {
		counted = min(counted, o.Until/storyScale(rec))
	}
	Sweep(rec, ByClass(rec), func(level Level) {
		if level.To = min(level.To, counted); level.To <= level.From {
			return
		}
		length := level.To - level.From
		filler := level.Held[o.Filler]
		others := level.Total - filler
		spare := max(0, w.Capacity-level.Away-others)

		w.MeanOthers += length * float64(others)
		w.MeanAll += length * float64(level.Total)
		if float64(others) > high {
			w.HighOthers += length
		}
		if float64(level.Total) > high {
			w.HighAll += length
		}
		w.SpareHours += hours(rec, length*float64(spare))
		w.FillerHours += hours(rec, length*float64(filler))

		bin := &w.Bins[binOf(o.Edges, others)]
		bin.Share += length
		bin.Spare += length * float64(spare)
		bin.Filler += length * float64(filler)
		w.addDays(level, o, storyScale(rec))
	})
	divide(counted, &w.MeanOthers, &w.MeanAll, &w.HighOthers, &w.HighAll)
	for i := range w.Bins {
		bin := &w.Bins[i]
		divide(bin.Share, &bin.Spare, &bin.Filler)
		divide(counted, &bin.Share)
	}
	for _, day := range w.Days {
		for class := range day.Mean {
			day.Mean[class] /= day.seconds
		}
	}
	for i := range w.Days {
		divide(w.Days[i].seconds, &w.Days[i].Unallocated)
	}
	figures := Run(rec)
	w.Lost, w.Wait = figures.Lost, figures.Waits[o.Waiting]
	return w
}

// addDays gives each day its part of a level.
func (w *Week) addDays(level Level, o WeekOptions, scale float64) {
	from, to := level.From*scale, level.To*scale
	for day := int(from / o.Day); float64(day)*o.Day < to; day++ {
		seconds := overlap(from, to, float64(day)*o.Day, float64(day+1)*o.Day)
		if seconds == 0 {
			continue
		}
		for len(w.Days) <= day {
			w.Days = append(w.Days, Day{Mean: map[string]float64{}})
		}
		d := &w.Days[day]
		d.seconds += seconds
		d.MaxFiller = max(d.MaxFiller, level.Held[o.Filler])
		d.Unallocated += seconds * float64(max(0, w.Capacity-level.Total))
		for class, gpus := range level.Held {
			d.Mean[class] += seconds * float64(gpus)
		}
	}
}

func makeBins(edges []int) []Bin {
	bins := make([]Bin, len(edges)+1)
	for i, edge := range edges {
		bins[i].To = &edge
		bins[i+1].From = edge
	}
	return bins
}

// binOf is the bin of a number of GPUs: one that equals an edge is above it.
func binOf(edges []int, gpus int) int {
	bin, found := slices.BinarySearch(edges, gpus)
	if found {
		bin++
	}
	return bin
}

func divide(by float64, values ...*float64) {
	for _, value := range values {
		if by > 0 {
			*value /= by
		}
	}
}
