// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Options say how a report is written.
type Options struct {
	// Width is the number of characters of a line; 0 means 100.
	Width int
	// Color adds colours of a terminal; see UseColor.
	Color bool
	// MaxJobs is how many jobs an arm's tables show; 0 means 40.
	MaxJobs int
	// AllEvidence also writes the evidence of checks that passed.
	AllEvidence bool
	// Week is how the figures of a week are taken; nil means the usual way,
	// for scenarios that are about filling what others leave.
	Week *measure.WeekOptions
}

// printer writes lines; the first error ends it.
type printer struct {
	Options
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// Text writes a report for a terminal. Recordings of one scenario by
// different managers stand side by side as arms; several of one manager are
// repeats.
func Text(w io.Writer, recs []*recording.Recording, o Options) error {
	scenarios, err := group(recs, o.Week)
	if err != nil {
		return err
	}
	if o.Width == 0 {
		o.Width = 100
	}
	if o.MaxJobs == 0 {
		o.MaxJobs = 40
	}
	p := &printer{Options: o, out: w}
	if len(scenarios) > 1 {
		p.overview(scenarios)
	}
	for i, s := range scenarios {
		if i > 0 {
			p.line("")
		}
		p.scenario(s)
	}
	if p.err != nil {
		return fmt.Errorf("failed to write the report: %w", p.err)
	}
	return nil
}

func (p *printer) scenario(s scenario) {
	rec := s.first
	p.line("%s", p.paint(cut(clean(rec.Title), p.Width), bold))
	for _, line := range wrap(rec.Description, p.Width) {
		p.line("%s", line)
	}
	for _, line := range wrap(about(rec), p.Width) {
		p.line("%s", p.paint(line, faint))
	}
	p.line("")
	p.summary(s)
	p.comparisons(s)
	p.week(s)
	for _, a := range s.arms {
		p.arm(a, len(s.arms) > 1 || len(a.runs) > 1)
	}
}

func about(rec *recording.Recording) string {
	gpuNodes := 0
	for _, node := range rec.Nodes {
		if node.GPUs > 0 {
			gpuNodes++
		}
	}
	nodes := "nodes"
	if gpuNodes == 1 {
		nodes = "node"
	}
	text := fmt.Sprintf("%s: %d %s with %d GPUs, %s", rec.Scenario, gpuNodes, nodes, measure.Capacity(rec), duration(rec.Duration))
	if rec.TimeScale > 0 && rec.TimeScale != 1 {
		text += ", each second stands for " + duration(rec.TimeScale) + "; times are of the story"
	}
	return text
}

func (p *printer) arm(a arm, named bool) {
	r := a.shown()
	if named {
		title := cut(clean(a.name), p.Width-30)
		if len(a.runs) > 1 {
			title += fmt.Sprintf(", one of %d runs", len(a.runs))
		}
		p.line("")
		p.line("%s", p.paint(title+" "+strings.Repeat("─", max(0, p.Width-len([]rune(title))-1)), bold))
	}
	p.line("")
	p.jobs(r)
	p.timelines(r)
	p.allocation(r)
	p.checks(a)
	p.violations(r)
	p.waiting(r)
}

func (p *printer) checks(a arm) {
	r := a.shown()
	if len(r.rec.Checks) == 0 {
		return
	}
	p.heading("Checks")
	passes := a.checkPasses()
	for _, check := range r.rec.Checks {
		mark := p.paint("✓", green)
		if !check.Passed {
			mark = p.paint("✗", red)
		}
		often := ""
		if len(a.runs) > 1 {
			often = fmt.Sprintf(" (passed in %d of %d runs)", passes[check.Name], len(a.runs))
		}
		p.line("%s %s%s", mark, cut(clean(check.Name), p.Width-2-len(often)), often)
		if check.Passed && !p.AllEvidence {
			continue
		}
		p.indented("want ", check.Want)
		p.indented("got  ", check.Got)
		for _, evidence := range check.Evidence {
			p.indented("· ", evidence)
		}
	}
}

func (p *printer) violations(r run) {
	if len(r.rec.Violations) == 0 {
		return
	}
	p.heading("Violated invariants")
	for _, violation := range r.rec.Violations {
		p.line("%s %s at %s", p.paint("✗", red), cut(clean(violation.Rule), p.Width-20), p.at(r, violation.At))
		p.indented("", violation.Detail)
	}
}

// waiting tells why jobs still wait at the end.
func (p *printer) waiting(r run) {
	headed := false
	for _, job := range r.rec.Jobs {
		states := measure.States(r.rec, job.Name)
		if job.Finished != nil || len(states) == 0 {
			continue
		}
		last := states[len(states)-1]
		switch last.State {
		case recording.Pending, recording.BackingOff, recording.Inactive:
		default:
			continue
		}
		if !headed {
			p.heading("Still waiting at the end")
			headed = true
		}
		p.line("%s", cut(clean(job.Name), p.Width))
		p.indented("", strings.TrimPrefix(last.Reason+": "+last.Message, ": "))
	}
}

func (p *printer) heading(text string) {
	p.line("")
	p.line("%s", p.paint(text, bold))
}

func (p *printer) indented(label, text string) {
	for i, line := range wrap(text, p.Width-4-len([]rune(label))) {
		if i > 0 {
			label = strings.Repeat(" ", len([]rune(label)))
		}
		p.line("    %s%s", label, line)
	}
}

// at writes a time of the run as time of the story.
func (p *printer) at(r run, seconds float64) string {
	scale := r.rec.TimeScale
	if scale <= 0 {
		scale = 1
	}
	return duration(seconds * scale)
}
