// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package evicted

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Print writes the report for people.
func (r Report) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	// Neither does a terminal's buffer fail here, nor could anybody be told.
	defer func() { _ = w.Flush() }()
	fmt.Fprintf(w, "Workload\t%s\n", r.Workload)
	switch {
	case !r.Evicted:
		fmt.Fprintln(w, "Evicted\tnever, as far as the Workload remembers")
	case r.Reason == "":
		fmt.Fprintln(w, "Evicted\tbefore; the condition is gone")
	default:
		fmt.Fprintf(w, "Evicted\t%s%s\n", r.Reason, when(r.Time))
		if r.Cause != "" {
			fmt.Fprintf(w, "Cause\t%s\n", r.Cause)
		}
		fmt.Fprintf(w, "Message\t%s\n", strings.Join(strings.Fields(r.Message), " "))
	}
	if r.By != nil {
		fmt.Fprintf(w, "By\t%s\n", r.By)
	}
	fmt.Fprintf(w, "Now\t%s\n", r.Now)
	if r.Next != "" {
		fmt.Fprintf(w, "Next\t%s\n", r.Next)
	}
	if len(r.Counts) == 0 {
		return
	}
	_ = w.Flush()
	fmt.Fprintln(w, "\nREASON\tCAUSE\tTIMES")
	for _, c := range r.Counts {
		cause := c.Cause
		if cause == "" {
			cause = "–"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\n", c.Reason, cause, c.Count)
	}
}

func when(at *time.Time) string {
	if at == nil {
		return ", and requeued since"
	}
	return " at " + at.UTC().Format(time.RFC3339)
}

// String names the preemptor and the rule.
func (p *Preemptor) String() string {
	text := p.Workload + ", priority " + strconv.Itoa(int(p.Priority))
	if !p.Known {
		text = "the Workload with the UID " + p.Workload + ", which is gone or not yours to see"
	}
	if p.ClusterQueue != "" {
		text += ", ClusterQueue " + p.ClusterQueue
	}
	if p.Policy != "" {
		text += ", by " + p.Policy
	}
	return text
}
