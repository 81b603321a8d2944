// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"fleet.ai/kueue-fleet/internal/repo"
)

func TestStories(t *testing.T) {
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	job := root + "/examples/fixed-gang.yaml"
	cases := map[string]struct {
		flags   runFlags
		names   []string
		want    string
		wantErr string
	}{
		"nothing is asked for":     {flags: runFlags{repeat: 1}, want: "default"},
		"two by name":              {flags: runFlags{repeat: 1}, names: []string{"shaped-units", "default"}, want: "shaped-units default"},
		"one by file":              {flags: runFlags{repeat: 1}, names: []string{root + "/scenarios/default.yaml"}, want: "default"},
		"jobs":                     {flags: runFlags{repeat: 1, jobs: []string{job}}, want: "ad-hoc"},
		"an unknown name":          {flags: runFlags{repeat: 1}, names: []string{"nobody"}, wantErr: `scenario "nobody" is neither a file nor one of: `},
		"no run at all":            {flags: runFlags{repeat: 0}, wantErr: "--repeat is 0, allowed is 1 or more"},
		"jobs and a scenario":      {flags: runFlags{repeat: 1, jobs: []string{job}}, names: []string{"default"}, wantErr: `--job is given with scenario "default"`},
		"all and a scenario":       {flags: runFlags{repeat: 1, all: true}, names: []string{"default"}, wantErr: "--all is given with scenarios or jobs"},
		"to keep one of two":       {flags: runFlags{repeat: 1, keep: true}, names: []string{"default", "shaped-units"}, wantErr: "--keep is given for several runs"},
		"to keep one of two times": {flags: runFlags{repeat: 2, keep: true}, wantErr: "--keep is given for several runs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stories, err := tc.flags.stories(root, tc.names)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range stories {
				names = append(names, s.Name)
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAllLeavesOutWhatIsLong(t *testing.T) {
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	all := runFlags{repeat: 1, all: true}
	stories, err := all.stories(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range stories {
		seen[s.Name] = true
	}
	if !seen["default"] || !seen["elastic-grow-and-shrink"] || seen["week"] {
		t.Errorf("all are %v, want the short ones only", seen)
	}
}

func TestListNamesEveryScenario(t *testing.T) {
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"list"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default  ", "week  ", "preempted-eval-runs-again  ", "A fixed gang and an elastic eval share"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the list lacks %q", want)
		}
	}
}

func TestTheBoardIsForThisMachine(t *testing.T) {
	cmd := newCommand()
	cmd.SetArgs([]string{"up", "--board", "0.0.0.0:8080"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `--board: address is "0.0.0.0:8080"`) || !strings.Contains(err.Error(), "--board-allow-remote") {
		t.Errorf("got %v", err)
	}
}
