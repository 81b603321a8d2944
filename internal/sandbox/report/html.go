// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"io"
	"strings"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/web"
)

// HTML writes one page that needs nothing else: the fleet through time, the
// jobs, the checks and the figures, with the runs to switch between. Of the
// options it takes Week.
func HTML(w io.Writer, recs []*recording.Recording, o Options) error {
	scenarios, err := group(recs, o.Week)
	if err != nil {
		return err
	}
	// For readers without scripts.
	var text strings.Builder
	if err := Text(&text, recs, Options{Week: o.Week}); err != nil {
		return err
	}
	page := web.Page{Title: scenarios[0].first.Title, Text: text.String()}
	if page.Title == "" {
		page.Title = scenarios[0].first.Scenario
	}
	for _, s := range scenarios {
		if s.week != nil {
			page.Week = &web.WeekNames{Filler: s.week.Filler, Waiting: s.week.Waiting, High: s.week.High}
		}
		for _, a := range s.arms {
			for _, r := range a.runs {
				page.Runs = append(page.Runs, web.Run{Recording: r.rec, Figures: r.figures, Week: r.week})
			}
		}
	}
	return web.Write(w, page)
}
