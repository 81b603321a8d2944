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
	"fleet.ai/kueue-fleet/internal/sandbox/report"
)

// ErrChecksFailed says that the sandbox worked but not all that must hold did.
var ErrChecksFailed = errors.New("not every check passed")

// PrintVerdict says in a line how a run went.
func PrintVerdict(out io.Writer, rec *recording.Recording) {
	passed := 0
	for _, check := range rec.Checks {
		if check.Passed {
			passed++
		}
	}
	_, _ = fmt.Fprintf(out, "%s on %s: %d of %d checks passed, %d invariants broken\n",
		rec.Scenario, rec.Manager.Name, passed, len(rec.Checks), len(rec.Violations))
}

// PrintTotals says how many runs of each scenario passed.
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

// WriteReports writes to dir each recording, runs of one scenario numbered,
// and a report of all as text, JSON and a page.
func WriteReports(dir string, recordings []*recording.Recording, o report.Options) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("failed to make the folder for reports: %w", err)
	}
	runs := map[string]int{}
	for _, rec := range recordings {
		runs[rec.Scenario]++
		name := fmt.Sprintf("%s-%d.recording.json", rec.Scenario, runs[rec.Scenario])
		err := report.WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			encoder := json.NewEncoder(w)
			encoder.SetIndent("", " ")
			return encoder.Encode(rec)
		})
		if err != nil {
			return err
		}
	}
	o.Color = false
	for name, write := range map[string]func(io.Writer, []*recording.Recording, report.Options) error{
		"report.txt": report.Text, "report.json": report.JSON, "report.html": report.HTML,
	} {
		err := report.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { return write(w, recordings, o) })
		if err != nil {
			return err
		}
	}
	return nil
}
