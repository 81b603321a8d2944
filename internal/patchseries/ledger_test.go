// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func toyLedger(t *testing.T) *Ledger {
	t.Helper()
	fix := strings.NewReplacer("Fleet-Class: seam", "Fleet-Class: fix", "Upstream-Status: Pending", "Upstream-Status: Submitted https://example.org/pull/7",
		"Feature-Gate: none", "Feature-Gate: WidgetFix").Replace(goodMessage)
	return NewLedger("example.org/toy v1.0.0", []*Patch{
		mustParse(t, mail("0300-widget-mend-leak.patch", "Mend a | leak", fix, newFile("a.go", 3)+newFile("a_test.go", 4))),
		mustParse(t, good("0500-widget-build-twice.patch")),
		mustParse(t, good("0510-widget-build-thrice.patch")),
	})
}

func TestLedgerMarkdown(t *testing.T) {
	want := `<!-- Written by fleet-patch from the headers in patches/. Edit those, then run fleet-patch refresh. -->
# Patch ledger

3 patches on BTexample.org/toy v1.0.0BT. Lines are added plus removed; a moved file counts only what differs.

| Class | Patches | Lines | Test lines |
|---|---:|---:|---:|
| fix | 1 | 3 | 4 |
| seam | 2 | 6 | 0 |
| all | 3 | 9 | 4 |

| Patch | Subject | Class | Upstream status | Upstream issue | Gate | Lines | Test lines | Drop when |
|---|---|---|---|---|---|---:|---:|---|
| [0300](../patches/0300-widget-mend-leak.patch) | Mend a \| leak | fix | Submitted https://example.org/pull/7 | none | WidgetFix | 3 | 4 | upstream exports the builder, whatever it calls it |
| [0500](../patches/0500-widget-build-twice.patch) | Build widgets twice | seam | Pending | none | none | 3 | 0 | upstream exports the builder, whatever it calls it |
| [0510](../patches/0510-widget-build-thrice.patch) | Build widgets twice | seam | Pending | none | none | 3 | 0 | upstream exports the builder, whatever it calls it |
`
	if diff := cmp.Diff(strings.ReplaceAll(want, "BT", "`"), toyLedger(t).Markdown()); diff != "" {
		t.Errorf("page (-want,+got):\n%s", diff)
	}
}

func TestLedgerText(t *testing.T) {
	now := time.Date(2026, 3, 11, 12, 0, 0, 0, time.UTC)
	ledger := toyLedger(t)
	ledger.Rows[1].Since = now.Add(-50 * time.Hour)
	ledger.Rows[2].Since = now.Add(-10 * 24 * time.Hour)
	want := `3 patches on example.org/toy v1.0.0, 9 changed lines outside tests, 4 in tests

PATCH  CLASS    AGE     LINES  TEST  STATUS                                SUBJECT
0300   fix      new     3      4     Submitted https://example.org/pull/7  Mend a | leak
0500   seam     2d      3      0     Pending                               Build widgets twice
0510   seam     10d     3      0     Pending                               Build widgets twice

CLASS  PATCHES  OLDEST  LINES  TEST
fix    1        new     3      4
seam   2        10d     6      0
`
	if diff := cmp.Diff(want, ledger.Text(now)); diff != "" {
		t.Errorf("text (-want,+got):\n%s", diff)
	}
}

func TestLedgerOfNothing(t *testing.T) {
	ledger := NewLedger("example.org/toy v1.0.0", nil)
	if want, got := "0 patches on example.org/toy v1.0.0, 0 changed lines outside tests, 0 in tests\n", ledger.Text(time.Time{}); want != got {
		t.Errorf("text: want %q, got %q", want, got)
	}
	if !strings.Contains(ledger.Markdown(), "\n0 patches on") {
		t.Errorf("page does not say that there are no patches:\n%s", ledger.Markdown())
	}
}
