// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

func span(from float64, state recording.State, workers int) recording.Span {
	return recording.Span{From: from, State: state, Counts: map[string]int{"head": 1, "w": workers}}
}

func pod(name, node string, bound, ready float64, stopping, gone *float64) recording.Pod {
	return recording.Pod{Name: name, UID: name, Job: "eval", Group: "w", Node: node, Created: bound, Bound: &bound, Ready: &ready, Stopping: stopping, Gone: gone}
}

// story is an eval that grows from one to two at 10 s, is evicted at 20 s,
// comes back at 30 s and ends at 40 s.
func story() *recording.Recording {
	at := ptr.To[float64]
	waiting := span(0, recording.Pending, 1)
	waiting.Message = "no room on flavor a"
	return &recording.Recording{
		Duration: 50, Nodes: []recording.Node{{Name: "n1", Rack: "r1"}, {Name: "n2", Rack: "r2"}, {Name: "n3", Rack: "r3"}},
		Jobs: []recording.Job{{
			Name: "eval", Class: "evals", Submitted: 0, Finished: at(40), Result: "Succeeded", ItemsTotal: 4, ItemsDone: 4, ItemsRedone: 1,
			Progress: []recording.Progress{{At: 15, Done: 2}, {At: 39, Done: 4}},
		}, {Name: "bad", Class: "training", Submitted: 1, Rejected: "spec.x is 3, allowed is 4"}},
		Workloads: []recording.Workload{
			{Name: "first", UID: "first-uid", Job: "eval", Spans: []recording.Span{waiting, span(1, recording.Admitted, 1), span(10, recording.Done, 1)}},
			{Name: "second", Job: "eval", Replaces: "first", Spans: []recording.Span{
				span(9, recording.Pending, 2), span(10, recording.Admitted, 2), span(20, recording.Draining, 2), span(21, recording.Pending, 1),
				span(30, recording.Admitted, 1), span(40, recording.Done, 1),
			}},
		},
		Pods: []recording.Pod{
			pod("a", "n1", 2, 3, at(20), at(22)),
			pod("b", "n1", 11, 12, at(20), at(23)),
			pod("c", "n2", 31, 32, at(40), at(41)),
			{Name: "h", UID: "h", Job: "eval", Group: "head", Node: "cpu", Created: 1, Bound: at(1), Ready: at(2), Stopping: at(20), Gone: at(25)},
		},
		Events: []recording.Event{
			{At: 5, What: "event", Name: "go", Text: "x"},
			{At: 10, Job: "eval", What: "grown", Latency: 0.09, Since: "the autoscaler asked"},
			{At: 20, Job: "eval", Group: "w", What: "evicted", Text: "Preempted: for a gang"},
		},
		Warnings: []recording.Warning{
			{At: 2, Kind: "Workload", Name: "first", UID: "first-uid", Reason: "Ignored", Text: "head has 45s, w has 15s", Count: 2},
			{At: 3, Kind: "RayJob", Name: "eval", UID: "x", Reason: "Ignored", Text: "head has 45s", Count: 1},
			{At: 4, Kind: "Workload", Name: "first", UID: "first-uid", Reason: "Other", Text: "head has 45s, w has 15s", Count: 1},
			{At: 5, Kind: "Workload", Name: "elsewhere", UID: "y", Reason: "Ignored", Text: "head has 45s, w has 15s", Count: 1},
		},
	}
}

func seconds3(s int) scenario.Duration { return scenario.Duration(time.Duration(s) * time.Second) }

func TestConditions(t *testing.T) {
	n := ptr.To[int]
	eval := func(change func(*scenario.Condition)) scenario.Condition {
		c := scenario.Condition{Job: "eval"}
		change(&c)
		return c
	}
	state := func(s scenario.State) scenario.Condition {
		return eval(func(c *scenario.Condition) { c.State = s })
	}
	cases := map[string]struct {
		condition scenario.Condition
		// wantFirst is the first time at which it holds; below 0 is never.
		wantFirst float64
	}{
		"submitted":                  {state(scenario.StateSubmitted), 0},
		"pending":                    {state(scenario.StatePending), 0},
		"admitted":                   {state(scenario.StateAdmitted), 1},
		"admitted with two":          {eval(func(c *scenario.Condition) { c.State, c.Workers = scenario.StateAdmitted, n(2) }), 10},
		"admitted with three":        {eval(func(c *scenario.Condition) { c.State, c.Workers = scenario.StateAdmitted, n(3) }), -1},
		"running":                    {state(scenario.StateRunning), 3},
		"running with two":           {eval(func(c *scenario.Condition) { c.State, c.Workers = scenario.StateRunning, n(2) }), 12},
		"a growth that waits":        {eval(func(c *scenario.Condition) { c.Waits = n(2) }), 9},
		"two pods on nodes":          {eval(func(c *scenario.Condition) { c.Pods = n(2) }), 11},
		"the head alone":             {eval(func(c *scenario.Condition) { c.Group, c.Pods = "head", n(1) }), 1},
		"two items":                  {eval(func(c *scenario.Condition) { c.Items = 2 }), 15},
		"five items":                 {eval(func(c *scenario.Condition) { c.Items = 5 }), -1},
		"an eviction of a group":     {eval(func(c *scenario.Condition) { c.Group, c.Evictions = "w", 1 }), 20},
		"an eviction of another":     {eval(func(c *scenario.Condition) { c.Group, c.Evictions = "head", 1 }), -1},
		"an eviction":                {eval(func(c *scenario.Condition) { c.Evictions = 1 }), 20},
		"gone":                       {state(scenario.StateGone), 23},
		"finished":                   {state(scenario.StateFinished), 40},
		"succeeded":                  {state(scenario.StateSucceeded), 40},
		"failed":                     {state(scenario.StateFailed), -1},
		"refused":                    {scenario.Condition{Job: "bad", State: scenario.StateRejected}, 1},
		"a job that is not there":    {scenario.Condition{Job: "none", State: scenario.StatePending}, -1},
		"an event":                   {scenario.Condition{Event: "go"}, 5},
		"an event that did not come": {scenario.Condition{Event: "stop"}, -1},
		"an event and a state":       {scenario.Condition{Event: "go", Job: "eval", State: scenario.StatePending}, 21},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := newHistory(story(), everyJob).first(&tc.condition, 0)
			if !ok {
				got = -1
			}
			if got != tc.wantFirst {
				t.Errorf("first at %v, want %v", got, tc.wantFirst)
			}
		})
	}
}

func TestAStalledPodDoesNotRun(t *testing.T) {
	rec := story()
	rec.Pods[1].Unready = []recording.Interval{{From: 14, To: ptr.To(16.0)}}
	c := scenario.Condition{Job: "eval", State: scenario.StateRunning, Workers: ptr.To(2)}
	for at, want := range map[float64]bool{13: true, 14: false, 15: false, 16: true, 20: false} {
		if got := Holds(rec, &c, at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

func TestGroupsThatAreAdmittedOnTheirOwn(t *testing.T) {
	rec := &recording.Recording{
		Duration: 9, Jobs: []recording.Job{{Name: "rl"}},
		Workloads: []recording.Workload{
			{Name: "h", Job: "rl", Group: "head", Spans: []recording.Span{{From: 1, State: recording.Admitted, Counts: map[string]int{"main": 1}}}},
			{Name: "t", Job: "rl", Group: "trainer", Spans: []recording.Span{{From: 2, State: recording.Admitted, Counts: map[string]int{"main": 4}}}},
			{Name: "r", Job: "rl", Group: "rollout", Spans: []recording.Span{{From: 3, State: recording.Pending, Counts: map[string]int{"main": 2}}, {From: 5, State: recording.Admitted, Counts: map[string]int{"main": 2}}}},
		},
	}
	cases := map[string]struct {
		condition scenario.Condition
		wantFirst float64
	}{
		"one group":            {scenario.Condition{Job: "rl", Group: "rollout", State: scenario.StateAdmitted, Workers: ptr.To(2)}, 5},
		"a group that waits":   {scenario.Condition{Job: "rl", Group: "rollout", State: scenario.StatePending}, 3},
		"another in its place": {scenario.Condition{Job: "rl", Group: "trainer", State: scenario.StateAdmitted, Workers: ptr.To(4)}, 2},
		"all but the head":     {scenario.Condition{Job: "rl", State: scenario.StateAdmitted, Workers: ptr.To(6)}, 5},
		"the head":             {scenario.Condition{Job: "rl", Group: "head", State: scenario.StateAdmitted, Workers: ptr.To(1)}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := newHistory(rec, everyJob).first(&tc.condition, 0); !ok || got != tc.wantFirst {
				t.Errorf("first at %v, %v, want %v", got, ok, tc.wantFirst)
			}
		})
	}
}

func TestChecks(t *testing.T) {
	n := ptr.To[int]
	admitted := scenario.Condition{Job: "eval", State: scenario.StateAdmitted}
	two := scenario.Condition{Job: "eval", State: scenario.StateRunning, Workers: n(2)}
	evicted := scenario.Condition{Job: "eval", Evictions: 1}
	cases := map[string]struct {
		check   scenario.Check
		want    bool
		wantGot string
	}{
		"a sequence":                    {scenario.Check{Sequence: []scenario.Condition{admitted, two, evicted, admitted}}, true, "all, in this order"},
		"a sequence out of order":       {scenario.Check{Sequence: []scenario.Condition{evicted, two}}, false, "not: eval running with 2 workers"},
		"soon enough":                   {scenario.Check{Within: &scenario.WithinCheck{Condition: admitted, After: []scenario.Condition{evicted}, Limit: seconds3(10)}}, true, "after 10.000s"},
		"too late":                      {scenario.Check{Within: &scenario.WithinCheck{Condition: admitted, After: []scenario.Condition{evicted}, Limit: seconds3(9)}}, false, "after 10.000s"},
		"a wait that did not begin":     {scenario.Check{Within: &scenario.WithinCheck{Condition: admitted, After: []scenario.Condition{{Event: "stop"}}, Limit: seconds3(9)}}, false, "what it is counted from never came: event stop"},
		"never in a time":               {scenario.Check{Never: &scenario.NeverCheck{Condition: admitted, From: []scenario.Condition{evicted}, Until: []scenario.Condition{admitted}}}, true, "never from 20.000s to 30.000s"},
		"never to the end":              {scenario.Check{Never: &scenario.NeverCheck{Condition: evicted}}, false, "at 20.000s"},
		"never, until what didn't come": {scenario.Check{Never: &scenario.NeverCheck{Condition: evicted, Until: []scenario.Condition{{Event: "stop"}}}}, false, "the time to look at never ended: event stop"},
		"all sizes":                     {scenario.Check{Counts: &scenario.CountsCheck{Job: "eval", Are: []int{1, 2, 0, 1}}}, true, "1 2 0 1"},
		"sizes at the start":            {scenario.Check{Counts: &scenario.CountsCheck{Job: "eval", Begin: []int{1, 3}}}, false, "1 2 0 1"},
		"sizes at the end":              {scenario.Check{Counts: &scenario.CountsCheck{Job: "eval", End: []int{0, 1}}}, true, "1 2 0 1"},
		"a size that must not be":       {scenario.Check{Counts: &scenario.CountsCheck{Job: "eval", Never: []int{2}}}, false, "1 2 0 1"},
		"sizes of a job without any":    {scenario.Check{Counts: &scenario.CountsCheck{Job: "bad", Never: []int{2}}}, false, "none"},
		"nodes":                         {scenario.Check{Nodes: &scenario.NodesCheck{Job: "eval", Are: []string{"n2", "n1"}}}, true, "n1, n2"},
		"too many nodes":                {scenario.Check{Nodes: &scenario.NodesCheck{Job: "eval", AtMost: 1}}, false, "n1, n2"},
		"the spread":                    {scenario.Check{Nodes: &scenario.NodesCheck{Job: "eval", Spread: []int{2, 1}}}, true, "n1, n2, pods by node 2 1"},
		"few racks":                     {scenario.Check{Nodes: &scenario.NodesCheck{Job: "eval", Racks: 2}}, true, "n1, n2, in r1, r2"},
		"too many racks":                {scenario.Check{Nodes: &scenario.NodesCheck{Job: "eval", Racks: 1}}, false, "n1, n2, in r1, r2"},
		"racks of a job without any":    {scenario.Check{Nodes: &scenario.NodesCheck{Job: "bad", Racks: 1}}, false, "none, in no rack"},
		"nodes of a job without any":    {scenario.Check{Nodes: &scenario.NodesCheck{Job: "bad", AtMost: 1}}, false, "none"},
		"evictions":                     {scenario.Check{Evictions: &scenario.EvictionsCheck{Job: "eval", Are: 1, Reason: "Preempted"}}, true, "1"},
		"evictions for another reason":  {scenario.Check{Evictions: &scenario.EvictionsCheck{Job: "eval", Are: 1, Reason: "PodsReadyTimeout"}}, false, "1, one for another reason"},
		"evictions of a class":          {scenario.Check{Evictions: &scenario.EvictionsCheck{Class: "evals", Are: 1}}, true, "1"},
		"evictions of another class":    {scenario.Check{Evictions: &scenario.EvictionsCheck{Class: "training"}}, true, "0"},
		"evictions of an unknown class": {scenario.Check{Evictions: &scenario.EvictionsCheck{Class: "none"}}, false, "0"},
		"evictions of an unknown job":   {scenario.Check{Evictions: &scenario.EvictionsCheck{Job: "none"}}, false, "0"},
		"items":                         {scenario.Check{Items: &scenario.ItemsCheck{Job: "eval"}}, true, "4 done, 0 committed again, 1 started again"},
		"items done again":              {scenario.Check{Items: &scenario.ItemsCheck{Job: "eval", Redone: n(0)}}, false, "4 done, 0 committed again, 1 started again"},
		"progress":                      {scenario.Check{Progress: &scenario.ProgressCheck{Job: "eval", From: []scenario.Condition{admitted}, Until: []scenario.Condition{evicted}, AtLeast: 2}}, true, "2 items in 19.000s"},
		"too little progress":           {scenario.Check{Progress: &scenario.ProgressCheck{Job: "eval", From: []scenario.Condition{evicted}, Until: []scenario.Condition{admitted}, AtLeast: 1}}, false, "0 items in 10.000s"},
		"progress to what didn't come":  {scenario.Check{Progress: &scenario.ProgressCheck{Job: "eval", From: []scenario.Condition{admitted}, Until: []scenario.Condition{{Event: "stop"}}, AtLeast: 1}}, false, "the times to compare did not come"},
		"progress of an unknown job":    {scenario.Check{Progress: &scenario.ProgressCheck{Job: "none", From: []scenario.Condition{admitted}, Until: []scenario.Condition{evicted}, AtLeast: 1}}, false, "the times to compare did not come"},
		"pods that stayed":              {scenario.Check{KeptPods: &scenario.KeptPodsCheck{Job: "eval", From: []scenario.Condition{{Event: "go"}}, Until: []scenario.Condition{two}}}, true, "1 kept, 0 not"},
		"pods that did not":             {scenario.Check{KeptPods: &scenario.KeptPodsCheck{Job: "eval", From: []scenario.Condition{two}, Until: []scenario.Condition{evicted}}}, false, "0 kept, 2 not"},
		"evictions of a group":          {scenario.Check{Evictions: &scenario.EvictionsCheck{Job: "eval", Group: "w", Are: 1}}, true, "1"},
		"evictions of another group":    {scenario.Check{Evictions: &scenario.EvictionsCheck{Job: "eval", Group: "v", Are: 1}}, false, "0"},
		"nothing left":                  {scenario.Check{Nothing: &scenario.NothingCheck{Job: "eval"}}, true, "0 left, of 2 Workloads and 4 pods"},
		"nothing of an unknown job":     {scenario.Check{Nothing: &scenario.NothingCheck{Job: "none"}}, false, "0 left, of 0 Workloads and 0 pods"},
		"a message":                     {scenario.Check{Messages: &scenario.MessagesCheck{Job: "eval", Contain: []string{"no room"}, Together: []string{"room", "flavor a"}, AtMost: 1}}, true, "1 different messages"},
		"the last message":              {scenario.Check{Messages: &scenario.MessagesCheck{Job: "eval", Last: []string{"flavor a"}}}, true, "1 different messages"},
		"another last message":          {scenario.Check{Messages: &scenario.MessagesCheck{Job: "eval", Last: []string{"flavor a", "flavor b"}}}, false, "1 different messages"},
		"a message that is not there":   {scenario.Check{Messages: &scenario.MessagesCheck{Job: "eval", Together: []string{"room", "flavor b"}}}, false, "1 different messages"},
		"a message that must not be":    {scenario.Check{Messages: &scenario.MessagesCheck{Job: "eval", Lack: []string{"room"}}}, false, "1 different messages"},
		"warnings":                      {scenario.Check{Warnings: &scenario.WarningsCheck{Job: "eval", Reason: "Ignored", Are: 3, Contain: []string{"45s"}}}, true, "3 warnings"},
		"warnings that say less":        {scenario.Check{Warnings: &scenario.WarningsCheck{Job: "eval", Reason: "Ignored", Are: 3, Contain: []string{"45s", "15s"}}}, false, "3 warnings"},
		"other warnings":                {scenario.Check{Warnings: &scenario.WarningsCheck{Job: "eval", Reason: "Other", Are: 1, Contain: []string{"45s", "15s"}}}, true, "1 warnings"},
		"too many warnings":             {scenario.Check{Warnings: &scenario.WarningsCheck{Job: "eval", Reason: "Other"}}, false, "1 warnings"},
		"no warnings of an unknown job": {scenario.Check{Warnings: &scenario.WarningsCheck{Job: "none", Reason: "Other"}}, false, "0 warnings"},
		"a refusal":                     {scenario.Check{Rejected: &scenario.RejectedCheck{Job: "bad", Contain: []string{"spec.x", "allowed"}}}, true, "spec.x is 3, allowed is 4"},
		"a refusal of something else":   {scenario.Check{Rejected: &scenario.RejectedCheck{Job: "bad", Contain: []string{"spec.y"}}}, false, "spec.x is 3, allowed is 4"},
		"no refusal":                    {scenario.Check{Rejected: &scenario.RejectedCheck{Job: "eval"}}, false, "it was accepted"},
		"a short wait":                  {scenario.Check{Waited: &scenario.WaitedCheck{Job: "eval", AtMost: ptr.To(seconds3(1))}}, true, "1.000s"},
		"too short a wait":              {scenario.Check{Waited: &scenario.WaitedCheck{Job: "eval", AtLeast: ptr.To(seconds3(2))}}, false, "1.000s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.check.Name = name
			got := Checks(story(), &scenario.Scenario{Checks: []scenario.Check{tc.check}})
			if len(got) != 1 || got[0].Passed != tc.want || got[0].Got != tc.wantGot || got[0].Name != name || got[0].Want == "" && name != "no refusal" {
				t.Errorf("got %+v, want passed %v and %q", got, tc.want, tc.wantGot)
			}
		})
	}
}

func TestWhatIsLeft(t *testing.T) {
	for name, leave := range map[string]func(*recording.Recording){
		"a Workload": func(rec *recording.Recording) { rec.Workloads[1].Spans = rec.Workloads[1].Spans[:5] },
		"a pod":      func(rec *recording.Recording) { rec.Pods[2].Gone = nil },
	} {
		t.Run(name, func(t *testing.T) {
			rec := story()
			leave(rec)
			got := Checks(rec, &scenario.Scenario{Checks: []scenario.Check{{Name: name, Nothing: &scenario.NothingCheck{Job: "eval"}}}})
			if got[0].Passed || got[0].Got != "1 left, of 2 Workloads and 4 pods" || len(got[0].Evidence) != 1 {
				t.Errorf("got %+v, want one thing left", got[0])
			}
		})
	}
}

func TestFilled(t *testing.T) {
	at := ptr.To[float64]
	rec := &recording.Recording{
		Duration: 10, TimeScale: 1, Nodes: []recording.Node{{Name: "n", GPUs: 8}}, Filling: &recording.Filling{Class: "evals"},
		Jobs: []recording.Job{{Name: "train", Class: "training"}, {Name: "fill", Class: "evals"}},
		Pods: []recording.Pod{
			{Name: "a", Job: "train", Node: "n", GPUs: 4, Bound: at(0), Gone: at(10)},
			{Name: "b", Job: "fill", Node: "n", GPUs: 4, Bound: at(5), Gone: at(10)},
		},
	}
	for share, want := range map[float64]bool{0.5: true, 0.51: false} {
		got := Checks(rec, &scenario.Scenario{Checks: []scenario.Check{{Name: "n", Filled: &scenario.FilledCheck{AtLeast: share}}}})
		if got[0].Passed != want || got[0].Got != "50.0 %" {
			t.Errorf("at least %v: got %+v, want passed %v", share, got[0], want)
		}
	}
	rec.Filling.Until = 5
	if got := Checks(rec, &scenario.Scenario{Checks: []scenario.Check{{Filled: &scenario.FilledCheck{AtLeast: 0.1}}}}); got[0].Passed || got[0].Got != "0.0 %" {
		t.Errorf("before anything is filled: got %+v", got[0])
	}
	for name, other := range map[string]*recording.Recording{"an empty fleet": {Filling: rec.Filling}, "a run about something else": {Duration: 10, Nodes: rec.Nodes}} {
		if got := Checks(other, &scenario.Scenario{Checks: []scenario.Check{{Filled: &scenario.FilledCheck{AtLeast: 0.1}}}}); got[0].Passed {
			t.Errorf("%s is filled", name)
		}
	}
}

func TestComparisonsOfTheFleet(t *testing.T) {
	at := ptr.To[float64]
	rec := &recording.Recording{
		Duration: 10, TimeScale: 3600, Nodes: []recording.Node{{Name: "n", GPUs: 8}}, Filling: &recording.Filling{Class: "evals"},
		Jobs: []recording.Job{{Name: "train", Class: "training"}, {Name: "fill", Class: "evals"}},
		Pods: []recording.Pod{
			{Name: "a", Job: "train", Node: "n", GPUs: 4, Bound: at(0), Gone: at(10)},
			{Name: "b", Job: "fill", Node: "n", GPUs: 4, Bound: at(5), Gone: at(10)},
		},
	}
	want := map[string]string{
		"filled": "50 %", "mean-gpus": "6 of 8 (75 %)", "mean-gpus-of-others": "4 of 8 (50 %)", "nearly-full": "50.0 % of the time", "unallocated": "20 GPU-hours",
	}
	s := &scenario.Scenario{TimeScale: 3600}
	for _, name := range scenario.FleetMetricNames() {
		s.Reference = append(s.Reference, scenario.Reference{Measure: name, Value: "v", Metric: scenario.Metric{Name: name}})
	}
	got := map[string]string{}
	for _, c := range Comparisons(rec, s) {
		got[c.Measure] = c.Here
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("measures (-want,+got):\n%s", diff)
	}
	for _, c := range Comparisons(&recording.Recording{Filling: rec.Filling}, s) {
		if c.Here != unknown {
			t.Errorf("%s of nothing is %q", c.Measure, c.Here)
		}
	}
}

func TestComparisons(t *testing.T) {
	want := map[string]string{
		"growth-latency": "0.090 s, slowest of 1", "readmission": "10.0 s", "sizes": "1 2 0 1", "evictions": "1", "nodes": "2", "waited": "1.000 s",
		"drain": "20.0 s of the story, median of 3", "head-drain": "50.0 s of the story, median of 1", "items": "4 of 4", "redone": "1",
		"duration": "400.0 s of the story", "first-item-after-eviction": "190.0 s of the story", "result": "Succeeded",
	}
	s := &scenario.Scenario{TimeScale: 10}
	for _, name := range scenario.MetricNames() {
		s.Reference = append(s.Reference, scenario.Reference{Measure: name, Value: "v", Metric: scenario.Metric{Name: name, Job: "eval"}})
	}
	got := map[string]string{}
	for _, c := range Comparisons(story(), s) {
		got[c.Measure] = c.Here
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("measures (-want,+got):\n%s", diff)
	}
	for _, c := range Comparisons(&recording.Recording{}, s) {
		if c.Here != unknown || strings.Contains(c.Reference, "?") {
			t.Errorf("%s of nothing is %q", c.Measure, c.Here)
		}
	}
}
