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

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
)

// measureRow is one line of a table with a column for each arm.
type measureRow struct {
	name  string
	value func(run) float64
	write func(float64) string
}

// nameWidth is how long the name of a measure may be.
const nameWidth = 34

// armWidth is how many characters an arm has in a table beside the names.
func (p *printer) armWidth(s scenario) int {
	return max(10, (p.Width-nameWidth-16)/len(s.arms)-2)
}

// summary writes the arms side by side. Figures of repeated runs are their
// median, with the least and the most.
func (p *printer) summary(s scenario) {
	header := []cell{c("", plain)}
	verdict := []cell{c("result", plain)}
	checks := []cell{c("checks passed", plain)}
	violated := []cell{c("violated invariants", plain)}
	for _, a := range s.arms {
		header = append(header, c(cut(a.name, p.armWidth(s)), bold))
		verdict = append(verdict, verdictOf(a))
		r := a.shown()
		passed := fmt.Sprintf("%d of %d", r.figures.ChecksPassed, r.figures.Checks)
		if r.figures.Checks == 0 {
			passed = "there are none"
		}
		checks = append(checks, c(passed, plain))
		violated = append(violated, c(strconv.Itoa(r.figures.Violations), plain))
	}
	rows := [][]cell{header, verdict, checks, violated}
	rows = append(rows, p.measureRows(s, summaryRows(s))...)
	evictions := []cell{c("evictions", plain)}
	estimated := false
	for _, a := range s.arms {
		figures := a.shown().figures
		estimated = estimated || figures.Lost.Estimated
		evictions = append(evictions, c(cut(counts(figures.Evictions), p.armWidth(s)), plain))
	}
	p.table(append(rows, evictions))
	p.line("%s", p.paint("A GPU counts as held from the binding of its pod until the pod is gone.", faint))
	if estimated {
		p.line("%s", p.paint("Work done again is estimated from the number of items that were started again.", faint))
	}
}

func verdictOf(a arm) cell {
	passed := a.passed()
	switch {
	case len(a.runs) > 1 && passed == len(a.runs):
		return c(fmt.Sprintf("PASSED %d of %d runs", passed, len(a.runs)), green)
	case len(a.runs) > 1:
		return c(fmt.Sprintf("FAILED %d of %d runs", len(a.runs)-passed, len(a.runs)), red)
	case a.runs[0].figures.Checks == 0 && passed == 1:
		return c("nothing was checked", yellow)
	case passed == 1:
		return c("PASSED", green)
	default:
		return c("FAILED", red)
	}
}

func summaryRows(s scenario) []measureRow {
	capacity := float64(measure.Capacity(s.first))
	withShare := func(value float64) string {
		if capacity == 0 {
			return amount(value)
		}
		return fmt.Sprintf("%s (%s)", amount(value), percent(value/capacity))
	}
	g := gpuTimeOf(s.arms[0].runs[0].figures.Hours)
	rows := []measureRow{
		{"GPUs held, mean", func(r run) float64 { return r.figures.MeanGPUs }, withShare},
		{"GPUs held, most", func(r run) float64 { return float64(r.figures.PeakGPUs) }, count},
	}
	classes, waits := map[string]bool{}, map[string]bool{}
	for _, a := range s.arms {
		for _, r := range a.runs {
			for class := range r.figures.ByClass {
				classes[class] = true
			}
			for class := range r.figures.Waits {
				waits[class] = true
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		rows = append(rows, measureRow{g.long + " of " + label(class), func(r run) float64 { return r.figures.ByClass[class] }, g.write})
	}
	rows = append(rows, measureRow{g.long + " idle", func(r run) float64 { return r.figures.IdleHours }, g.write})
	rows = append(rows,
		measureRow{g.long + " on nodes away", func(r run) float64 { return r.figures.AwayHours }, g.write},
		measureRow{g.long + " lost to evictions", func(r run) float64 { return r.figures.Lost.Total() }, g.write},
		measureRow{"  draining", func(r run) float64 { return r.figures.Lost.Draining }, g.write},
		measureRow{"  starting again", func(r run) float64 { return r.figures.Lost.StartingAgain }, g.write},
		measureRow{"  work done again", func(r run) float64 { return r.figures.Lost.Redone }, g.write})
	for _, class := range slices.Sorted(maps.Keys(waits)) {
		rows = append(rows,
			measureRow{"wait of " + label(class) + ", mean", func(r run) float64 { return r.figures.Waits[class].MeanFirst }, duration},
			measureRow{"  longest", func(r run) float64 { return r.figures.Waits[class].MaxFirst }, duration},
			measureRow{"  with evictions, mean", func(r run) float64 { return r.figures.Waits[class].MeanTotal }, duration})
	}
	return rows
}

// label says what jobs without a class are called.
func label(class string) string {
	if class == measure.None {
		return "jobs"
	}
	return class
}

func (p *printer) measureRows(s scenario, rows []measureRow) [][]cell {
	var out [][]cell
	for _, row := range rows {
		line := []cell{c(cut(row.name, nameWidth), plain)}
		for _, a := range s.arms {
			line = append(line, c(cut(spread(a, row), p.armWidth(s)), plain))
		}
		out = append(out, line)
	}
	return out
}

func spread(a arm, row measureRow) string {
	values := make([]float64, len(a.runs))
	for i, r := range a.runs {
		values[i] = row.value(r)
	}
	text := row.write(measure.Median(values))
	if low, high := slices.Min(values), slices.Max(values); row.write(low) != row.write(high) {
		text += fmt.Sprintf(", %s to %s", row.write(low), row.write(high))
	}
	return text
}

func counts(byReason map[string]int) string {
	if len(byReason) == 0 {
		return "0"
	}
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		parts = append(parts, fmt.Sprintf("%d %s", byReason[reason], cmp.Or(reason, "without a reason")))
	}
	return strings.Join(parts, ", ")
}

// comparisons writes measures of other runs beside those of the arms.
func (p *printer) comparisons(s scenario) {
	type key struct{ measure, reference string }
	var order []key
	values := map[key]map[string]string{}
	for _, a := range s.arms {
		for _, comparison := range a.shown().rec.Comparisons {
			k := key{comparison.Measure, comparison.Reference}
			if values[k] == nil {
				order = append(order, k)
				values[k] = map[string]string{}
			}
			values[k][a.name] = comparison.Here
		}
	}
	if len(order) == 0 {
		return
	}
	p.heading("Beside what was measured elsewhere")
	header := []cell{c("", plain), c("reference", bold)}
	for _, a := range s.arms {
		header = append(header, c(cut(a.name, p.armWidth(s)), bold))
	}
	rows := [][]cell{header}
	for _, k := range order {
		row := []cell{c(cut(k.measure, 38), plain), c(cut(k.reference, 18), plain)}
		for _, a := range s.arms {
			row = append(row, c(cut(cmp.Or(values[k][a.name], "-"), p.armWidth(s)), plain))
		}
		rows = append(rows, row)
	}
	p.table(rows)
}
