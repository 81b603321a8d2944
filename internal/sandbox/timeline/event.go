// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timeline turns what a watch delivers about jobs, their Workloads,
// Ray clusters and pods into the story of each job. Times are those at which
// the sandbox saw a change: Kubernetes stores whole seconds only.
package timeline

import (
	"fmt"
	"io"
	"time"
)

// What happened to a job.
type What string

// The kinds of event, in the order of a job's life.
const (
	Submitted What = "submitted"
	Queued    What = "queued"
	Admitted  What = "admitted"
	Running   What = "running"
	Grown     What = "grown"
	Shrunk    What = "shrunk"
	Evicted   What = "evicted"
	Finished  What = "finished"
	Failed    What = "failed"
	Released  What = "released"
)

// Event is one line of the timeline.
type Event struct {
	At  time.Time
	Job string
	// Group is the worker group whose Workload it is about, if groups are
	// admitted on their own.
	Group string
	What  What
	Text  string
	// Latency is the time since what caused the event; zero if there is no
	// such thing. Since says what that was.
	Latency time.Duration
	Since   string
}

// Printer writes events as text, with times relative to start.
type Printer struct {
	out   io.Writer
	start time.Time
}

// NewPrinter returns a Printer.
func NewPrinter(out io.Writer, start time.Time) *Printer {
	return &Printer{out: out, start: start}
}

// Print writes one line.
func (p *Printer) Print(e Event) {
	text := e.Text
	if e.Group != "" {
		text = e.Group + ", " + text
	}
	line := fmt.Sprintf("%9.3fs  %-14s %-10s %s", e.At.Sub(p.start).Seconds(), e.Job, e.What, text)
	if e.Since != "" {
		line += fmt.Sprintf("  (%d ms after %s)", e.Latency.Milliseconds(), e.Since)
	}
	_, _ = fmt.Fprintln(p.out, line)
}
