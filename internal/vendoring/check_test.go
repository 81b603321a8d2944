// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/vendoring"
	"fleet.ai/kueue-fleet/internal/vendoring/toy"
)

func TestLintOfATree(t *testing.T) {
	t.Parallel()
	const half = "0500-widget-add-half.patch"
	edit := func(old, replacement string) func(t *testing.T, w *toy.World) {
		return func(t *testing.T, w *toy.World) {
			body := w.Read(t, "patches/"+half)
			if !strings.Contains(body, old) {
				t.Fatalf("the patch lacks %q", old)
			}
			w.Write(t, "patches/"+half, strings.Replace(body, old, replacement, 1))
		}
	}
	cases := map[string]struct {
		change func(t *testing.T, w *toy.World)
		want   []string
	}{
		"a series in order": {change: func(*testing.T, *toy.World) {}},
		"a tree that is not there": {change: func(t *testing.T, w *toy.World) {
			if err := os.RemoveAll(w.Tree()); err != nil {
				t.Fatal(err)
			}
		}},
		"an offset": {
			change: edit("@@ -28,6 +28,7 @@", "@@ -25,6 +25,7 @@"),
			want:   []string{"error: " + half + ": apply: widget.txt hunk 1: offset +3 lines: run fleet-patch vendor, then fleet-patch refresh"},
		},
		"a conflict": {
			change: edit(" widget 31\n", " widget thirty-one\n"),
			want:   []string{"error: " + half + ": apply: widget.txt hunk 1: the lines around line 28 are not what the patch expects: rework the patch on a tree from fleet-patch vendor --pristine"},
		},
		"a mail with a date": {
			change: edit("Subject: ", "Date: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: "),
			want:   []string{"error: " + half + ": round trip: line 3 is not what an export of the applied patch writes: run fleet-patch vendor, then fleet-patch refresh"},
		},
		"a mail without a subject": {
			change: edit("Subject: Go by halves\n", "X-Other: y\n"),
			want: []string{
				"error: " + half + ": header: no subject: add the subject that the upstream pull request would have",
				"error: " + half + ": format: failed to read " + half + " as a mail: it needs a From and a Subject line",
				"error: docs/patches.md: is not what the patches say: run fleet-patch vendor, then fleet-patch refresh",
			},
		},
		"a ledger that is out of date": {
			change: edit("Drop-When: upstream has it", "Drop-When: v1.1.0 is out"),
			want:   []string{"error: docs/patches.md: is not what the patches say: run fleet-patch vendor, then fleet-patch refresh"},
		},
		"an edit that was not exported": {
			change: func(t *testing.T, w *toy.World) { w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n") },
			want:   []string{"warning: third_party/toy: holds work that patches/ does not: edits of gadget.txt; export it with fleet-patch refresh"},
		},
		"a copy that is no move": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.WriteFile(w.Tree("second.txt"), []byte(w.Read(t, "third_party/toy/gadget.txt")), 0o644); err != nil {
					t.Fatal(err)
				}
				w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n")
				w.Commit(t, toy.Message("Double the gadgets", "feature", "0700-gadget-copy-all"))
				refresh(t, w)
			},
			want: []string{"error: 0700-gadget-copy-all.patch: budget: second.txt copies gadget.txt, which keeps 60 of 60 lines: move code or import it, a copy must be maintained twice"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withSeries(t, nil)
			tc.change(t, w)
			findings, err := w.Config().Lint(t.Context())
			if err != nil {
				t.Fatalf("Lint: %v", err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want,+got):\n%s", diff)
			}
		})
	}
}

// tryVersions are successors of the base: moved.txt moves lines, taken has the
// first patch, broken changes what the first patch touches.
func tryVersions() map[string]map[string]string {
	widget, gadget := toy.Files()["widget.txt"], toy.Files()["gadget.txt"]
	return map[string]map[string]string{
		"v1.1.0": {"widget.txt": "new\nlines\n" + widget},
		"v1.2.0": {"widget.txt": strings.Replace(widget, "widget 10\n", "widget ten\n", 1)},
		"v1.3.0": {"widget.txt": strings.Replace(widget, "widget 11\n", "widget eleven\n", 1)},
		"v1.4.0": {
			"widget.txt": strings.Replace(widget, "widget 30\n", "widget 30\nwidget 30 and a half\n", 1),
			"gadget.txt": strings.Replace(gadget, "gadget 6\n", "gadget six\n", 1),
		},
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	const ten, half = "0300-widget-spell-ten.patch", "0500-widget-add-half.patch"
	cases := map[string]struct {
		target string
		want   []patchgit.Outcome
	}{
		"the base": {
			target: "v1.0.0",
			want:   []patchgit.Outcome{{Patch: ten, Kind: patchgit.Clean}, {Patch: half, Kind: patchgit.Clean}},
		},
		"lines above moved": {
			target: "v1.1.0",
			want: []patchgit.Outcome{
				{Patch: ten, Kind: patchgit.Offset, Places: []patchgit.Place{{File: "widget.txt", Hunk: 1, Lines: 2}}},
				{Patch: half, Kind: patchgit.Offset, Places: []patchgit.Place{{File: "widget.txt", Hunk: 1, Lines: 2}}},
			},
		},
		"upstream took one": {
			target: "v1.2.0",
			want:   []patchgit.Outcome{{Patch: ten, Kind: patchgit.AlreadyUpstream}, {Patch: half, Kind: patchgit.Clean}},
		},
		"a conflict does not stop the rest": {
			target: "v1.3.0",
			want: []patchgit.Outcome{
				{Patch: ten, Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "widget.txt", Hunk: 1, Reason: "the lines around line 7 are not what the patch expects"}}},
				{Patch: half, Kind: patchgit.Clean},
			},
		},
		"upstream took half of one and broke the rest": {
			target: "v1.4.0",
			want: []patchgit.Outcome{
				{Patch: ten, Kind: patchgit.Clean},
				{Patch: half, Kind: patchgit.Conflict, Places: []patchgit.Place{
					{File: "gadget.txt", Hunk: 1, Reason: "the lines around line 2 are not what the patch expects"},
					{File: "widget.txt", Hunk: 1, Reason: "the lines around line 28 are not what the patch expects"},
				}},
			},
		},
	}
	w := withSeries(t, tryVersions())
	head := w.Git(t, "rev-parse", "HEAD")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			on, got, err := w.Config().Try(t.Context(), tc.target)
			if err != nil {
				t.Fatalf("Try: %v", err)
			}
			if want := "example.org/toy " + tc.target; on != want {
				t.Errorf("want %q, got %q", want, on)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("outcomes (-want,+got):\n%s", diff)
			}
		})
	}
	if got := w.Git(t, "rev-parse", "HEAD"); got != head || w.Git(t, "status", "--porcelain") != "" {
		t.Errorf("the tries touched the tree")
	}
}

func TestTryOnACheckout(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	dir := t.TempDir()
	files := toy.Files()
	delete(files, "gadget.txt")
	// Build output of the checkout, ignored there.
	files["x.out"] = "x"
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, got, err := w.Config().Try(t.Context(), dir)
	if err != nil {
		t.Fatalf("Try: %v", err)
	}
	want := []patchgit.Outcome{
		{Patch: "0300-widget-spell-ten.patch", Kind: patchgit.Clean},
		{Patch: "0500-widget-add-half.patch", Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "gadget.txt", Reason: "does not exist in index"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want,+got):\n%s", diff)
	}
}

func TestTryThatCannotRun(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "go.mod"), []byte("module example.org/other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		"v9.9.9":                          "failed to download example.org/toy v9.9.9",
		filepath.Join(other, "no", "dir"): "neither a version such as v0.20.0 nor a folder",
		other:                             "does not hold the module example.org/toy",
		t.TempDir():                       "failed to read go.mod",
	} {
		_, _, err := w.Config().Try(t.Context(), target)
		if err == nil || !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(err.Error()) {
			t.Errorf("%s: want %q, got %v", target, want, err)
		}
	}
}

func TestStateOfATree(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	state, err := w.Config().Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.Unexported() != "" {
		t.Errorf("a fresh tree holds work: %q", state.Unexported())
	}
	if got := (vendoring.State{}).Unexported(); got != "" {
		t.Errorf("no tree holds work: %q", got)
	}
}
