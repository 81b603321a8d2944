// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

// writeRecordings writes recordings to files and returns their paths.
func writeRecordings(t *testing.T, recs []*recording.Recording) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, rec := range recs {
		text, err := json.Marshal(rec)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, rec.Manager.Name+".json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestReportCommand(t *testing.T) {
	files := writeRecordings(t, recordingtest.Small())
	page, figures := filepath.Join(t.TempDir(), "r.html"), filepath.Join(t.TempDir(), "r.json")
	cmd := newCommand()
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs(append([]string{"report", "--html", page, "--json", figures, "--week", "--day", "10s", "--evidence"}, files...))
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"An eval gives way and comes back", "How much of the spare capacity evals filled", "written to " + page, "arrival waits"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text does not say %q:\n%s", want, out.String())
		}
	}
	for path, want := range map[string]string{page: "<!doctype html>", figures: `"scenario": "small-fleet"`} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q", path, want)
		}
	}
}

func TestReportCommandRefuses(t *testing.T) {
	files := writeRecordings(t, recordingtest.Small())
	cases := map[string]struct {
		args []string
		want string
	}{
		"no file":          {want: "requires at least 1 arg(s), only received 0"},
		"a missing file":   {args: []string{"none.json"}, want: "failed to read a recording: open none.json"},
		"a narrow window":  {args: []string{"--width", "20", files[0]}, want: "--width is 20, it must be at least 60"},
		"no job at all":    {args: []string{"--jobs", "0", files[0]}, want: "--jobs is 0, it must be at least 1"},
		"a day of no time": {args: []string{"--week", "--day", "0s", files[0]}, want: "invalid week: day is 0 s, it must be above 0"},
		"a missing folder": {args: []string{"--html", "none/r.html", files[0]}, want: "failed to write the report: open none/r.html"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := newCommand()
			cmd.SetOut(&strings.Builder{})
			cmd.SetArgs(append([]string{"report"}, tc.args...))
			if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
