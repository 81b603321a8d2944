// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// maxMessageLines bounds what the summary shows of one failure; the log has all.
const maxMessageLines = 40

// summarize prints failures, the table and the totals, and says whether all is
// well. The last line has a fixed form, for programs.
func summarize(w io.Writer, results []Result) bool {
	ok := len(results) > 0
	var passed, failed, skipped int
	for _, r := range results {
		ok = ok && r.ok()
		passed += r.Passed
		skipped += r.Skipped
		failed += r.Failed
		if r.Failed == 0 && !r.ok() {
			// A suite that broke as a whole must show in the totals.
			failed++
		}
		printFailures(w, r)
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SUITE\tPASSED\tFAILED\tSKIPPED\tCOMPILE\tRUN\tNOTE")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\t%s\n", r.Suite, r.Passed, r.Failed, r.Skipped,
			seconds(r.Compile), seconds(r.Run), firstLine(note(r)))
	}
	table.Flush()
	for _, r := range results {
		for _, spec := range r.Retried {
			fmt.Fprintf(w, "retried: %s: %s\n", r.Suite, spec)
		}
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return ok
}

func printFailures(w io.Writer, r Result) {
	if r.ok() {
		return
	}
	fmt.Fprintf(w, "\nFAILED %s\n", r.Suite)
	if problem := note(r); problem != "" {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(problem, "\n", "\n  "))
	}
	for _, f := range r.Failures {
		lines := strings.Split(strings.TrimSpace(f.Message), "\n")
		if extra := len(lines) - maxMessageLines; extra > 0 {
			lines = append(lines[:maxMessageLines], fmt.Sprintf("... %d more lines in the log", extra))
		}
		fmt.Fprintf(w, "  %s\n    %s\n", f.Spec, strings.Join(lines, "\n    "))
	}
	if r.Log != "" {
		fmt.Fprintf(w, "  log: %s\n", r.Log)
	}
}

func note(r Result) string {
	switch {
	case r.Problem != "":
		return strings.TrimSpace(r.Problem)
	case r.Passed+r.Failed == 0:
		return "0 tests ran"
	case r.Meant > 0:
		return fmt.Sprintf("%d more fail as the gates mean it", r.Meant)
	case len(r.Retried) > 0:
		return fmt.Sprintf("%d known flakes passed when retried", len(r.Retried))
	}
	return ""
}

// firstLine keeps a table readable; the failures above it are complete.
func firstLine(s string) string {
	const limit = 60
	line, rest, _ := strings.Cut(s, "\n")
	if len(line) > limit {
		return line[:limit] + "..."
	}
	if rest != "" {
		return line + " ..."
	}
	return line
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0fs", d.Seconds()) }

// writeSummary keeps the results for other programs.
func writeSummary(artifacts string, results []Result) error {
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("failed to encode the results: %w", err)
	}
	return os.WriteFile(filepath.Join(artifacts, "summary.json"), append(data, '\n'), 0o644)
}
