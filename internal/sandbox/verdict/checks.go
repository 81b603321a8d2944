// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// outcome is what a check found.
type outcome struct {
	passed    bool
	want, got string
	evidence  []string
}

// Checks judges all checks of a scenario.
func Checks(rec *recording.Recording, s *scenario.Scenario) []recording.Check {
	h := newHistory(rec, everyJob)
	out := make([]recording.Check, 0, len(s.Checks))
	for i := range s.Checks {
		c := &s.Checks[i]
		o := h.judge(c)
		out = append(out, recording.Check{Name: c.Name, Passed: o.passed, Want: o.want, Got: o.got, Evidence: o.evidence})
	}
	return out
}

func (h *history) judge(c *scenario.Check) outcome {
	switch {
	case c.Sequence != nil:
		return h.sequence(c.Sequence)
	case c.Within != nil:
		return h.within(c.Within)
	case c.Never != nil:
		return h.never(c.Never)
	case c.Counts != nil:
		return h.counts(c.Counts)
	case c.Nodes != nil:
		return h.nodes(c.Nodes)
	case c.Evictions != nil:
		return h.evicted(c.Evictions)
	case c.Items != nil:
		return h.items(c.Items)
	case c.Progress != nil:
		return h.progress(c.Progress)
	case c.KeptPods != nil:
		return h.keptPods(c.KeptPods)
	case c.Messages != nil:
		return h.messages(c.Messages)
	case c.Warnings != nil:
		return h.warned(c.Warnings)
	case c.Rejected != nil:
		return h.rejected(c.Rejected)
	case c.Waited != nil:
		return h.waited(c.Waited)
	case c.Filled != nil:
		return h.filled(c.Filled)
	case c.Nothing != nil:
		return h.nothingLeft(c.Nothing)
	}
	return outcome{want: "a check of a known kind", got: "none"}
}

// stages describes how far a list of conditions came.
func (h *history) stages(list []scenario.Condition, from float64) []string {
	var lines []string
	at := from
	for i := range list {
		next, ok := h.first(&list[i], at)
		if !ok {
			return append(lines, "never after that: "+Describe(&list[i]))
		}
		lines, at = append(lines, fmt.Sprintf("%.3fs: %s", next, Describe(&list[i]))), next
	}
	return lines
}

func (h *history) sequence(list []scenario.Condition) outcome {
	o := outcome{want: describeAll(list), evidence: h.stages(list, 0)}
	_, failed := h.follow(list, 0)
	o.passed, o.got = failed < 0, "all, in this order"
	if failed >= 0 {
		o.got = "not: " + Describe(&list[failed])
	}
	return o
}

func (h *history) within(c *scenario.WithinCheck) outcome {
	limit := c.Limit.D().Seconds()
	o := outcome{want: fmt.Sprintf("%s within %s", Describe(&c.Condition), c.Limit.D()), evidence: h.stages(c.After, 0)}
	from, failed := h.follow(c.After, 0)
	if failed >= 0 {
		o.got = "what it is counted from never came: " + Describe(&c.After[failed])
		return o
	}
	at, ok := h.first(&c.Condition, from)
	if !ok {
		o.got = "never"
		return o
	}
	o.evidence = append(o.evidence, fmt.Sprintf("%.3fs: %s", at, Describe(&c.Condition)))
	o.got, o.passed = fmt.Sprintf("after %.3fs", at-from), at-from <= limit
	return o
}

func (h *history) never(c *scenario.NeverCheck) outcome {
	o := outcome{want: "never: " + Describe(&c.Condition), evidence: h.stages(c.From, 0)}
	from, failed := h.follow(c.From, 0)
	if failed >= 0 {
		o.got = "the time to look at never began: " + Describe(&c.From[failed])
		return o
	}
	until := h.rec.Duration
	if len(c.Until) > 0 {
		o.evidence = append(o.evidence, h.stages(c.Until, from)...)
		if until, failed = h.follow(c.Until, from); failed >= 0 {
			o.got = "the time to look at never ended: " + Describe(&c.Until[failed])
			return o
		}
	}
	at, ok := h.first(&c.Condition, from)
	if ok && (at < until || len(c.Until) == 0) {
		o.got = fmt.Sprintf("at %.3fs", at)
		return o
	}
	o.got, o.passed = fmt.Sprintf("never from %.3fs to %.3fs", from, until), true
	return o
}

// size is an admitted size and since when.
type size struct {
	at float64
	n  int
}

// sizes are the sizes that were admitted, from the first admission to the
// last end of one.
func (h *history) sizes(job, group string) []size {
	var list []size
	for _, t := range h.moments() {
		n, ok := h.admitted(job, group, t)
		if !ok {
			n = 0
		}
		if len(list) == 0 && !ok || len(list) > 0 && list[len(list)-1].n == n {
			continue
		}
		list = append(list, size{t, n})
	}
	// The end of a job is no resize.
	if j := h.jobs[job]; len(list) > 0 && j != nil && j.Finished != nil && list[len(list)-1].n == 0 {
		list = list[:len(list)-1]
	}
	return list
}

func (h *history) counts(c *scenario.CountsCheck) outcome {
	list := h.sizes(c.Job, c.Group)
	got := make([]int, len(list))
	var o outcome
	for i, s := range list {
		got[i] = s.n
		o.evidence = append(o.evidence, fmt.Sprintf("%.3fs: %d", s.at, s.n))
	}
	o.passed, o.got = true, ints(got)
	var want []string
	if len(c.Are) > 0 {
		want, o.passed = append(want, ints(c.Are)), o.passed && slices.Equal(got, c.Are)
	}
	if n := len(c.Begin); n > 0 {
		want, o.passed = append(want, "first "+ints(c.Begin)), o.passed && len(got) >= n && slices.Equal(got[:n], c.Begin)
	}
	if n := len(c.End); n > 0 {
		want, o.passed = append(want, "last "+ints(c.End)), o.passed && len(got) >= n && slices.Equal(got[len(got)-n:], c.End)
	}
	if len(c.Never) > 0 {
		want = append(want, "never "+ints(c.Never))
		o.passed = o.passed && len(got) > 0 && !slices.ContainsFunc(got, func(n int) bool { return slices.Contains(c.Never, n) })
	}
	o.want = strings.Join(want, "; ")
	return o
}

func ints(list []int) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, " ")
}

// peaks are the most pods at one time on each node.
func (h *history) peaks(job, group string) map[string]int {
	peaks := map[string]int{}
	for _, t := range h.moments() {
		now := map[string]int{}
		for _, p := range h.pods[job] {
			if inGroup(p, group) && holds(p, t) {
				now[p.Node]++
			}
		}
		for node, n := range now {
			peaks[node] = max(peaks[node], n)
		}
	}
	return peaks
}

func (h *history) nodes(c *scenario.NodesCheck) outcome {
	peaks := h.peaks(c.Job, c.Group)
	var names []string
	var spread []int
	o := outcome{passed: true}
	for node, n := range peaks {
		names, spread = append(names, node), append(spread, n)
	}
	slices.Sort(names)
	slices.SortFunc(spread, func(a, b int) int { return b - a })
	for _, name := range names {
		o.evidence = append(o.evidence, fmt.Sprintf("%s: at most %d pods at one time", name, peaks[name]))
	}
	o.got = cmp.Or(strings.Join(names, ", "), "none")
	var want []string
	if len(c.Are) > 0 {
		sorted := slices.Sorted(slices.Values(c.Are))
		want, o.passed = append(want, strings.Join(sorted, ", ")), o.passed && slices.Equal(names, sorted)
	}
	if c.AtMost > 0 {
		want, o.passed = append(want, fmt.Sprintf("at most %d", c.AtMost)), o.passed && len(names) > 0 && len(names) <= c.AtMost
	}
	if len(c.Spread) > 0 {
		want, o.passed = append(want, "pods by node "+ints(c.Spread)), o.passed && slices.Equal(spread, c.Spread)
		o.got += ", pods by node " + ints(spread)
	}
	if c.Racks > 0 {
		racks := h.racksOf(peaks)
		want, o.passed = append(want, fmt.Sprintf("at most %d racks", c.Racks)), o.passed && len(racks) > 0 && len(racks) <= c.Racks
		o.got += ", in " + cmp.Or(strings.Join(racks, ", "), "no rack")
	}
	o.want = strings.Join(want, "; ")
	return o
}

// racksOf are the racks of some nodes.
func (h *history) racksOf(nodes map[string]int) []string {
	racks := map[string]bool{}
	for _, node := range h.rec.Nodes {
		if _, ok := nodes[node.Name]; ok && node.Rack != "" {
			racks[node.Rack] = true
		}
	}
	return slices.Sorted(maps.Keys(racks))
}

func (h *history) evicted(c *scenario.EvictionsCheck) outcome {
	var list []recording.Event
	seen := false
	for i := range h.rec.Jobs {
		if job := &h.rec.Jobs[i]; job.Name == c.Job || c.Class != "" && job.Class == c.Class {
			seen = true
			list = append(list, h.evictionsOf(job.Name, c.Group)...)
		}
	}
	o := outcome{want: strconv.Itoa(c.Are), got: strconv.Itoa(len(list)), passed: len(list) == c.Are && seen}
	if c.Reason != "" {
		o.want += " for " + c.Reason
	}
	for _, e := range list {
		o.evidence = append(o.evidence, fmt.Sprintf("%.3fs: %s", e.At, e.Text))
		if c.Reason != "" && !strings.HasPrefix(e.Text, c.Reason+":") {
			o.passed, o.got = false, o.got+", one for another reason"
		}
	}
	return o
}

func (h *history) items(c *scenario.ItemsCheck) outcome {
	job := h.jobs[c.Job]
	if job == nil {
		return outcome{want: "a job", got: "it was never seen"}
	}
	want := job.ItemsTotal
	if c.Done != nil {
		want = *c.Done
	}
	o := outcome{
		want:   fmt.Sprintf("%d done, each committed once", want),
		got:    fmt.Sprintf("%d done, %d committed again, %d started again", job.ItemsDone, job.ItemsRepeated, job.ItemsRedone),
		passed: job.ItemsDone == want && job.ItemsRepeated == 0,
	}
	if c.Redone != nil {
		o.want += fmt.Sprintf(", at most %d started again", *c.Redone)
		o.passed = o.passed && job.ItemsRedone <= *c.Redone
	}
	return o
}

func (h *history) keptPods(c *scenario.KeptPodsCheck) outcome {
	o := outcome{want: "the same pods from " + describeAll(c.From) + " until " + describeAll(c.Until)}
	o.evidence = h.stages(c.From, 0)
	from, failed := h.follow(c.From, 0)
	if failed < 0 {
		o.evidence = append(o.evidence, h.stages(c.Until, from)...)
		var until float64
		if until, failed = h.follow(c.Until, from); failed < 0 {
			return h.compareKept(c, o, from, until)
		}
	}
	o.got = "the times to compare did not come"
	return o
}

func (h *history) compareKept(c *scenario.KeptPodsCheck, o outcome, from, until float64) outcome {
	kept, lost := 0, 0
	for _, p := range h.pods[c.Job] {
		if !inGroup(p, c.Group) || !ready(p, from) {
			continue
		}
		if reached(p.Stopping, until) || reached(p.Gone, until) {
			lost++
			o.evidence = append(o.evidence, fmt.Sprintf("%s (uid %s) did not stay", p.Name, p.UID))
		} else {
			kept++
		}
	}
	o.got, o.passed = fmt.Sprintf("%d kept, %d not", kept, lost), kept > 0 && lost == 0
	return o
}
