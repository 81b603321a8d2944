// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// longestListOfPlaces is how many domains the table lists.
const longestListOfPlaces = 8

// Print writes the report for people.
func (r Report) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "Workload\t%s, priority %d\n", r.Workload, r.Priority)
	fmt.Fprintf(w, "Queue\t%s, ClusterQueue %s\n", r.LocalQueue, orNone(r.ClusterQueue))
	fmt.Fprintf(w, "State\t%s: %s\n", r.Reason, r.Message)
	for _, shape := range r.WouldFit {
		fmt.Fprintf(w, "Would fit\t%s\n", shape.Message)
	}
	if r.Scheduler != "" {
		fmt.Fprintf(w, "Scheduler\t%s\n", strings.Join(strings.Fields(r.Scheduler), " "))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(w, "Note\t%s\n", note)
	}
	w.Flush()

	fmt.Fprintln(w, "\nPODSET\tPODS\tRUNNING\tEACH\tTOPOLOGY")
	for _, a := range r.Asked {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\n", a.PodSet, a.Pods, a.Running, a.Each, a.Topology)
	}
	w.Flush()
	if len(r.Quota) > 0 {
		fmt.Fprintln(w, "\nFLAVOR\tQUOTA\tRESERVED\tFREE")
		for _, q := range r.Quota {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", q.Flavor, amount(q.Resource, q.Nominal), amount(q.Resource, q.Reserved), amount(q.Resource, q.Free))
		}
		w.Flush()
	}
	r.printPlaces(w)
	if len(r.Verdicts) > 0 && r.Reason != ReasonNothing {
		fmt.Fprintln(w, "\nPODSET\tFLAVOR\tVERDICT")
		for _, v := range r.Verdicts {
			verdict := "fits"
			if !v.Fits {
				verdict = string(v.Reason) + ": " + v.Message
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", v.PodSet, orNone(string(v.Flavor)), verdict)
		}
		w.Flush()
	}
	if len(r.HeldBy) > 0 {
		fmt.Fprintln(w, "\nHELD BY\tPRIORITY\tFLAVOR\tAMOUNT")
		for _, h := range r.HeldBy {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", h.Workload, h.Priority, h.Flavor, amount(h.Resource, h.Amount))
		}
		w.Flush()
	}
}

// printPlaces lists the domains that have something free; the full ones are counted.
func (r Report) printPlaces(w *tabwriter.Writer) {
	if len(r.Places) == 0 {
		return
	}
	fmt.Fprintln(w, "\nFLAVOR\tDOMAIN\tFREE")
	full, listed := 0, 0
	for _, p := range r.Places {
		switch {
		case p.Free <= 0:
			full++
		case listed == longestListOfPlaces:
			listed++
			fmt.Fprintf(w, "%s\t…\t\n", p.Flavor)
		case listed < longestListOfPlaces:
			listed++
			fmt.Fprintf(w, "%s\t%s\t%s\n", p.Flavor, strings.Join(p.Domain, "/"), amount(p.Resource, p.Free))
		}
	}
	if full > 0 {
		fmt.Fprintf(w, "\t%s full\t\n", plural(int64(full), "domain"))
	}
	w.Flush()
}

func orNone(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
