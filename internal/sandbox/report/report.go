// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report writes what each job got and when.
package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
)

// Job is a row of the table.
type Job struct {
	timeline.Summary
	ItemsDone, Items int
}

// OK reports whether the job ended well with all its work done.
func (j Job) OK() bool {
	return j.Succeeded && j.ItemsDone == j.Items
}

// Write writes the table, with times in seconds since start.
func Write(out io.Writer, start time.Time, jobs []Job) error {
	// Writing to memory cannot fail; one write at the end can.
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "JOB\tPRIO\tQUEUED\tADMITTED\tRUNNING\tFINISHED\tWORKERS\tGPUS\tGPU-S\tGROWN\tSHRUNK\tEVICTED\tITEMS\tRESULT")
	for _, j := range jobs {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%.1f\t%d\t%d\t%d\t%d/%d\t%s\n",
			j.Job, j.Priority,
			seconds(start, j.Queued), seconds(start, j.Admitted), seconds(start, j.Running), seconds(start, j.Finished),
			j.PeakWorkers, j.PeakGPUs, j.GPUSeconds, j.Grown, j.Shrunk, j.Evicted, j.ItemsDone, j.Items, result(j))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("failed to write the report: %w", err)
	}
	text.WriteString("WORKERS and GPUS are the most at one time; a GPU counts from the binding of its pod until the pod is gone; GPU-S are GPU-seconds.\n")
	for _, j := range jobs {
		if len(j.Nodes) > 0 {
			fmt.Fprintf(&text, "%s ran on %s.\n", j.Job, strings.Join(j.Nodes, ", "))
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("failed to write the report: %w", err)
	}
	return nil
}

// WriteReasons writes why jobs that did not end well were waiting.
func WriteReasons(out io.Writer, jobs []Job) {
	for _, j := range jobs {
		if j.OK() {
			continue
		}
		for _, reason := range j.Reasons {
			_, _ = fmt.Fprintf(out, "%s waited: %s\n", j.Job, reason)
		}
	}
}

func result(j Job) string {
	switch {
	case j.OK():
		return "done"
	case j.Finished.IsZero():
		return "not finished"
	case !j.Succeeded:
		return "failed"
	default:
		return "work missing"
	}
}

func seconds(start, at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%.2fs", at.Sub(start).Seconds())
}
