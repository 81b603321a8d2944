// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

const chartHeight = 8

// fills draw classes apart even without colours.
var fills = []struct {
	text  string
	color color
}{{"█", blue}, {"░", green}, {"▓", magenta}, {"▒", cyan}, {"#", yellow}, {"+", red}}

// allocation draws who held the GPUs over time, stacked by class, or by
// priority if the jobs have no classes.
func (p *printer) allocation(r run) {
	capacity := max(r.figures.Capacity, r.figures.PeakGPUs)
	if capacity == 0 || r.rec.Duration <= 0 {
		return
	}
	by, hours, what := measure.ByClass(r.rec), r.figures.ByClass, "class"
	if _, none := hours[measure.None]; none && len(hours) == 1 {
		by, hours, what = measure.ByPriority(r.rec), r.figures.ByPriority, "priority"
	}
	// The most important goes to the bottom: what held most.
	keys := slices.SortedFunc(maps.Keys(hours), func(a, b string) int {
		return cmp.Or(cmp.Compare(hours[b], hours[a]), strings.Compare(a, b))
	})
	axisWidth := len(strconv.Itoa(capacity))
	width := max(20, p.Width-axisWidth-4)
	means := columnMeans(r, by, width)

	p.heading("GPUs held over time, by " + what)
	for row := chartHeight - 1; row >= 0; row-- {
		middle := (float64(row) + 0.5) / chartHeight * float64(capacity)
		var line strings.Builder
		for _, mean := range means {
			text, color := " ", plain
			below := 0.0
			for i, key := range keys {
				if below += mean[key]; below >= middle {
					fill := fills[i%len(fills)]
					text, color = fill.text, fill.color
					break
				}
			}
			line.WriteString(p.paint(text, color))
		}
		mark := ""
		switch row {
		case chartHeight - 1:
			mark = strconv.Itoa(capacity)
		case chartHeight/2 - 1:
			mark = strconv.Itoa(capacity / 2)
		}
		p.line("%*s ▕%s▏", axisWidth, mark, line.String())
	}
	p.line("%s", p.axis(r, axisWidth+2, width))
	g := gpuTimeOf(r.figures.Hours)
	var legend []cell
	for i, key := range keys {
		fill := fills[i%len(fills)]
		legend = append(legend, c(fmt.Sprintf("%s %s %s", fill.text, cut(key, 40), g.write(hours[key])), fill.color))
	}
	p.flow(append(legend, c(fmt.Sprintf("idle %s, in %s", g.write(r.figures.IdleHours), g.long), plain)))
}

// flow writes cells one after the other, on as many lines as they take.
func (p *printer) flow(cells []cell) {
	var line strings.Builder
	used := 0
	for _, cell := range cells {
		width := utf8.RuneCountInString(cell.text) + 3
		if used > 0 && used+width > p.Width {
			p.line("%s", strings.TrimRight(line.String(), " "))
			line.Reset()
			used = 0
		}
		line.WriteString(p.paint(cell.text, cell.color) + "   ")
		used += width
	}
	p.line("%s", strings.TrimRight(line.String(), " "))
}

// columnMeans is the mean of the GPUs held by key in each column of a chart.
func columnMeans(r run, by func(recording.Pod) string, width int) []map[string]float64 {
	column := r.rec.Duration / float64(width)
	means := make([]map[string]float64, width)
	for i := range means {
		means[i] = map[string]float64{}
	}
	measure.Sweep(r.rec, by, func(level measure.Level) {
		for i := int(level.From / column); i < width && float64(i)*column < level.To; i++ {
			shared := min(level.To, float64(i+1)*column) - max(level.From, float64(i)*column)
			for key, gpus := range level.Held {
				means[i][key] += float64(gpus) * max(0, shared) / column
			}
		}
	})
	return means
}
