// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

func TestRunPasses(t *testing.T) {
	good, bad := recording.Check{Passed: true}, recording.Check{}
	cases := map[string]struct {
		rec  recording.Recording
		want bool
	}{
		"nothing to check":                  {want: true},
		"every check passed":                {rec: recording.Recording{Checks: []recording.Check{good, good}}, want: true},
		"one check failed":                  {rec: recording.Recording{Checks: []recording.Check{good, bad}}},
		"an invariant was violated, though": {rec: recording.Recording{Checks: []recording.Check{good}, Violations: []recording.Violation{{}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Run(&tc.rec).Passed; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// What is held, idle and away is all there is, at any time of any run.
func TestRunAddsUp(t *testing.T) {
	for _, rec := range append(recordingtest.Small(), recordingtest.Week()...) {
		for _, share := range []float64{0.1, 0.5, 0.77, 1} {
			part := recordingtest.Until(rec, rec.Duration*share)
			f := Run(part)
			if want, got := float64(f.Capacity)*f.Hours, f.HeldHours+f.IdleHours+f.AwayHours; math.Abs(want-got) > 1e-6*want {
				t.Errorf("%s of %s at %g: %g GPU-hours, want %g", part.Scenario, part.Manager.Name, share, got, want)
			}
			jobs := 0.0
			for _, job := range f.Jobs {
				jobs += job.GPUHours
				if job.TotalWait < job.FirstWait-1e-9 || job.ReadyGPUHours > job.GPUHours+1e-9 {
					t.Errorf("%s of %s: figures of %s contradict each other: %+v", part.Scenario, part.Manager.Name, job.Name, job)
				}
			}
			for what, parts := range map[string]map[string]float64{"classes": f.ByClass, "priorities": f.ByPriority} {
				total := 0.0
				for _, hours := range parts {
					total += hours
				}
				if math.Abs(total-f.HeldHours) > 1e-6 || math.Abs(jobs-f.HeldHours) > 1e-6 {
					t.Errorf("%s of %s: %s sum to %g and jobs to %g, want %g", part.Scenario, part.Manager.Name, what, total, jobs, f.HeldHours)
				}
			}
		}
	}
}

func TestMedian(t *testing.T) {
	got := []float64{Median(nil), Median([]float64{3}), Median([]float64{9, 1, 5}), Median([]float64{4, 1, 2, 9})}
	if diff := cmp.Diff([]float64{0, 3, 5, 3}, got); diff != "" {
		t.Errorf("medians (-want,+got):\n%s", diff)
	}
}
