// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// ErrVersion is returned for a recording of another version of the format.
var ErrVersion = errors.New("recording of another version")

// scenario is all runs of one scenario.
type scenario struct {
	first *recording.Recording
	// week is nil if its figures are not wanted.
	week *measure.WeekOptions
	arms []arm
}

// arm is one manager's runs of a scenario.
type arm struct {
	name string
	runs []run
}

// run is one recording with its figures.
type run struct {
	rec     *recording.Recording
	figures measure.Figures
	week    *measure.Week
}

// group sorts recordings into scenarios and arms, each in the order in which
// it first appears.
func group(recs []*recording.Recording, week *measure.WeekOptions) ([]scenario, error) {
	if len(recs) == 0 {
		return nil, errors.New("failed to report: there is no recording")
	}
	if week != nil {
		if err := week.Validate(); err != nil {
			return nil, err
		}
	}
	var scenarios []scenario
	places := map[string]int{}
	for _, rec := range recs {
		if rec.Version != recording.Version {
			return nil, fmt.Errorf("failed to report on %q: %w: its version is %d, allowed is %d", rec.Scenario, ErrVersion, rec.Version, recording.Version)
		}
		place, ok := places[rec.Scenario]
		if !ok {
			place = len(scenarios)
			places[rec.Scenario] = place
			scenarios = append(scenarios, scenario{first: rec, week: weekOf(rec, week)})
		}
		s := &scenarios[place]
		s.add(newRun(rec, s.week))
	}
	return scenarios, nil
}

// weekOf is how a scenario is cut into days: as was asked for, or as usual if
// it is about how much a class of jobs fills.
func weekOf(rec *recording.Recording, asked *measure.WeekOptions) *measure.WeekOptions {
	usual := measure.FillingOptions(rec)
	if asked == nil || usual == nil {
		return cmp.Or(asked, usual)
	}
	cut := *asked
	cut.Until = cmp.Or(asked.Until, usual.Until)
	return &cut
}

func newRun(rec *recording.Recording, week *measure.WeekOptions) run {
	r := run{rec: rec, figures: measure.Run(rec)}
	if week != nil {
		figures := measure.NewWeek(rec, *week)
		r.week = &figures
	}
	return r
}

func (s *scenario) add(r run) {
	for i := range s.arms {
		if s.arms[i].name == r.rec.Manager.Name {
			s.arms[i].runs = append(s.arms[i].runs, r)
			return
		}
	}
	s.arms = append(s.arms, arm{name: r.rec.Manager.Name, runs: []run{r}})
}

func (a arm) passed() int {
	passed := 0
	for _, r := range a.runs {
		if r.figures.Passed {
			passed++
		}
	}
	return passed
}

// shown is the run of an arm that is shown in detail: the first that failed,
// else the first.
func (a arm) shown() run {
	for _, r := range a.runs {
		if !r.figures.Passed {
			return r
		}
	}
	return a.runs[0]
}

// checkPasses counts by check in how many of the runs it passed.
func (a arm) checkPasses() map[string]int {
	passes := map[string]int{}
	for _, r := range a.runs {
		for _, check := range r.rec.Checks {
			if check.Passed {
				passes[check.Name]++
			}
		}
	}
	return passes
}
