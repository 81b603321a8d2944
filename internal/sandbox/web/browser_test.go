// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
	"fleet.ai/kueue-fleet/internal/sandbox/web/webtest"
)

// The script and the Go code must agree on what is held and what waits.
func TestBrowserShowsWhatWasRecorded(t *testing.T) {
	b := webtest.NewBrowser(t)
	recs := recordingtest.Small()
	for _, at := range []float64{9.2, 39.9} {
		dom := b.OpenFile(t, write(t, pageOf(recs...)), fmt.Sprintf("run=2&t=%g", at))
		stage := webtest.Shown(dom, "stage")
		held, waiting, gpus := stateAt(recs[1], at)
		for _, want := range []string{
			fmt.Sprintf("Nodes and their GPUs: %d of 32 held", held),
			fmt.Sprintf("%.1f s", at),
		} {
			if !strings.Contains(stage, want) {
				t.Errorf("at %g s the page does not show %q:\n%s", at, want, stage)
			}
		}
		queue := "Queue: nothing waits"
		if waiting > 0 {
			queue = fmt.Sprintf("Queue: %d Workload", waiting)
			if !strings.Contains(stage, fmt.Sprintf(", %d GPU", gpus)) {
				t.Errorf("at %g s the page does not show that %d GPUs are waited for:\n%s", at, gpus, stage)
			}
		}
		if !strings.Contains(stage, queue) {
			t.Errorf("at %g s the page does not show %q:\n%s", at, queue, stage)
		}
	}
}

// stateAt is what is held, and what waits beyond it, at a time.
func stateAt(rec *recording.Recording, at float64) (held, waiting, gpus int) {
	measure.Sweep(rec, measure.ByJob, func(level measure.Level) {
		if level.From <= at && at < level.To {
			held = level.Total
		}
	})
	now := func(wl recording.Workload) (recording.Span, bool) {
		for _, span := range wl.Spans {
			if span.From <= at && (span.To == nil || at < *span.To) {
				return span, true
			}
		}
		return recording.Span{}, false
	}
	admitted := map[string]int{}
	for _, wl := range rec.Workloads {
		if span, ok := now(wl); ok && span.State == recording.Admitted {
			admitted[wl.Name] = span.GPUs
		}
	}
	for _, wl := range rec.Workloads {
		if span, ok := now(wl); ok && span.State == recording.Pending {
			waiting++
			gpus += span.GPUs - admitted[wl.Replaces]
		}
	}
	return held, waiting, gpus
}

// The first picture is of a fleet that is in use, with its racks in order.
func TestBrowserBeginsWhereMostIsHeld(t *testing.T) {
	b := webtest.NewBrowser(t)
	rec := *recordingtest.Small()[1]
	rec.Nodes = slices.Clone(rec.Nodes)
	slices.Reverse(rec.Nodes)
	most := 0
	measure.Sweep(&rec, measure.ByJob, func(level measure.Level) { most = max(most, level.Total) })
	stage := webtest.Shown(b.OpenFile(t, write(t, pageOf(&rec)), ""), "stage")
	if want := fmt.Sprintf("Nodes and their GPUs: %d of 32 held", most); !strings.Contains(stage, want) {
		t.Errorf("the page does not begin with %q:\n%s", want, stage)
	}
	var order []string
	for _, name := range regexp.MustCompile(`gpu-\d\d`).FindAllString(stage, -1) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	if len(order) != 4 || !slices.IsSorted(order) {
		t.Errorf("nodes are shown as %v", order)
	}
}

// A page about filling tells classes apart, unless its address says otherwise.
func TestBrowserColoursByClassWhatIsAboutFilling(t *testing.T) {
	b := webtest.NewBrowser(t)
	rec := *recordingtest.Small()[1]
	pressed := func(fragment string) string {
		match := regexp.MustCompile(`<button[^>]*aria-pressed="true"[^>]*>(by \w+)`).FindStringSubmatch(b.OpenFile(t, write(t, pageOf(&rec)), fragment))
		if match == nil {
			t.Fatal("no way to colour is chosen")
		}
		return match[1]
	}
	if got := pressed(""); got != "by job" {
		t.Errorf("colours are %s, want by job", got)
	}
	rec.Filling = &recording.Filling{Class: "evals"}
	if got := pressed(""); got != "by class" {
		t.Errorf("colours are %s, want by class", got)
	}
	if got := pressed("by=job"); got != "by job" {
		t.Errorf("colours are %s, want by job as the address says", got)
	}
}

func TestBrowserShowsEveryPart(t *testing.T) {
	recs := recordingtest.Small()
	dom := webtest.NewBrowser(t).OpenFile(t, write(t, pageOf(recs...)), "run=1&t=11.3&job=eval&by=priority&theme=dark")
	for id, wants := range map[string][]string{
		"verdict": {"upstream FAILED", "1 of 2 checks, 1 violated invariant"},
		"checks":  {"Checks: 1 of 2 passed", "the eval reaches its full size , failed", "wanted eval holds 12 GPUs", "got at most 4", "gpu-01 holds 9 of 8 GPUs", "most GPUs of the eval 6 4 12"},
		"jobs":    {"eval q2 evals", "unfinished", "125 of 180 items", "whole-node q1 training", "succeeded"},
		"figures": {"The runs side by side", "GPU-seconds of evals", "1 Preempted 2 Preempted"},
		"stage":   {"by priority", "eval q2", "Preempted to accommodate a workload (JobUID: whole-node)"},
		"story":   {"What happened to eval", "eval evicted Preempted for whole-node"},
	} {
		text := webtest.Shown(dom, id)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("section %s does not show %q:\n%s", id, want, text)
			}
		}
	}
}

func TestBrowserListsScenarios(t *testing.T) {
	small := recordingtest.Small()
	other := *small[1]
	other.Scenario, other.Title = "other", "Another story"
	dom := webtest.NewBrowser(t).OpenFile(t, write(t, pageOf(small[0], small[1], &other)), "run=3")
	text := webtest.Shown(dom, "overview")
	for _, want := range []string{"2 scenarios: 2 of 3 runs passed", "An eval gives way and comes back ✗ 1/2, 1 violated ✓ 2/2", "Another story ✓ 2/2"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list of scenarios does not show %q:\n%s", want, text)
		}
	}
}

func TestBrowserShowsTextAsText(t *testing.T) {
	evil := `<img src=x onerror="document.body.dataset.failed='owned'"><script>document.body.dataset.failed='owned'</script>`
	rec := recordingtest.Small()[0]
	rec.Title, rec.Description = evil, evil
	for i := range rec.Jobs {
		rec.Jobs[i].Class = evil
	}
	for i := range rec.Workloads {
		for j := range rec.Workloads[i].Spans {
			rec.Workloads[i].Spans[j].Message = evil
		}
	}
	rec.Checks = []recording.Check{{Name: evil, Want: evil, Evidence: []string{evil}}}
	for i := range rec.Events {
		rec.Events[i].Text = evil
	}
	dom := webtest.NewBrowser(t).OpenFile(t, write(t, pageOf(rec)), "t=11.3")
	if strings.Contains(dom, "<img") {
		t.Error("a text became an element")
	}
	want := strings.Join(strings.Fields(evil), " ")
	for _, id := range []string{"stage", "checks", "story", "jobs"} {
		if text := webtest.Shown(dom, id); !strings.Contains(text, want) {
			t.Errorf("section %s does not show the text as it is:\n%s", id, text)
		}
	}
}

func TestBrowserShowsOddRecordings(t *testing.T) {
	b := webtest.NewBrowser(t)
	cases := map[string]*recording.Recording{
		"nothing at all":        {Version: recording.Version},
		"the very first moment": recordingtest.Until(recordingtest.Small()[0], 0),
		"pods without jobs": {Version: recording.Version, Duration: 5, Nodes: []recording.Node{{Name: "a", GPUs: 2}}, Pods: []recording.Pod{
			// One more than the node holds.
			pod("x", "a", 1, 2), pod("y", "a", 1, 1), pod("z", "gone", 1, 1),
		}},
	}
	for name, rec := range cases {
		t.Run(name, func(t *testing.T) {
			b.OpenFile(t, write(t, pageOf(rec)), "t=2")
		})
	}
}

func pod(name, node string, bound float64, gpus int) recording.Pod {
	return recording.Pod{Name: name, UID: name, Node: node, GPUs: gpus, Created: bound, Bound: &bound}
}
