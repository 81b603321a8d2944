// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

func TestDefaultWeekOptions(t *testing.T) {
	cases := map[string]struct {
		capacity  int
		wantEdges []int
	}{
		"the bins of the measured week":        {capacity: 192, wantEdges: []int{120, 140, 160, 170}},
		"half a fleet has half the bins":       {capacity: 96, wantEdges: []int{60, 70, 80, 85}},
		"a small fleet has fewer":              {capacity: 8, wantEdges: []int{5, 6, 7}},
		"an empty fleet has one edge, at zero": {capacity: 0, wantEdges: []int{0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := DefaultWeekOptions(tc.capacity)
			if diff := cmp.Diff(tc.wantEdges, o.Edges); diff != "" {
				t.Errorf("edges (-want,+got):\n%s", diff)
			}
			if err := o.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestValidateWeekOptions(t *testing.T) {
	cases := map[string]struct {
		change func(*WeekOptions)
		want   string
	}{
		"no filler":               {change: func(o *WeekOptions) { o.Filler = "" }, want: "invalid week: filler is empty, it must be the name of a class"},
		"no day":                  {change: func(o *WeekOptions) { o.Day = -1 }, want: "invalid week: day is -1 s, it must be above 0"},
		"an end before the start": {change: func(o *WeekOptions) { o.Until = -1 }, want: "invalid week: until is -1 s, it must not be negative"},
		"edges that go back":      {change: func(o *WeekOptions) { o.Edges = []int{2, 1} }, want: "invalid week: edges are [2 1], they must ascend"},
		"a share above one":       {change: func(o *WeekOptions) { o.High = 1.5 }, want: "invalid week: high is 1.5, it must be above 0 and at most 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := DefaultWeekOptions(192)
			tc.change(&o)
			if err := o.Validate(); err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestNewWeek(t *testing.T) {
	const day = 86400
	// A second of the run is half a day.
	base := recording.Recording{
		Duration: 4, TimeScale: day / 2,
		Nodes: []recording.Node{{Name: "a", GPUs: 8}, {Name: "b", GPUs: 2}},
		Jobs:  []recording.Job{{Name: "t", Class: "training", Finished: ptr.To(3.0)}, {Name: "e", Class: "evals"}},
		Workloads: []recording.Workload{
			{Job: "t", Spans: []recording.Span{span(0, 1, recording.Pending, 6), span(1, 3, recording.Admitted, 6)}},
		},
		Pods: []recording.Pod{gpuPod("t", "a", 6, 1, 3), gpuPod("e", "a", 2, 2, -1), gpuPod("e", "b", 2, 2, 3)},
	}
	options := WeekOptions{Filler: "evals", Waiting: "training", Day: day, Edges: []int{4, 6}, High: 0.9}
	cases := map[string]struct {
		change func(*recording.Recording, *WeekOptions)
		want   Week
	}{
		"all means are over time": {
			change: func(*recording.Recording, *WeekOptions) {},
			want: Week{
				Capacity: 10, MeanOthers: 3, MeanAll: 4.5, HighAll: 0.25, SpareHours: 28 * 12, FillerHours: 6 * 12,
				Days: []Day{
					{Mean: map[string]float64{"training": 3}, Unallocated: 7},
					{Mean: map[string]float64{"training": 3, "evals": 3}, MaxFiller: 4, Unallocated: 4},
				},
				Bins: []Bin{
					{To: ptr.To(4), Share: 0.5, Spare: 10, Filler: 1},
					{From: 4, To: ptr.To(6)},
					{From: 6, Share: 0.5, Spare: 4, Filler: 2},
				},
				Wait: Wait{Jobs: 1, MeanFirst: day / 2, MedianFirst: day / 2, MaxFirst: day / 2, MeanTotal: day / 2},
			},
		},
		"what is free on a node that is away is not to spare": {
			change: func(rec *recording.Recording, _ *WeekOptions) {
				rec.Nodes[1].Away = []recording.Away{{From: 3, Why: "lost"}}
			},
			want: Week{
				Capacity: 10, MeanOthers: 3, MeanAll: 4.5, HighAll: 0.25, SpareHours: 26 * 12, FillerHours: 6 * 12,
				Days: []Day{
					{Mean: map[string]float64{"training": 3}, Unallocated: 7},
					{Mean: map[string]float64{"training": 3, "evals": 3}, MaxFiller: 4, Unallocated: 4},
				},
				Bins: []Bin{
					{To: ptr.To(4), Share: 0.5, Spare: 9, Filler: 1},
					{From: 4, To: ptr.To(6)},
					{From: 6, Share: 0.5, Spare: 4, Filler: 2},
				},
				Wait: Wait{Jobs: 1, MeanFirst: day / 2, MedianFirst: day / 2, MaxFirst: day / 2, MeanTotal: day / 2},
			},
		},
		"what comes after the end does not count": {
			change: func(_ *recording.Recording, o *WeekOptions) { o.Until, o.Edges = 1.5*day, nil },
			want: Week{
				Capacity: 10, MeanOthers: 4, MeanAll: 16.0 / 3, HighAll: 1.0 / 3, SpareHours: 18 * 12, FillerHours: 4 * 12,
				Days: []Day{
					{Mean: map[string]float64{"training": 3}, Unallocated: 7},
					{Mean: map[string]float64{"training": 6, "evals": 4}, MaxFiller: 4},
				},
				Bins: []Bin{{Share: 1, Spare: 6, Filler: 4.0 / 3}},
				Wait: Wait{Jobs: 1, MeanFirst: day / 2, MedianFirst: day / 2, MaxFirst: day / 2, MeanTotal: day / 2},
			},
		},
		"the last day may be short, and its means are over what there is of it": {
			change: func(_ *recording.Recording, o *WeekOptions) { o.Day, o.Edges = 1.5*day, nil },
			want: Week{
				Capacity: 10, MeanOthers: 3, MeanAll: 4.5, HighAll: 0.25, SpareHours: 28 * 12, FillerHours: 6 * 12,
				Days: []Day{
					{Mean: map[string]float64{"training": 4, "evals": 4.0 / 3}, MaxFiller: 4, Unallocated: 14.0 / 3},
					{Mean: map[string]float64{"evals": 2}, MaxFiller: 2, Unallocated: 8},
				},
				Bins: []Bin{{Share: 1, Spare: 7, Filler: 1.5}},
				Wait: Wait{Jobs: 1, MeanFirst: day / 2, MedianFirst: day / 2, MaxFirst: day / 2, MeanTotal: day / 2},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec, o := base, options
			rec.Nodes = append([]recording.Node{}, base.Nodes...)
			tc.change(&rec, &o)
			if diff := cmp.Diff(tc.want, NewWeek(&rec, o), about, cmpopts.IgnoreUnexported(Day{})); diff != "" {
				t.Errorf("week (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestFilled(t *testing.T) {
	if got := (Week{SpareHours: 9755, FillerHours: 3444}).Filled(); got < 0.353 || got > 0.354 {
		t.Errorf("got %g, want the 35 %% of the measured week", got)
	}
	if got := (Week{}).Filled(); got != 0 {
		t.Errorf("got %g of nothing, want 0", got)
	}
}
