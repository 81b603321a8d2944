// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package week

import (
	"bytes"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLevelsHaveTheMeasuredMeans(t *testing.T) {
	levels, means := Levels(), MeasuredMeans()
	if len(levels) != 7 || len(means) != 7 {
		t.Fatalf("%d days and %d means, want a week", len(levels), len(means))
	}
	for day, quarters := range levels {
		sum := 0
		for _, level := range quarters {
			if level%gpusPerNode != 0 || level > 192 {
				t.Errorf("day %d: level %d is not whole nodes of 24", day+1, level)
			}
			sum += level
		}
		if mean := float64(sum) / float64(len(quarters)); math.Abs(mean-means[day]) > 1 {
			t.Errorf("day %d: the mean is %v, %v was measured", day+1, mean, means[day])
		}
	}
}

func TestJobsHoldTheLevels(t *testing.T) {
	at := time.Duration(0)
	jobs := Jobs(Levels())
	for day, quarters := range Levels() {
		for _, level := range quarters {
			held := 0
			for _, j := range jobs {
				if j.Start <= at && at < j.End {
					held += j.Nodes * gpusPerNode
				}
			}
			if held != level {
				t.Errorf("day %d, %s: jobs hold %d GPUs, want %d", day+1, at, held, level)
			}
			at += segment
		}
	}
	for _, j := range jobs {
		if j.End-j.Start < segment || j.Nodes < 1 {
			t.Errorf("job %+v is too short or has no nodes", j)
		}
	}
}

func TestChoose(t *testing.T) {
	cases := map[string]struct {
		sizes []int
		nodes int
		want  []int
	}{
		"one that fits":              {sizes: []int{4, 2, 1}, nodes: 2, want: []int{1}},
		"two that fit":               {sizes: []int{4, 2, 1}, nodes: 5, want: []int{0, 2}},
		"the oldest of a size":       {sizes: []int{2, 2}, nodes: 2, want: []int{0}},
		"none fits, so one that has": {sizes: []int{4, 4}, nodes: 3, want: []int{0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var jobs []Job
			for _, n := range tc.sizes {
				jobs = append(jobs, Job{Nodes: n})
			}
			if diff := cmp.Diff(tc.want, choose(jobs, tc.nodes)); diff != "" {
				t.Errorf("chosen (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestTheScenariosAreUpToDate(t *testing.T) {
	for file, evals := range map[string]bool{"week.yaml": true, "week-without-evals.yaml": false} {
		path := "../../../scenarios/" + file
		var want bytes.Buffer
		if err := Write(&want, evals); err != nil {
			t.Fatal(err)
		}
		if os.Getenv("UPDATE_SCENARIOS") != "" {
			if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%s is not what the package writes (-want,+got):\n%s", file, diff)
		}
	}
}
