// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	tableBegin = "<!-- removal table: begin -->"
	tableEnd   = "<!-- removal table: end -->"
)

// render makes the table of the results.
func render(results []result) string {
	var s strings.Builder
	s.WriteString("| Patch | Undone | Seed | Rule | Tests that fail |\n|---|---|---:|---|---|\n")
	for _, r := range results {
		seed, rule := "", r.undo.Unseen
		if r.failure != nil {
			seed, rule = strconv.FormatUint(r.failure.seed, 10), r.failure.rule
			if r.undo.Guard != "" {
				rule += fmt.Sprintf(" with %s undone too; this sequence needs only one of them", r.undo.Guard)
			}
		}
		fmt.Fprintf(&s, "| [%s](../patches/%s.patch) | %s | %s | %s | %s |\n", r.undo.number(), r.undo.Patch, cmp.Or(r.undo.What, "–"),
			cmp.Or(seed, "–"), cmp.Or(rule, "–"), cmp.Or(strings.Join(r.failed, ", "), "–"))
	}
	return s.String()
}

// writeTable puts the table between the two marks of a page.
func writeTable(file, table string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegin+"\n")
	_, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		return fmt.Errorf("failed to find %q and %q in %s", tableBegin, tableEnd, file)
	}
	return os.WriteFile(file, []byte(before+tableBegin+"\n"+table+tableEnd+after), 0o600)
}
