// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

func TestMeasure(t *testing.T) {
	rec := &recording.Recording{
		Duration: 20,
		Manager:  recording.Manager{Cost: &recording.Cost{CPUSeconds: 2, PeakBytes: 64 << 20, WorkloadWrites: 12}},
		Jobs:     []recording.Job{{Name: "a", Result: "Succeeded"}, {Name: "b"}},
		Events: []recording.Event{
			{What: "grown", Latency: 0.5, Since: "the autoscaler asked"},
			{What: "grown"},
			{What: "evicted"},
		},
		Pods: []recording.Pod{
			{Job: "a", Group: "eval", Created: 1, Released: new(1.25)},
			{Job: "a", Group: "head", Created: 1, Released: new(9.0)},
			{Job: "a", Group: "eval", Created: 2},
			{Created: 1, Released: new(3.0)},
		},
		Workloads: []recording.Workload{
			{Spans: []recording.Span{
				{From: 1, State: recording.Pending}, {From: 2, State: recording.Admitted}, {From: 3, State: recording.Admitted},
				{From: 4, State: recording.Draining}, {From: 5, State: recording.Pending}, {From: 6, State: recording.Admitted},
			}},
			{Spans: []recording.Span{{From: 7, State: recording.Pending}}},
		},
		Violations: []recording.Violation{{Rule: "x"}},
	}
	want := measures{
		Growths: []float64{0.5}, Releases: []float64{0.25}, Waits: []float64{1},
		Admissions: 2, Evictions: 1, Duration: 20, Jobs: 2, Succeeded: 1, Violations: 1, Cost: rec.Manager.Cost,
	}
	got := measure(rec)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Unexpected measures (-want,+got):\n%s", diff)
	}

	var rep report
	rep.add("churn", "upstream", got)
	rep.add("churn", "upstream", got)
	var out strings.Builder
	if err := rep.markdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| autoscaler's request to admission | upstream | 2 | 500 ms | 500 ms | 500 ms | 500 ms |",
		"| upstream | 2 | 2 of 4 | 20 s | 0.10 | 2 | 1000 ms | 64 MiB | 6.0 | 2 |",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("the report lacks %q:\n%s", line, out.String())
		}
	}
}

func TestPercentile(t *testing.T) {
	values := []float64{5, 1, 4, 2, 3, 6, 7, 8, 9, 10}
	for p, want := range map[int]float64{1: 1, 10: 1, 50: 5, 90: 9, 99: 10, 100: 10} {
		if got, ok := percentile(values, p); !ok || got != want {
			t.Errorf("percentile(%d) = %v, %t, want %v", p, got, ok, want)
		}
	}
	if _, ok := percentile(nil, 50); ok {
		t.Error("there is a percentile of nothing")
	}
}

func TestScenariosLoad(t *testing.T) {
	names, err := scenario.Names("scenarios")
	if err != nil || len(names) == 0 {
		t.Fatalf("Found scenarios %v: %v", names, err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Load("scenarios/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			if submissions, err := s.Submissions(); err != nil || len(submissions) < 10 {
				t.Errorf("got %d jobs, %v, want a crowd", len(submissions), err)
			}
		})
	}
}
