// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// jobs writes a line for each job. UP and DOWN count changes of its size.
func (p *printer) jobs(r run) {
	g := gpuTimeOf(r.figures.Hours)
	rows := [][]cell{{
		c("JOB", faint), c("PRIO", faint), c("QUEUED", faint), c("WAITED", faint), c("ENDED", faint), c("GPUS", faint), c(strings.ToUpper(g.unit), faint),
		c("UP", faint), c("DOWN", faint), c("EVICT", faint), c("ITEMS", faint), c("RESULT", faint),
	}}
	for i, job := range r.rec.Jobs {
		if i == p.MaxJobs {
			break
		}
		f := r.figures.Jobs[i]
		finished := "-"
		if job.Finished != nil {
			finished = p.at(r, *job.Finished)
		}
		rows = append(rows, []cell{
			c(job.Name, plain), c(cut(job.Priority, 6), plain), c(p.at(r, job.Submitted), plain), c(duration(f.TotalWait), plain), c(finished, plain),
			c(strconv.Itoa(f.PeakGPUs), plain), c(g.write(f.GPUHours), plain), c(strconv.Itoa(f.Grown), plain), c(strconv.Itoa(f.Shrunk), plain),
			c(strconv.Itoa(len(f.Evictions)), plain), c(fmt.Sprintf("%d/%d", job.ItemsDone, job.ItemsTotal), plain), resultOf(job, f),
		})
	}
	p.cutFirst(rows)
	p.table(rows, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	if more := len(r.rec.Jobs) - p.MaxJobs; more > 0 {
		p.line("%s", p.paint(fmt.Sprintf("… and %d more jobs", more), faint))
	}
}

// resultOf says what became of a job.
func resultOf(job recording.Job, f measure.JobFigures) cell {
	switch {
	case f.Rejected:
		return c("rejected", red)
	case job.Result == "":
		return c("unfinished", yellow)
	case job.Result != "Succeeded":
		return c(cut(job.Result, 12), red)
	case job.ItemsDone < job.ItemsTotal:
		return c("work missing", red)
	default:
		return c(job.Result, green)
	}
}

// cutFirst shortens the first column so that the rows fit a line.
func (p *printer) cutFirst(rows [][]cell) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.text))
		}
	}
	rest := 0
	for _, width := range widths[1:] {
		rest += 2 + width
	}
	for _, row := range rows {
		row[0].text = cut(row[0].text, max(8, p.Width-rest))
	}
}

// levels fill a character from below.
var levels = []rune("▁▂▃▄▅▆▇█")

// Marks of a job's states in its bar.
const (
	markPending    = '·'
	markDraining   = '×'
	markBackingOff = '~'
	markInactive   = 'o'
)

// timelines draws a bar over time for each job.
func (p *printer) timelines(r run) {
	if r.rec.Duration <= 0 || len(r.rec.Jobs) == 0 {
		return
	}
	names := 0
	for i, job := range r.rec.Jobs {
		if i < p.MaxJobs {
			names = max(names, min(24, utf8.RuneCountInString(job.Name)))
		}
	}
	width := max(20, p.Width-names-4)
	p.heading("Jobs over time")
	for i, job := range r.rec.Jobs {
		if i == p.MaxJobs {
			break
		}
		name := cut(clean(job.Name), names)
		name += strings.Repeat(" ", names-utf8.RuneCountInString(name))
		p.line("%s ▕%s▏", name, p.bar(r, job, r.figures.Jobs[i], width))
	}
	p.line("%s", p.axis(r, names+2, width))
	p.line("%s", p.paint("· waits   ▁ to █ admitted, by GPUs   × drains   ~ backs off   o inactive", faint))
}

// bar is a job's bar. A state that is short but must be seen (a drain) takes
// a column even if it fills only a part of it.
func (p *printer) bar(r run, job recording.Job, f measure.JobFigures, width int) string {
	column := r.rec.Duration / float64(width)
	states := measure.States(r.rec, job.Name)
	most := 0
	for _, state := range states {
		if state.State == recording.Admitted {
			most = max(most, state.GPUs)
		}
	}
	most = max(most, f.PeakGPUs)
	var bar strings.Builder
	for i := range width {
		from, to := float64(i)*column, float64(i+1)*column
		text, color := " ", plain
		longest := 0.0
		for _, state := range states {
			shared := min(to, *state.To) - max(from, state.From)
			if shared <= 0 || state.State == recording.Done {
				continue
			}
			if state.State == recording.Draining {
				text, color = string(markDraining), red
				break
			}
			if shared > longest {
				longest = shared
				text, color = markOf(state, most)
			}
		}
		bar.WriteString(p.paint(text, color))
	}
	return bar.String()
}

func markOf(state recording.Span, most int) (string, color) {
	switch state.State {
	case recording.Pending:
		return string(markPending), yellow
	case recording.BackingOff:
		return string(markBackingOff), magenta
	case recording.Inactive:
		return string(markInactive), red
	case recording.Admitted:
		if most == 0 {
			return string(levels[len(levels)-1]), green
		}
		level := int(math.Ceil(float64(len(levels))*float64(state.GPUs)/float64(most))) - 1
		return string(levels[min(max(level, 0), len(levels)-1)]), green
	}
	return " ", plain
}

// axis writes the start, the middle and the end of the run below a chart.
func (p *printer) axis(r run, indent, width int) string {
	middle, end := p.at(r, r.rec.Duration/2), p.at(r, r.rec.Duration)
	gap := width/2 - 2 - len(middle)/2
	text := "0s" + strings.Repeat(" ", max(1, gap)) + middle
	text += strings.Repeat(" ", max(1, width-len(text)-len(end))) + end
	return strings.Repeat(" ", indent) + p.paint(text, faint)
}
