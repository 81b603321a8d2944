// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const smallest = `title: t
jobs:
  - name: a
    file: a.yaml
`

func TestParseFillsInDefaults(t *testing.T) {
	s, err := Parse("dir/small.yaml", []byte(smallest+"    work: {phases: [{items: 2, duration: 5s}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "small" || s.Dir != "dir" || s.TimeScale != 10 || s.Timeout.D() != 5*time.Minute {
		t.Errorf("got %q in %q, scale %v, timeout %v", s.Name, s.Dir, s.TimeScale, s.Timeout.D())
	}
	wantQueues := []Queue{{Name: "training", LocalQueue: "training-lq", WithinClusterQueue: "LowerPriority", ReclaimFromCohort: "Never"}}
	if diff := cmp.Diff(wantQueues, s.Queues); diff != "" {
		t.Errorf("queues (-want,+got):\n%s", diff)
	}
	wantJobs := []Job{{Name: "a", File: "a.yaml", Expect: Succeeds, Work: &Work{
		ItemsPerWorker: 1, Upscale: 1, Autoscaler: "ray",
		Phases: []Phase{{Name: "phase-0", Items: 2, Duration: Duration(5 * time.Second), Workers: 1}},
	}}}
	if diff := cmp.Diff(wantJobs, s.Jobs); diff != "" {
		t.Errorf("jobs (-want,+got):\n%s", diff)
	}
	if shape := s.Fleet.Shape(); shape.GPUNodes != 24 || shape.Racks != 3 {
		t.Errorf("shape is %+v", shape)
	}
}

func TestFewNodesHaveFewRacks(t *testing.T) {
	s, err := Parse("x.yaml", []byte(smallest+"fleet: {gpuNodes: 2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if shape := s.Fleet.Shape(); shape.Racks != 2 {
		t.Errorf("two nodes are in %d racks", shape.Racks)
	}
}

func TestParseNamesFileLineFieldValueAndWhatIsAllowed(t *testing.T) {
	cases := map[string]struct {
		text string
		want []string
	}{
		"nothing":               {text: "", want: []string{"x.yaml: it is empty"}},
		"no YAML":               {text: "a: [", want: []string{"failed to read x.yaml: yaml: line 1"}},
		"an unknown field":      {text: smallest + "color: red\n", want: []string{"x.yaml:5: color is unknown, allowed are title, "}},
		"an unknown field deep": {text: smallest + "    jobwork: 1\n", want: []string{"x.yaml:5: jobs[0].jobwork is unknown, allowed are at, when, delay, name, "}},
		"a field twice":         {text: smallest + "title: u\n", want: []string{"x.yaml:5: title is set twice"}},
		"text for a number":     {text: smallest + "timeScale: fast\n", want: []string{`x.yaml:5: timeScale is "fast", allowed is a number`}},
		"a list for text":       {text: "title: [a]\n", want: []string{"x.yaml:1: title is a list, allowed is text"}},
		"no duration":           {text: smallest + "timeout: 5\n", want: []string{`x.yaml:5: timeout is "5" is no duration, allowed are 0s or more, such as 1m30s`}},
		"a scale out of range":  {text: smallest + "timeScale: 0.01\n", want: []string{"x.yaml:5: timeScale is 0.01, allowed is 0.1 to 10000"}},
		"no title":              {text: "timeScale: 1\n", want: []string{"x.yaml:1: title is not set, allowed is one line of text"}},
		"an impossible fleet":   {text: smallest + "fleet: {racks: 99}\n", want: []string{"x.yaml:5: fleet is not possible: invalid fleet: racks is 99"}},
		"a job without manifest": {
			text: "title: t\njobs:\n  - name: a\n",
			want: []string{"x.yaml:3: jobs[0] has neither file nor manifest, allowed is exactly one of file and manifest"},
		},
		"a job with both": {
			text: smallest + "    manifest: {a: b}\n",
			want: []string{"x.yaml:3: jobs[0] has both file and manifest, allowed is exactly one of file and manifest"},
		},
		"two jobs of one name": {text: smallest + "  - {name: a, file: b.yaml}\n", want: []string{`x.yaml:5: jobs[1].name is "a", which is taken; allowed is a name of its own`}},
		"a name with spaces":   {text: strings.Replace(smallest, "name: a", "name: a b", 1), want: []string{`x.yaml:3: jobs[0].name is "a b": a lowercase RFC 1123 label`}},
		"an unknown priority":  {text: smallest + "    priority: q9\n", want: []string{`x.yaml:5: jobs[0].priority is "q9", allowed are q0, q1, q2`}},
		"groups in some phases only": {
			text: smallest + "    work: {phases: [{group: g, items: 1, duration: 1s}, {items: 1, duration: 1s}]}\n",
			want: []string{`x.yaml:5: jobs[0].work.phases[1].group is "", allowed is a worker group in all phases or in none`},
		},
		"progress without a number": {
			text: smallest + "checks:\n  - {name: n, progress: {job: a, from: [{job: a, state: running}], until: [{job: a, state: finished}]}}\n",
			want: []string{`x.yaml:6: checks[0].progress.atLeast is 0, allowed is 1 or more`},
		},
		"a check of what is left of no job": {
			text: smallest + "checks:\n  - {name: n, nothingLeft: {job: b}}\n",
			want: []string{`x.yaml:6: checks[0].nothingLeft.job is "b", allowed are a`},
		},
		"work without a phase": {text: smallest + "    work: {upscale: 2}\n", want: []string{"jobs[0].work.phases has no phase, allowed is one or more"}},
		"a phase without items": {
			text: smallest + "    work: {phases: [{duration: 1s}]}\n",
			want: []string{"x.yaml:5: jobs[0].work.phases[0].items is 0, allowed is 1 to 1000000"},
		},
		"a condition on no job": {
			text: smallest + "    when: {state: running}\n",
			want: []string{"jobs[0].when names neither a job nor an event", "jobs[0].when.job is not set"},
		},
		"a condition on an unknown job": {text: smallest + "    when: {job: b, state: running}\n", want: []string{`jobs[0].when.job is "b", allowed are a`}},
		"a condition that asks nothing": {text: smallest + "    when: {job: a}\n", want: []string{`jobs[0].when asks nothing of job "a"`}},
		"an unknown state":              {text: smallest + "    when: {job: a, state: happy}\n", want: []string{`jobs[0].when.state is "happy", allowed are submitted, pending, `}},
		"a time and a condition": {
			text: smallest + "    at: 5s\n    when: {job: a, state: running}\n",
			want: []string{"jobs[0] has both at and when, allowed is one of them"},
		},
		"an event without action": {text: smallest + "events: [{at: 1s}]\n", want: []string{"x.yaml:5: events[0] has none, allowed is exactly one of scale, stallPods, "}},
		"an event with two actions": {
			text: smallest + "events:\n  - cordon: {node: gpu-01}\n    uncordon: {node: gpu-01}\n",
			want: []string{"x.yaml:6: events[0] has cordon, uncordon, allowed is exactly one of "},
		},
		"a node by name and by job": {text: smallest + "events: [{cordon: {node: gpu-01, nodeOf: a}}]\n", want: []string{"events[0].cordon allowed is exactly one of node and nodeOf"}},
		"scaling below nothing":     {text: smallest + "events: [{scale: {job: a, replicas: -1}}]\n", want: []string{"events[0].scale.replicas is -1, allowed is 0 or more"}},
		"a quota of no queue":       {text: smallest + "events: [{setQuota: {queue: q, gpus: 1}}]\n", want: []string{`events[0].setQuota.queue is "q", allowed are training`}},
		"a check of no kind":        {text: smallest + "checks: [{name: c}]\n", want: []string{"checks[0] has none, allowed is exactly one of sequence, "}},
		"a check without a name":    {text: smallest + "checks: [{evictions: {job: a, are: 0}}]\n", want: []string{"checks[0].name is not set, allowed is a sentence"}},
		"warnings without a reason": {text: smallest + "checks: [{name: c, warnings: {job: a, are: 1}}]\n", want: []string{"checks[0].warnings.reason is not set"}},
		"evictions of both":         {text: smallest + "checks: [{name: c, evictions: {job: a, class: x}}]\n", want: []string{"checks[0].evictions allowed is exactly one of job and class"}},
		"a share of nobody":         {text: smallest + "checks: [{name: c, filled: {atLeast: 0.5}}]\n", want: []string{"checks[0].filled is asked of a scenario without filling, allowed only with one"}},
		"too large a share":         {text: smallest + "filling: {class: x}\nchecks: [{name: c, filled: {atLeast: 1.5}}]\n", want: []string{"checks[0].filled.atLeast is 1.5, allowed is above 0 and up to 1"}},
		"filling without a class":   {text: smallest + "filling: {until: 3s}\n", want: []string{"filling.class is not set, allowed is the class of some jobs"}},
		"a check that asks nothing": {text: smallest + "checks: [{name: c, counts: {job: a}}]\n", want: []string{"checks[0].counts asks nothing"}},
		"a wait without a limit":    {text: smallest + "checks: [{name: c, within: {condition: {job: a, state: running}}}]\n", want: []string{"checks[0].within.limit is not set"}},
		"an unknown metric":         {text: smallest + "reference: [{measure: m, value: v, metric: {name: speed, job: a}}]\n", want: []string{`reference[0].metric.name is "speed", allowed are growth-latency, `}},
		"a fleet metric of a job":   {text: smallest + "filling: {class: x}\nreference: [{measure: m, value: v, metric: {name: filled, job: a}}]\n", want: []string{`reference[0].metric.job is "a", allowed is none: filled is of the fleet`}},
		"a metric without filling":  {text: smallest + "reference: [{measure: m, value: v, metric: {name: filled}}]\n", want: []string{`reference[0].metric.name is "filled" of a scenario without filling`}},
		"borrowing from nobody":     {text: smallest + "queues: [{name: q, borrowingLimit: 3}]\n", want: []string{"queues[0].borrowingLimit is 3 in a queue without a cohort"}},
		"several mistakes": {
			text: smallest + "timeScale: 0.01\nevents: [{at: 1s}]\n",
			want: []string{"x.yaml:5: timeScale", "x.yaml:6: events[0]"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(tc.text))
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q\nwant it to contain %q", err, want)
				}
			}
		})
	}
}

func TestSetPath(t *testing.T) {
	cases := map[string]struct {
		path    string
		value   any
		want    map[string]any
		wantErr string
	}{
		"a field of an item":         {path: "spec.groups[0].replicas", value: 3, want: map[string]any{"spec": map[string]any{"groups": []any{map[string]any{"replicas": int64(3)}}}}},
		"a new mapping":              {path: "meta.labels", value: map[string]any{"a": "b"}, want: map[string]any{"meta": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"groups": []any{map[string]any{"replicas": int64(1)}}}}},
		"a name with dots":           {path: `spec["a.b/c"]`, value: "x", want: map[string]any{"spec": map[string]any{"a.b/c": "x", "groups": []any{map[string]any{"replicas": int64(1)}}}}},
		"removal":                    {path: "spec.groups", want: map[string]any{"spec": map[string]any{}}},
		"an index that is not there": {path: "spec.groups[1].replicas", value: 1, wantErr: "1 is no index of a list of 1"},
		"a bracket that stays open":  {path: "spec.groups[0", value: 1, wantErr: "a bracket is not closed"},
		"below a number":             {path: "spec.groups[0].replicas.x", value: 1, wantErr: `there is nothing to hold "x"`},
		"nothing":                    {path: "", value: 1, wantErr: `path "" is empty`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{"spec": map[string]any{"groups": []any{map[string]any{"replicas": int64(1)}}}}
			err := setPath(object, tc.path, tc.value)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, object); diff != "" {
				t.Errorf("object (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSubmissions(t *testing.T) {
	s, err := Parse("../../../scenarios/x.yaml", []byte(`title: t
jobs:
  - name: trial
    file: ../examples/elastic-eval.yaml
    copies: 2
    priority: q1
    queue: other-lq
    set: {"spec.rayClusterSpec.workerGroupSpecs[0].maxReplicas": 8}
`))
	if err != nil {
		t.Fatal(err)
	}
	subs, err := s.Submissions()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sub := range subs {
		labels := sub.Object.GetLabels()
		got = append(got, strings.Join([]string{sub.Object.GetName(), labels[priorityLabel], labels[queueLabel]}, " "))
		if sub.Work.Items() == 0 {
			t.Errorf("%s has no work from its annotation", sub.Object.GetName())
		}
	}
	if diff := cmp.Diff([]string{"trial-1 q1 other-lq", "trial-2 q1 other-lq"}, got); diff != "" {
		t.Errorf("jobs (-want,+got):\n%s", diff)
	}
}

func TestAFieldThatIsSetButUnknownIsAnError(t *testing.T) {
	s, err := Parse("../../../scenarios/x.yaml", []byte("title: t\njobs:\n  - {name: a, file: ../examples/fixed-gang.yaml, set: {spec.sise: 3}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Submissions(); err == nil || !strings.Contains(err.Error(), `job "a" of scenario x: `) || !strings.Contains(err.Error(), `unknown field "spec.sise"`) {
		t.Errorf("got %v", err)
	}
}

func TestWorkForAGroupThatIsNotThereIsAnError(t *testing.T) {
	s, err := Parse("../../../scenarios/x.yaml", []byte("title: t\njobs:\n  - {name: a, file: ../examples/workgroup/decoupled-rl.yaml, work: {phases: [{group: trainer, items: 1, duration: 1s}, {group: rolout, items: 1, duration: 1s}]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `job "a" of scenario x: phase 1 of the work: group is "rolout", allowed are the job's worker groups trainer, rollout`
	if _, err = s.Submissions(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestTheScenariosOfTheCheckoutAreGood reads all of them, with their jobs.
func TestTheScenariosOfTheCheckoutAreGood(t *testing.T) {
	const dir = "../../../scenarios"
	names, err := Names(dir)
	if err != nil || len(names) < 2 {
		t.Fatalf("got %v, %v", names, err)
	}
	for _, name := range names {
		s, err := Load(filepath.Join(dir, name+".yaml"))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := s.Submissions(); err != nil {
			t.Error(err)
		}
		if len(s.Checks) == 0 {
			t.Errorf("scenario %s checks nothing", name)
		}
	}
}

func TestFind(t *testing.T) {
	const dir = "../../../scenarios"
	byName, err := Find(dir, "default")
	if err != nil {
		t.Fatal(err)
	}
	if byFile, err := Find("/none", byName); err != nil || byFile != byName {
		t.Errorf("got %q, %v, want %q", byFile, err, byName)
	}
	if _, err := Find(dir, "nodefault"); err == nil || !strings.Contains(err.Error(), `scenario "nodefault" is neither a file nor one of: `) || !strings.Contains(err.Error(), "default, ") {
		t.Errorf("got %v", err)
	}
}
