// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
Subject: Count once

Fleet-Class: fix
Tests: TestOnce, TestTwice

diff --git a/pkg/a/a.go b/pkg/a/a.go
--- a/pkg/a/a.go
+++ b/pkg/a/a.go
diff --git a/pkg/a/a_fleet_test.go b/pkg/a/a_fleet_test.go
--- /dev/null
+++ b/pkg/a/a_fleet_test.go
diff --git a/pkg/b/b_fleet_test.go b/pkg/b/b_fleet_test.go
--- /dev/null
+++ b/pkg/b/b_fleet_test.go
`

func TestParsePatch(t *testing.T) {
	cases := map[string]struct {
		text    string
		want    patch
		wantErr string
	}{
		"tests and their folders are known": {
			text: example,
			want: patch{name: "0100-a", class: "fix", tests: []string{"TestOnce", "TestTwice"}, packages: []string{"pkg/a", "pkg/b"}},
		},
		"a patch that changes nothing": {text: "Subject: nothing\n", want: patch{name: "0100-a"}, wantErr: "failed to find a change in patch 0100-a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parsePatch("0100-a", tc.text)
			if msg := errorText(err); msg != tc.wantErr {
				t.Errorf("parsePatch() error = %q, want %q", msg, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(patch{})); diff != "" {
				t.Errorf("patch (-want,+got):\n%s", diff)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMatch(t *testing.T) {
	series := []patch{{name: "0100-a", class: "fix"}, {name: "0200-b", class: "backport"}, {name: "0500-c", class: "seam"}}
	some := []edit{{File: "a.go"}}
	cases := map[string]struct {
		undos []undo
		want  string
	}{
		"each fix and backport is undone": {undos: []undo{{Patch: "0100-a", Edits: some}, {Patch: "0200-b", Unseen: "a test"}}},
		"one is left out": {
			undos: []undo{{Patch: "0100-a", Edits: some}}, want: `patch "0200-b" is a backport and is not undone`,
		},
		"a seam is undone": {
			undos: []undo{{Patch: "0100-a", Edits: some}, {Patch: "0200-b", Edits: some}, {Patch: "0500-c", Edits: some}},
			want:  `patch "0500-c" is undone, but is no fix or backport of the series`,
		},
		"the guard is undone as well": {undos: []undo{{Patch: "0100-a", Guard: "0200", Edits: some}, {Patch: "0200-b", Edits: some}}},
		"the guard can't be undone": {
			undos: []undo{{Patch: "0100-a", Guard: "0300", Edits: some}, {Patch: "0200-b", Edits: some}},
			want:  `patch "0100-a" has guard "0300", which is not the number of another patch with edits`,
		},
		"nothing is undone and nobody says why": {
			undos: []undo{{Patch: "0100-a", Edits: some}, {Patch: "0200-b"}}, want: `patch "0200-b" has neither edits nor a reason why it has none`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := match(series, tc.undos)
			if msg := errorText(err); msg != tc.want {
				t.Errorf("match() error = %q, want %q", msg, tc.want)
			}
		})
	}
}

func TestOverlay(t *testing.T) {
	change := func(find, put string) []undo {
		return []undo{{Patch: "0100-a", Edits: []edit{{File: "pkg/a/a.go", Find: find, Put: put}}}}
	}
	cases := map[string]struct {
		undos   []undo
		want    string
		wantErr string
	}{
		"a switch is put in": {
			undos: change("return 1", `if undone("0100") { return 2 }; return 1`),
			want:  "package a\n\nfunc count() int { if undone(\"0100\") { return 2 }; return 1 }\n",
		},
		"the text has changed": {
			undos:   change("return 3", `if undone("0100") { return 2 }; return 3`),
			wantErr: `pkg/a/a.go has the text "return 3" 0 times, want once`,
		},
		"the switch is missing": {undos: change("return 1", "return 2"), wantErr: `doesn't ask undone("0100")`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tree, work := t.TempDir(), t.TempDir()
			if err := os.MkdirAll(filepath.Join(tree, "pkg/a"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(tree, "pkg/a/a.go"), []byte("package a\n\nfunc count() int { return 1 }\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := overlay(tree, work, tc.undos)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("overlay() error = %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(work, "pkg/a/a.go"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("file (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestMissed(t *testing.T) {
	undone := undo{Patch: "0100-a", Edits: []edit{{}}}
	unseen := undo{Patch: "0200-b", Edits: []edit{{}}, Unseen: "no webhooks"}
	cases := map[string]struct {
		results []result
		want    string
	}{
		"the model and a test notice": {results: []result{{undo: undone, failure: &failure{seed: 7}}, {undo: unseen, failed: []string{"TestB"}}}},
		"nothing notices":             {results: []result{{undo: unseen}}, want: "nothing notices that these patches are undone: 0200-b"},
		"the model should have": {
			results: []result{{undo: undone, failed: []string{"TestA"}, tried: 9}},
			want:    "the model test doesn't find 0100-a in 9 sequences, and undo.yaml doesn't say why",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if msg := errorText(missed(tc.results)); msg != tc.want {
				t.Errorf("missed() error = %q, want %q", msg, tc.want)
			}
		})
	}
}

func TestModelFindsSeed(t *testing.T) {
	cases := map[string]struct {
		guard string
		// fails has the seeds that fail, by what is undone.
		fails map[string]string
		want  *failure
	}{
		"the first failure counts": {
			fails: map[string]string{"0100": "4 6"},
			want:  &failure{seed: 4, rule: "QueueQuota", steps: "9", shrunk: "2"},
		},
		"nothing fails": {},
		"failures beyond the last sequence aren't seen": {fails: map[string]string{"0100": "21"}},
		"a guarded seed fails when both are undone, and not when one is": {
			guard: "0200", fails: map[string]string{"0100,0200": "3 5 9", "0200": "3", "0100": "5"},
			want: &failure{seed: 9, rule: "QueueQuota", steps: "9", shrunk: "2"},
		},
		"a guard that is missed by itself proves nothing": {
			guard: "0200", fails: map[string]string{"0100,0200": "3 5", "0200": "3 5"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			j := judge{root: root, work: root, sequences: 20, seed: 1}
			var seeds strings.Builder
			for undone, failing := range tc.fails {
				fmt.Fprintf(&seeds, "%s) failing=%q;;\n", undone, failing)
			}
			// It looks at the arguments of -sequences and -seed.
			script := "#!/bin/sh\nfailing=\ncase \"$" + switchVariable + "\" in\n" + seeds.String() + `esac
for seed in $failing; do
	if [ "$seed" -ge "$8" ] && [ "$seed" -lt "$(($8 + $6))" ]; then
		echo "FAILED seed=$seed rule=QueueQuota steps=9 shrunk=2"
		exit 1
	fi
done
`
			for _, folder := range []string{"bin", "test/model"} {
				if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(j.binary("test/model"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			r := result{undo: undo{Patch: "0100-a", Guard: tc.guard}}
			if err := j.model(t.Context(), &r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.failure, cmp.AllowUnexported(failure{})); diff != "" {
				t.Errorf("failure (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestWriteTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("before\n"+tableBegin+"\nold\n"+tableEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := render([]result{
		{undo: undo{Patch: "0100-a", What: "counts twice"}, failure: &failure{seed: 7, rule: "DomainCapacity"}, failed: []string{"TestA"}},
		{undo: undo{Patch: "0200-b", Unseen: "no webhooks"}},
		{undo: undo{Patch: "0300-c", Guard: "0400"}, failure: &failure{seed: 9, rule: "QueueQuota"}},
	})
	if err := writeTable(file, table); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + tableBegin + `
| Patch | Undone | Seed | Rule | Tests that fail |
|---|---|---:|---|---|
| [0100](../patches/0100-a.patch) | counts twice | 7 | DomainCapacity | TestA |
| [0200](../patches/0200-b.patch) | – | – | no webhooks | – |
| [0300](../patches/0300-c.patch) | – | 9 | QueueQuota with 0400 undone too; this sequence needs only one of them | – |
` + tableEnd + "\nafter\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("page (-want,+got):\n%s", diff)
	}
	if err := writeTable(filepath.Join(t.TempDir(), "missing.md"), table); err == nil {
		t.Error("a page that doesn't exist is written without an error")
	}
}
