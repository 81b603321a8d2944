// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// JSONVersion is the version of the document that JSON writes. It changes
// when a field changes its meaning or goes away; new fields do not change it.
const JSONVersion = 1

// document is what JSON writes; docs/report.md describes it.
type document struct {
	Version   int            `json:"version"`
	Scenarios []scenarioJSON `json:"scenarios"`
}

type scenarioJSON struct {
	Scenario    string    `json:"scenario"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Arms        []armJSON `json:"arms"`
}

type armJSON struct {
	Manager recording.Manager `json:"manager"`
	// Passed is how many of the runs passed.
	Passed int       `json:"passed"`
	Runs   []runJSON `json:"runs"`
}

type runJSON struct {
	Started   time.Time `json:"started"`
	Duration  float64   `json:"duration"`
	TimeScale float64   `json:"timeScale"`

	Figures     measure.Figures        `json:"figures"`
	Week        *measure.Week          `json:"week,omitempty"`
	Filled      *float64               `json:"filled,omitempty"`
	Checks      []recording.Check      `json:"checks"`
	Comparisons []recording.Comparison `json:"comparisons"`
	Violations  []recording.Violation  `json:"violations"`
}

// JSON writes the figures and the checks of all runs, for other programs. Of
// the options it takes Week.
func JSON(w io.Writer, recs []*recording.Recording, o Options) error {
	scenarios, err := group(recs, o.Week)
	if err != nil {
		return err
	}
	doc := document{Version: JSONVersion}
	for _, s := range scenarios {
		out := scenarioJSON{Scenario: s.first.Scenario, Title: s.first.Title, Description: s.first.Description}
		for _, a := range s.arms {
			arm := armJSON{Manager: a.runs[0].rec.Manager, Passed: a.passed()}
			for _, r := range a.runs {
				arm.Runs = append(arm.Runs, newRunJSON(r))
			}
			out.Arms = append(out.Arms, arm)
		}
		doc.Scenarios = append(doc.Scenarios, out)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("failed to write the report: %w", err)
	}
	return nil
}

func newRunJSON(r run) runJSON {
	out := runJSON{
		Started: r.rec.Started, Duration: r.rec.Duration, TimeScale: r.rec.TimeScale, Figures: r.figures, Week: r.week,
		// Lists are never null.
		Checks:      append([]recording.Check{}, r.rec.Checks...),
		Comparisons: append([]recording.Comparison{}, r.rec.Comparisons...),
		Violations:  append([]recording.Violation{}, r.rec.Violations...),
	}
	if r.week != nil {
		filled := r.week.Filled()
		out.Filled = &filled
	}
	return out
}
