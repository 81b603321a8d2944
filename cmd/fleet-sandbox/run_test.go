// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox/board"
	"fleet.ai/kueue-fleet/internal/sandbox/play"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/simruntime"
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

// The board answers only under names of this machine, unless it may listen
// elsewhere; then the option must reach it.
func TestBoardOptions(t *testing.T) {
	player := play.New(play.Cluster{
		Clock: clock.RealClock{}, Runtime: simruntime.New(nil, simray.NewLedger(), clock.RealClock{}, logr.Discard()), Out: io.Discard,
	}, &scenario.Scenario{TimeScale: 1}, nil)
	cases := map[string]struct {
		flags      upFlags
		host       string
		wantStatus int
	}{
		"this machine":                         {host: "localhost:1", wantStatus: http.StatusOK},
		"another address that isn't allowed":   {host: "192.0.2.1:1", wantStatus: http.StatusForbidden},
		"another address that is":              {flags: upFlags{allowRemote: true}, host: "192.0.2.1:1", wantStatus: http.StatusOK},
		"a name, which somebody could point":   {flags: upFlags{allowRemote: true}, host: "fleet.example:1", wantStatus: http.StatusForbidden},
		"changes allowed, from somewhere else": {flags: upFlags{allowChanges: true}, host: "192.0.2.1:1", wantStatus: http.StatusForbidden},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := tc.flags.boardOptions(player, nil)
			if options.AllowChanges != tc.flags.allowChanges {
				t.Errorf("changes are allowed: %v", options.AllowChanges)
			}
			live, err := board.New(options)
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Host = tc.host
			answer := httptest.NewRecorder()
			live.ServeHTTP(answer, request)
			if answer.Code != tc.wantStatus {
				t.Errorf("got status %d, want %d", answer.Code, tc.wantStatus)
			}
		})
	}
}

func TestUpHasNoFlagsOfRun(t *testing.T) {
	up := newUpCommand()
	for _, name := range []string{"job", "timeout", "keep", "all", "repeat", "out"} {
		if up.Flags().Lookup(name) != nil {
			t.Errorf("up has flag --%s, which means nothing there", name)
		}
	}
}
