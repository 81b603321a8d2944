// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/report"
)

type reportFlags struct {
	html, json      string
	width, maxJobs  int
	evidence, week  bool
	filler, waiting string
	day             time.Duration
}

func newReportCommand() *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Report on recordings: as text, as one HTML page, as JSON",
		Long: "Report on recordings. Recordings of one scenario by different queue managers stand side by side; " +
			"several by the same manager are repeats.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd.OutOrStdout(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.html, "html", "", "file to write the page to")
	f.StringVar(&flags.json, "json", "", "file to write the figures and checks to, as JSON")
	f.IntVar(&flags.width, "width", 100, "characters of a line, at least 60")
	f.IntVar(&flags.maxJobs, "jobs", 40, "how many jobs the text shows")
	f.BoolVar(&flags.evidence, "evidence", false, "show the evidence of checks that passed, too")
	f.BoolVar(&flags.week, "week", false, "add days, bins and the share of the spare capacity that was filled")
	f.StringVar(&flags.filler, "filler", "evals", "class of the jobs that fill what others leave, for --week")
	f.StringVar(&flags.waiting, "waiting", "training", "class whose waiting time must not suffer, for --week")
	f.DurationVar(&flags.day, "day", 24*time.Hour, "length of a day in the story, for --week")
	return cmd
}

func (f *reportFlags) run(out io.Writer, files []string) error {
	if f.width < 60 {
		return fmt.Errorf("--width is %d, it must be at least 60", f.width)
	}
	if f.maxJobs < 1 {
		return fmt.Errorf("--jobs is %d, it must be at least 1", f.maxJobs)
	}
	var recs []*recording.Recording
	for _, file := range files {
		rec, err := recording.ReadFile(file)
		if err != nil {
			return err
		}
		recs = append(recs, rec)
	}
	options := report.Options{
		Width: f.width, MaxJobs: f.maxJobs, AllEvidence: f.evidence, Color: report.UseColor(out, os.Getenv),
	}
	if f.week {
		week := measure.DefaultWeekOptions(measure.Capacity(recs[0]))
		week.Filler, week.Waiting, week.Day = f.filler, f.waiting, f.day.Seconds()
		options.Week = &week
	}
	if err := report.Text(out, recs, options); err != nil {
		return err
	}
	for _, form := range []struct {
		path  string
		write func(io.Writer, []*recording.Recording, report.Options) error
	}{{f.html, report.HTML}, {f.json, report.JSON}} {
		if form.path == "" {
			continue
		}
		if err := report.WriteFile(form.path, func(w io.Writer) error { return form.write(w, recs, options) }); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "\nwritten to %s\n", form.path)
	}
	return nil
}
