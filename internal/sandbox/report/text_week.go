// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
)

// week writes how well the filler used what the others left, arm beside arm.
func (p *printer) week(s scenario) {
	if s.week == nil {
		return
	}
	o := *s.week
	capacity := float64(measure.Capacity(s.first))
	ofCapacity := func(gpus float64) string {
		if capacity == 0 {
			return amount(gpus)
		}
		return fmt.Sprintf("%s (%s)", amount(gpus), percent(gpus/capacity))
	}
	p.heading("How much of the spare capacity " + o.Filler + " filled")
	header := []cell{c("", plain)}
	for _, a := range s.arms {
		header = append(header, c(cut(a.name, p.armWidth(s)), bold))
	}
	high := fmt.Sprintf("time above %.0f %%", 100*o.High)
	rows := append([][]cell{header}, p.measureRows(s, []measureRow{
		{"mean GPUs without " + o.Filler, func(r run) float64 { return r.week.MeanOthers }, ofCapacity},
		{"mean GPUs of all", func(r run) float64 { return r.week.MeanAll }, ofCapacity},
		{high + " without " + o.Filler, func(r run) float64 { return r.week.HighOthers }, percent},
		{high + " of all", func(r run) float64 { return r.week.HighAll }, percent},
		{"GPU-hours left by the others", func(r run) float64 { return r.week.SpareHours }, amount},
		{"GPU-hours of " + o.Filler, func(r run) float64 { return r.week.FillerHours }, amount},
		{"spare capacity filled", func(r run) float64 { return r.week.Filled() }, percent},
		{"GPU-hours lost to evictions", func(r run) float64 { return r.week.Lost.Total() }, amount},
		{"wait of " + cmp.Or(o.Waiting, "jobs") + ", mean", func(r run) float64 { return r.week.Wait.MeanFirst }, duration},
		{"  longest", func(r run) float64 { return r.week.Wait.MaxFirst }, duration},
		// What the control plane takes does not scale with the story.
		{"  in time of the run, mean", func(r run) float64 { return realTime(r, r.week.Wait.MeanFirst) }, duration},
		{"  in time of the run, longest", func(r run) float64 { return realTime(r, r.week.Wait.MaxFirst) }, duration},
	})...)
	p.table(rows)
	for _, a := range s.arms {
		p.weekDays(a, o)
	}
	p.weekBins(s, o)
}

// realTime is how long a time of the story took in the run.
func realTime(r run, seconds float64) float64 {
	if r.rec.TimeScale <= 0 {
		return seconds
	}
	return seconds / r.rec.TimeScale
}

func (p *printer) weekDays(a arm, o measure.WeekOptions) {
	week := a.shown().week
	classes := map[string]bool{}
	for _, day := range week.Days {
		for class := range day.Mean {
			classes[class] = true
		}
	}
	names := slices.Sorted(maps.Keys(classes))
	p.heading(cut("Mean GPUs by day, "+clean(a.name), p.Width))
	header := []cell{c("day", faint)}
	var right []int
	for i, name := range names {
		header = append(header, c(cut(name, 14), faint))
		right = append(right, i+1)
	}
	header = append(header, c(o.Filler+" max", faint), c("unallocated", faint))
	right = append(right, len(names)+1, len(names)+2)
	rows := [][]cell{header}
	for i, day := range week.Days {
		row := []cell{c(strconv.Itoa(i+1), plain)}
		for _, name := range names {
			row = append(row, c(fmt.Sprintf("%.1f", day.Mean[name]), plain))
		}
		rows = append(rows, append(row, c(strconv.Itoa(day.MaxFiller), plain), c(fmt.Sprintf("%.1f", day.Unallocated), plain)))
	}
	p.table(rows, right...)
}

func (p *printer) weekBins(s scenario, o measure.WeekOptions) {
	p.heading("Mean GPUs by what the others held")
	names := []cell{c("", plain)}
	header := []cell{c("others held", faint)}
	var right []int
	for _, a := range s.arms {
		names = append(names, c("", plain), c("", plain), c(cut(a.name, 16), bold))
		for _, column := range []string{"time", "spare", o.Filler} {
			header = append(header, c(column, faint))
			right = append(right, len(header)-1)
		}
	}
	rows := [][]cell{names, header}
	bins := s.arms[0].shown().week.Bins
	for i := len(bins) - 1; i >= 0; i-- {
		name := fmt.Sprintf("%d and more", bins[i].From)
		if bins[i].To != nil {
			name = fmt.Sprintf("%d to below %d", bins[i].From, *bins[i].To)
		}
		row := []cell{c(name, plain)}
		for _, a := range s.arms {
			bin := a.shown().week.Bins[i]
			row = append(row, c(percent(bin.Share), plain), c(fmt.Sprintf("%.1f", bin.Spare), plain), c(fmt.Sprintf("%.1f", bin.Filler), plain))
		}
		rows = append(rows, row)
	}
	p.table(rows, right...)
}
