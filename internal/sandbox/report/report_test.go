// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
)

func TestWrite(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	jobs := []Job{
		{
			Summary: timeline.Summary{
				Job: "eval", Priority: "q2", Queued: at(1), Admitted: at(1.25), Running: at(3), Finished: at(20), Succeeded: true,
				PeakWorkers: 6, PeakGPUs: 6, GPUSeconds: 71.26, Grown: 5, Shrunk: 2, Nodes: []string{"gpu-01", "gpu-02"},
			},
			ItemsDone: 63, Items: 63,
		},
		{
			Summary: timeline.Summary{Job: "gang", Priority: "q1", Queued: at(2), Reasons: []string{"no room", "still no room"}},
			Items:   5,
		},
	}
	var out strings.Builder
	if err := Write(&out, start, jobs); err != nil {
		t.Fatal(err)
	}
	WriteReasons(&out, jobs)
	want := `JOB   PRIO  QUEUED  ADMITTED  RUNNING  FINISHED  WORKERS  GPUS  GPU-S  GROWN  SHRUNK  EVICTED  ITEMS  RESULT
eval  q2    1.00s   1.25s     3.00s    20.00s    6        6     71.3   5      2       0        63/63  done
gang  q1    2.00s   -         -        -         0        0     0.0    0      0       0        0/5    not finished
WORKERS and GPUS are the most at one time; a GPU counts from the binding of its pod until the pod is gone; GPU-S are GPU-seconds.
eval ran on gpu-01, gpu-02.
gang waited: no room
gang waited: still no room
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("report (-want,+got):\n%s", diff)
	}
}

func TestResult(t *testing.T) {
	ended := time.Unix(1, 0)
	cases := map[string]struct {
		job    Job
		want   string
		wantOK bool
	}{
		"all done":                     {job: Job{Summary: timeline.Summary{Finished: ended, Succeeded: true}, ItemsDone: 2, Items: 2}, want: "done", wantOK: true},
		"ended well with work missing": {job: Job{Summary: timeline.Summary{Finished: ended, Succeeded: true}, ItemsDone: 1, Items: 2}, want: "work missing"},
		"ended badly":                  {job: Job{Summary: timeline.Summary{Finished: ended}, ItemsDone: 2, Items: 2}, want: "failed"},
		"still there":                  {job: Job{ItemsDone: 2, Items: 2}, want: "not finished"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := result(tc.job); got != tc.want || tc.job.OK() != tc.wantOK {
				t.Errorf("got %q, ok %v, want %q, ok %v", got, tc.job.OK(), tc.want, tc.wantOK)
			}
		})
	}
}
