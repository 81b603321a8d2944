// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

// paths lists the fields of a document with their kinds. Keys of maps that
// hold names of the run are written as *.
func paths(prefix string, value any, out map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		free := slices.ContainsFunc([]string{"byClass", "byPriority", "evictions", "waits", "mean"}, func(name string) bool { return strings.HasSuffix(prefix, "."+name) })
		for key, inner := range v {
			if free {
				key = "*"
			}
			paths(prefix+"."+key, inner, out)
		}
	case []any:
		out[prefix+" list"] = true
		for _, inner := range v {
			paths(prefix+"[]", inner, out)
		}
	case nil:
		out[prefix+" null"] = true
	default:
		out[fmt.Sprintf("%s %T", prefix, v)] = true
	}
}

// The fields are a promise to other programs: a change here needs a new
// JSONVersion, unless fields are only added.
func TestJSONFields(t *testing.T) {
	recs := append(recordingtest.Week(), recordingtest.Small()...)
	recs[0].Manager.Gates = []string{"FleetX"}
	var out strings.Builder
	if err := JSON(&out, recs, Options{Week: ptr.To(measure.DefaultWeekOptions(192))}); err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	paths("", doc, found)
	var lines []string
	for path := range found {
		lines = append(lines, path)
	}
	slices.Sort(lines)
	golden(t, "json_fields.txt", strings.Join(lines, "\n")+"\n")
}

func TestJSONOfRepeats(t *testing.T) {
	var out strings.Builder
	if err := JSON(&out, append(repeats(), recordingtest.Small()[0]), Options{}); err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	type arm struct {
		Name   string
		Passed int
		Runs   []bool
	}
	var got []arm
	for _, a := range doc.Scenarios[0].Arms {
		line := arm{Name: a.Manager.Name, Passed: a.Passed}
		for _, r := range a.Runs {
			line.Runs = append(line.Runs, r.Figures.Passed)
		}
		got = append(got, line)
	}
	want := []arm{{Name: recordingtest.Ours, Passed: 2, Runs: []bool{true, false, true}}, {Name: recordingtest.Upstream, Runs: []bool{false}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arms (-want,+got):\n%s", diff)
	}
	if doc.Version != JSONVersion || len(doc.Scenarios) != 1 {
		t.Errorf("got version %d with %d scenarios, want %d with one", doc.Version, len(doc.Scenarios), JSONVersion)
	}
}

func TestJSONHasNoNullLists(t *testing.T) {
	var out strings.Builder
	if err := JSON(&out, []*recording.Recording{{Version: recording.Version}}, Options{Week: ptr.To(measure.DefaultWeekOptions(8))}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") {
		t.Errorf("a list or map is null:\n%s", out.String())
	}
}
