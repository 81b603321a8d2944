// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Ledger is the list of patches with what their headers say.
type Ledger struct {
	// Base is the module and version the series applies to.
	Base string
	Rows []Row
}

// Row is one patch of the ledger.
type Row struct {
	Patch *Patch
	Size  Size
	// Since is when the file first entered our repository; zero when it has not yet.
	Since time.Time
}

// Count writes a number of patches.
func Count(n int) string {
	if n == 1 {
		return "1 patch"
	}
	return fmt.Sprintf("%d patches", n)
}

// NewLedger lists the patches in the given order. The caller fills in Since.
func NewLedger(base string, patches []*Patch) *Ledger {
	ledger := &Ledger{Base: base}
	for _, patch := range patches {
		ledger.Rows = append(ledger.Rows, Row{Patch: patch, Size: Measure(patch.Diffs)})
	}
	return ledger
}

// classTotal sums up one class.
type classTotal struct {
	class   Class
	patches int
	size    Size
	oldest  time.Time
}

func (l *Ledger) totals() []classTotal {
	var out []classTotal
	for _, row := range l.Rows {
		class := row.Patch.Header.Class()
		i := slices.IndexFunc(out, func(t classTotal) bool { return t.class == class })
		if i < 0 {
			out = append(out, classTotal{class: class})
			i = len(out) - 1
		}
		out[i].patches++
		out[i].size.Lines += row.Size.Lines
		out[i].size.TestLines += row.Size.TestLines
		if since := row.Since; !since.IsZero() && (out[i].oldest.IsZero() || since.Before(out[i].oldest)) {
			out[i].oldest = since
		}
	}
	return out
}

func (l *Ledger) sum() classTotal {
	var all classTotal
	for _, t := range l.totals() {
		all.patches += t.patches
		all.size.Lines += t.size.Lines
		all.size.TestLines += t.size.TestLines
	}
	return all
}

// Text renders the ledger for a terminal, with ages as of now.
func (l *Ledger) Text(now time.Time) string {
	var out strings.Builder
	all := l.sum()
	fmt.Fprintf(&out, "%s on %s, %d changed lines outside tests, %d in tests\n", Count(all.patches), l.Base, all.size.Lines, all.size.TestLines)
	if len(l.Rows) == 0 {
		return out.String()
	}
	out.WriteString("\n")
	var table strings.Builder
	table.WriteString("PATCH\tCLASS\tAGE\tLINES\tTEST\tSTATUS\tSUBJECT\n")
	for _, row := range l.Rows {
		h := row.Patch.Header
		status, _ := h.Get(TrailerStatus)
		fmt.Fprintf(&table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", number(row.Patch), orDash(string(h.Class())), age(row.Since, now),
			row.Size.Lines, row.Size.TestLines, orDash(status), h.Subject)
	}
	table.WriteString("\t\t\t\t\t\t\nCLASS\tPATCHES\tOLDEST\tLINES\tTEST\t\t\n")
	for _, t := range l.totals() {
		fmt.Fprintf(&table, "%s\t%d\t%s\t%d\t%d\t\t\n", orDash(string(t.class)), t.patches, age(t.oldest, now), t.size.Lines, t.size.TestLines)
	}
	out.WriteString(Align(table.String()))
	return out.String()
}

// Markdown renders docs/patches.md. It holds no ages, so that it changes only
// when a header does.
func (l *Ledger) Markdown() string {
	var out strings.Builder
	all := l.sum()
	out.WriteString("<!-- Written by fleet-patch from the headers in patches/. Edit those, then run fleet-patch refresh. -->\n")
	out.WriteString("# Patch ledger\n\n")
	fmt.Fprintf(&out, "%s on `%s`. Lines are added plus removed; a moved file counts only what differs.\n", Count(all.patches), l.Base)
	if len(l.Rows) == 0 {
		return out.String()
	}
	out.WriteString("\n| Class | Patches | Lines | Test lines |\n|---|---:|---:|---:|\n")
	for _, t := range l.totals() {
		fmt.Fprintf(&out, "| %s | %d | %d | %d |\n", cell(string(t.class)), t.patches, t.size.Lines, t.size.TestLines)
	}
	fmt.Fprintf(&out, "| all | %d | %d | %d |\n", all.patches, all.size.Lines, all.size.TestLines)
	out.WriteString("\n| Patch | Subject | Class | Upstream status | Upstream issue | Gate | Lines | Test lines | Drop when |\n")
	out.WriteString("|---|---|---|---|---|---|---:|---:|---|\n")
	for _, row := range l.Rows {
		h := row.Patch.Header
		get := func(key string) string { value, _ := h.Get(key); return cell(value) }
		fmt.Fprintf(&out, "| [%s](../patches/%s) | %s | %s | %s | %s | %s | %d | %d | %s |\n",
			number(row.Patch), row.Patch.Name, cell(h.Subject), get(TrailerClass), get(TrailerStatus), get(TrailerIssue),
			get(TrailerGate), row.Size.Lines, row.Size.TestLines, get(TrailerDropWhen))
	}
	return out.String()
}

func number(patch *Patch) string {
	name, err := ParseName(patch.Name)
	if err != nil {
		return patch.Name
	}
	return fmt.Sprintf("%04d", name.Number)
}

// age is in whole days; a patch that is not committed yet is new.
func age(since, now time.Time) string {
	if since.IsZero() {
		return "new"
	}
	return fmt.Sprintf("%dd", int(now.Sub(since).Hours()/24))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// cell makes s safe inside a Markdown table.
func cell(s string) string {
	s = strings.ReplaceAll(s, "|", `\|`)
	return orDash(strings.TrimSpace(s))
}

// Align sets text with tabs between its cells as columns.
func Align(text string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	// A strings.Builder does not fail, so neither do these.
	_, _ = w.Write([]byte(text))
	_ = w.Flush()
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
