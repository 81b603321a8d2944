// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeboard

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"fleet.ai/kueue-fleet/internal/explain"
)

// What stands for a piece of the resource that no job has, and for those of jobs
// without a letter of their own.
const (
	freeCell  = '·'
	otherCell = '#'
	manyCell  = '*'
	letters   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	// mostCells is how many pieces of a node are drawn; nodes with more get numbers.
	mostCells = 16
	// mostWaiting is how many waiting jobs are listed.
	mostWaiting = 10
)

// Print draws the board.
func (b Board) Print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	// A terminal's writes don't fail in a way that anybody could be told of.
	defer func() { _ = w.Flush() }()
	if b.Resource == "" {
		fmt.Fprintln(w, "no node has devices")
		return
	}
	fmt.Fprintf(w, "%s, %s of %d free on %d nodes\n", b.At.UTC().Format(time.RFC3339), explain.Amount(b.Resource, b.Free), b.Capacity, len(b.Nodes))
	for _, note := range b.Notes {
		fmt.Fprintln(w, note)
	}
	letter := b.letters()
	fmt.Fprintln(w, "\nNODE\tDOMAIN\tHELD\tFREE\t")
	for _, n := range b.Nodes {
		remark := ""
		if !n.Usable {
			remark = "not usable"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", n.Name, orNone(n.above()), n.cells(letter), n.Free, remark)
	}
	if len(b.Jobs) > 0 {
		fmt.Fprintln(w, "\n\tJOB\tQUEUE\tPRIORITY\tHAS")
	}
	for _, j := range b.Jobs {
		fmt.Fprintf(w, "%c\t%s\t%s\t%d\t%s\n", letter[j.Name], j.Name, orNone(j.Queue), j.Priority, explain.Amount(b.Resource, j.Amount))
	}
	if len(b.Waiting) > 0 {
		fmt.Fprintln(w, "\nWAITING\tQUEUE\tPRIORITY\tASKS FOR")
	}
	for i, j := range b.Waiting {
		if i == mostWaiting {
			fmt.Fprintf(w, "and %d more\n", len(b.Waiting)-mostWaiting)
			break
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", j.Name, orNone(j.Queue), j.Priority, explain.Amount(b.Resource, j.Amount))
	}
	fmt.Fprintf(w, "\n%c free  %c other pods  small letter: granted, no pod yet\n", freeCell, otherCell)
}

// letters gives each job one, and those after the last of the alphabet one in common.
func (b Board) letters() map[string]rune {
	out := map[string]rune{"": otherCell}
	for i, j := range b.Jobs {
		out[j.Name] = manyCell
		if i < len(letters) {
			out[j.Name] = rune(letters[i])
		}
	}
	return out
}

// above are the levels over the node itself.
func (n Node) above() string {
	if len(n.Domain) == 0 {
		return ""
	}
	return strings.Join(n.Domain[:len(n.Domain)-1], "/")
}

func (n Node) cells(letter map[string]rune) string {
	var out strings.Builder
	drawn := n.Capacity <= mostCells
	for _, h := range n.Holders {
		cell := string(letter[h.Job])
		if h.ToCome {
			cell = strings.ToLower(cell)
		}
		if drawn {
			out.WriteString(strings.Repeat(cell, int(h.Amount)))
		} else {
			fmt.Fprintf(&out, "%s%d ", cell, h.Amount)
		}
	}
	if drawn {
		out.WriteString(strings.Repeat(string(freeCell), int(max(n.Free, 0))))
	}
	return strings.TrimSpace(out.String())
}

func orNone(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
