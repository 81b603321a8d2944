// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fleet.ai/kueue-fleet/internal/sandbox/play"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// ErrChecksFailed says that the sandbox worked but not all that must hold did.
var ErrChecksFailed = errors.New("not every check passed")

// PrintVerdict writes the checks of a run, what was compared, and which
// invariants were broken.
func PrintVerdict(out io.Writer, rec *recording.Recording) {
	logf := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	logf("")
	passed := 0
	for _, check := range rec.Checks {
		if check.Passed {
			passed++
			logf("pass  %s: %s", check.Name, check.Got)
			continue
		}
		logf("FAIL  %s\n        want %s\n        got  %s", check.Name, check.Want, check.Got)
		for _, line := range check.Evidence {
			logf("        %s", line)
		}
	}
	for _, v := range rec.Violations {
		logf("FAIL  invariant %s, at %.3fs: %s", v.Rule, v.At, v.Detail)
	}
	for _, c := range rec.Comparisons {
		logf("      %s: %s; measured elsewhere %s", c.Measure, c.Here, c.Reference)
	}
	logf("%s on %s: %d of %d checks passed, %d invariants broken", rec.Scenario, rec.Manager.Name, passed, len(rec.Checks), len(rec.Violations))
}

// PrintTotals writes how many runs of each scenario passed.
func PrintTotals(out io.Writer, recordings []*recording.Recording) {
	var names []string
	runs, passed := map[string]int{}, map[string]int{}
	for _, rec := range recordings {
		if runs[rec.Scenario] == 0 {
			names = append(names, rec.Scenario)
		}
		runs[rec.Scenario]++
		if play.Passed(rec) {
			passed[rec.Scenario]++
		}
	}
	_, _ = fmt.Fprintln(out)
	for _, name := range names {
		_, _ = fmt.Fprintf(out, "%-32s %d of %d runs passed\n", name, passed[name], runs[name])
	}
}

// WriteReports writes each recording to dir. Runs of one scenario are
// numbered.
func WriteReports(dir string, recordings []*recording.Recording) error {
	runs := map[string]int{}
	for _, rec := range recordings {
		runs[rec.Scenario]++
		name := fmt.Sprintf("%s-%d.recording.json", rec.Scenario, runs[rec.Scenario])
		text, err := json.MarshalIndent(rec, "", " ")
		if err != nil {
			return fmt.Errorf("failed to encode the recording of %s: %w", rec.Scenario, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("failed to write a recording: %w", err)
		}
	}
	return nil
}
