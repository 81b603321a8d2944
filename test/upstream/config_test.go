// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestShippedConfig(t *testing.T) {
	cfg, err := loadConfig(suitesYAML)
	if err != nil {
		t.Fatal(err)
	}
	core, err := cfg.selectSuites(SetCore, nil)
	if err != nil {
		t.Fatal(err)
	}
	// What make test promises to run.
	want := []string{
		"singlecluster/tas", "singlecluster/scheduler", "singlecluster/scheduler/podsready",
		"singlecluster/controller/jobs/rayjob", "singlecluster/controller/jobs/raycluster",
		"singlecluster/controller/core", "singlecluster/webhook/core",
	}
	have := map[string]bool{}
	for _, s := range core {
		have[strings.TrimPrefix(s.Path, "test/integration/")] = true
	}
	for _, path := range want {
		if !have[path] {
			t.Errorf("the core set lacks %s", path)
		}
	}
}

func TestLoadConfigRejects(t *testing.T) {
	const units = "units: [{package: pkg/a, why: w}]\n"
	suite := func(fields string) string {
		return units + "suites: [{path: test/integration/a, set: core, why: w, procs: 2, timeout: 5m" + fields + "}]\n"
	}
	cases := map[string]struct {
		yaml    string
		wantErr string
	}{
		"a field that doesn't exist":    {yaml: suite(", proc: 3"), wantErr: `unknown field "proc"`},
		"no unit package":               {yaml: "units: []", wantErr: "units: want at least one"},
		"a path with dots":              {yaml: "units: [{package: ../pkg/a/, why: w}]", wantErr: `units[0].package: "../pkg/a/"`},
		"a suite outside the folder":    {yaml: units + "suites: [{path: pkg/a, set: core, why: w, procs: 1, timeout: 1m}]", wantErr: `suites[0].path: "pkg/a"`},
		"an unknown set":                {yaml: units + "suites: [{path: test/integration/a, set: most, why: w, procs: 1, timeout: 1m}]", wantErr: `suites[0].set: "most", want core or extended`},
		"all is no set to declare":      {yaml: units + "suites: [{path: test/integration/a, set: all, why: w, procs: 1, timeout: 1m}]", wantErr: `suites[0].set: "all"`},
		"no reason":                     {yaml: units + "suites: [{path: test/integration/a, set: core, procs: 1, timeout: 1m}]", wantErr: "suites[0].why"},
		"no process":                    {yaml: units + "suites: [{path: test/integration/a, set: core, why: w, timeout: 1m}]", wantErr: "suites[0].procs: 0, want 1 to 8"},
		"a negative number of clusters": {yaml: suite(", clusters: -1"), wantErr: "suites[0].clusters: -1, want 1 to 8"},
		"no timeout":                    {yaml: units + "suites: [{path: test/integration/a, set: core, why: w, procs: 1}]", wantErr: "suites[0].timeout: 0s"},
		"a suite twice":                 {yaml: units + "suites: [{path: test/integration/a, set: core, why: w, procs: 1, timeout: 1m}, {path: test/integration/a, set: core, why: w, procs: 1, timeout: 1m}]", wantErr: `suites[1].path: "test/integration/a" is listed twice`},
		"a flake of an unknown suite":   {yaml: suite("") + "flakes: [{suite: x, spec: s, evidence: e, retries: 1}]", wantErr: `flakes[0].suite: "x" is not in suites`},
		"a flake without evidence":      {yaml: suite("") + "flakes: [{suite: test/integration/a, spec: s, retries: 1}]", wantErr: "flakes[0]: spec and evidence"},
		"a flake with many retries":     {yaml: suite("") + "flakes: [{suite: test/integration/a, spec: s, evidence: e, retries: 9}]", wantErr: "flakes[0].retries: 9, want 1 to 2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := loadConfig([]byte(tc.yaml))
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got error %v, want one with %q", err, tc.wantErr)
			}
		})
	}
}

func TestCompareSuites(t *testing.T) {
	cfg := Config{Suites: []Suite{{Path: "test/integration/a"}, {Path: "test/integration/b"}}}
	cases := map[string]struct {
		found   []string
		wantErr string
	}{
		"the list is up to date": {found: []string{"test/integration/b", "test/integration/a"}},
		"the tree has one more":  {found: []string{"test/integration/a", "test/integration/b", "test/integration/c"}, wantErr: "lacks test/integration/c"},
		"the tree has one less":  {found: []string{"test/integration/a"}, wantErr: "test/integration/b, which the Kueue tree does not have"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := cfg.compareSuites(tc.found)
			if tc.wantErr == "" && err != nil {
				t.Errorf("got error %v", err)
			}
			if tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("got error %v, want one with %q", err, tc.wantErr)
			}
		})
	}
}

func TestSelectSuites(t *testing.T) {
	suite := func(path string, set Set) Suite {
		return Suite{Path: "test/integration/" + path, Set: set, Procs: 1, Timeout: metav1.Duration{Duration: time.Minute}}
	}
	cfg := Config{Suites: []Suite{suite("tas", SetCore), suite("webhook/core", SetCore), suite("webhook/jobs", SetExtended)}}
	cases := map[string]struct {
		set     Set
		filters []string
		want    []string
		wantErr string
	}{
		"core":                                {set: SetCore, want: []string{"tas", "webhook/core"}},
		"extended is without core":            {set: SetExtended, want: []string{"webhook/jobs"}},
		"all is both":                         {set: SetAll, want: []string{"tas", "webhook/core", "webhook/jobs"}},
		"a part of the path":                  {set: SetAll, filters: []string{"webhook"}, want: []string{"webhook/core", "webhook/jobs"}},
		"any of two parts, in the file order": {set: SetAll, filters: []string{"jobs", "tas"}, want: []string{"tas", "webhook/jobs"}},
		"a part that no suite has":            {set: SetAll, filters: []string{"tas", "tass"}, wantErr: `no suite of the set all has "tass"`},
		"a part of a suite of another set":    {set: SetCore, filters: []string{"webhook/jobs"}, wantErr: `no suite of the set core has "webhook/jobs"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := cfg.selectSuites(tc.set, tc.filters)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, s := range got {
				paths = append(paths, strings.TrimPrefix(s.Path, "test/integration/"))
			}
			if diff := cmp.Diff(tc.want, paths); diff != "" {
				t.Errorf("suites (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestAPIServers(t *testing.T) {
	cases := map[string]struct {
		suite Suite
		procs int
		want  int64
	}{
		"one cluster a process":           {suite: Suite{Procs: 2}, want: 2},
		"several clusters a process":      {suite: Suite{Procs: 2, Clusters: 3}, want: 6},
		"processes from the command line": {suite: Suite{Procs: 2, Clusters: 3}, procs: 1, want: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.suite.apiServers(tc.procs); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
