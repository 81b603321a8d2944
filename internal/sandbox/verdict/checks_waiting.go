// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// waitingMessages are the messages with which Workloads of a job waited, each
// once, in the order in which they were said last.
func (h *history) waitingMessages(job string) []string {
	type said struct {
		at   float64
		text string
	}
	var all []said
	for _, w := range h.workloads[job] {
		for i := range w.Spans {
			if s := &w.Spans[i]; s.State == recording.Pending && s.Message != "" {
				all = append(all, said{s.From, s.Message})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b said) int { return cmp.Compare(a.at, b.at) })
	var texts []string
	for _, s := range all {
		texts = append(slices.DeleteFunc(texts, func(text string) bool { return text == s.text }), s.text)
	}
	return texts
}

func (h *history) messages(c *scenario.MessagesCheck) outcome {
	texts := h.waitingMessages(c.Job)
	some := func(is func(string) bool) bool { return slices.ContainsFunc(texts, is) }
	o := outcome{passed: true, got: fmt.Sprintf("%d different messages", len(texts)), evidence: texts}
	var want []string
	for _, part := range c.Contain {
		want = append(want, fmt.Sprintf("one with %q", part))
		o.passed = o.passed && some(func(text string) bool { return strings.Contains(text, part) })
	}
	if len(c.Together) > 0 {
		want = append(want, fmt.Sprintf("one with all of %q", c.Together))
		o.passed = o.passed && some(func(text string) bool {
			return !slices.ContainsFunc(c.Together, func(part string) bool { return !strings.Contains(text, part) })
		})
	}
	if len(c.Last) > 0 {
		want = append(want, fmt.Sprintf("the last one with all of %q", c.Last))
		o.passed = o.passed && len(texts) > 0 && !slices.ContainsFunc(c.Last, func(part string) bool {
			return !strings.Contains(texts[len(texts)-1], part)
		})
	}
	for _, part := range c.Lack {
		want = append(want, fmt.Sprintf("none with %q", part))
		o.passed = o.passed && !some(func(text string) bool { return strings.Contains(text, part) })
	}
	if c.AtMost > 0 {
		want, o.passed = append(want, fmt.Sprintf("at most %d different", c.AtMost)), o.passed && len(texts) > 0 && len(texts) <= c.AtMost
	}
	o.want = strings.Join(want, "; ")
	return o
}

// warningsOf are the Warning events about a job and its Workloads.
func (h *history) warningsOf(job string) []recording.Warning {
	own := func(w recording.Warning) bool {
		return w.Kind == "RayJob" && w.Name == job || slices.ContainsFunc(h.workloads[job], func(wl *recording.Workload) bool { return wl.UID == w.UID })
	}
	return slices.DeleteFunc(slices.Clone(h.rec.Warnings), func(w recording.Warning) bool { return !own(w) })
}

func (h *history) warned(c *scenario.WarningsCheck) outcome {
	o := outcome{want: fmt.Sprintf("%d with reason %s", c.Are, c.Reason), passed: h.jobs[c.Job] != nil}
	if len(c.Contain) > 0 {
		o.want += fmt.Sprintf(", each with all of %q", c.Contain)
	}
	n := 0
	for _, w := range h.warningsOf(c.Job) {
		if w.Reason != c.Reason {
			continue
		}
		n += w.Count
		o.evidence = append(o.evidence, fmt.Sprintf("%.3fs: %s %s, told %d times: %s", w.At, w.Kind, w.Name, w.Count, w.Text))
		if slices.ContainsFunc(c.Contain, func(part string) bool { return !strings.Contains(w.Text, part) }) {
			o.passed = false
		}
	}
	o.got, o.passed = fmt.Sprintf("%d warnings", n), o.passed && n == c.Are
	return o
}

func (h *history) rejected(c *scenario.RejectedCheck) outcome {
	o := outcome{want: fmt.Sprintf("refused with %q", c.Contain), got: "it was accepted"}
	if job := h.jobs[c.Job]; job == nil {
		o.got = "it was not submitted"
	} else if job.Rejected != "" {
		o.got = job.Rejected
		o.passed = !slices.ContainsFunc(c.Contain, func(part string) bool { return !strings.Contains(job.Rejected, part) })
	}
	return o
}

// waitedFor is how long a job waited for its first admission.
func (h *history) waitedFor(job string) (float64, bool) {
	j := h.jobs[job]
	if j == nil {
		return 0, false
	}
	at, ok := h.first(&scenario.Condition{Job: job, State: scenario.StateAdmitted}, j.Submitted)
	return at - j.Submitted, ok
}

func (h *history) filled(c *scenario.FilledCheck) outcome {
	o := outcome{want: fmt.Sprintf("at least %.0f %% of what others leave is filled", 100*c.AtLeast), got: "there is no node"}
	options := measure.FillingOptions(h.rec)
	if options == nil || measure.Capacity(h.rec) == 0 || h.rec.Duration == 0 {
		return o
	}
	week := measure.NewWeek(h.rec, *options)
	o.got, o.passed = fmt.Sprintf("%.1f %%", 100*week.Filled()), week.Filled() >= c.AtLeast
	o.evidence = []string{
		fmt.Sprintf("%.0f of %.0f spare GPU-hours of the story", week.FillerHours, week.SpareHours),
		fmt.Sprintf("of %d GPUs others hold %.1f on average, all together %.1f", week.Capacity, week.MeanOthers, week.MeanAll),
	}
	return o
}

func (h *history) waited(c *scenario.WaitedCheck) outcome {
	var want []string
	got, ok := h.waitedFor(c.Job)
	o := outcome{passed: ok, got: "never admitted"}
	if ok {
		o.got = fmt.Sprintf("%.3fs", got)
	}
	if c.AtMost != nil {
		want, o.passed = append(want, "at most "+c.AtMost.D().String()), o.passed && got <= c.AtMost.D().Seconds()
	}
	if c.AtLeast != nil {
		want, o.passed = append(want, "at least "+c.AtLeast.D().String()), o.passed && got >= c.AtLeast.D().Seconds()
	}
	o.want = strings.Join(want, ", ")
	return o
}
