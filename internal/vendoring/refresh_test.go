// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/patchseries"
	"fleet.ai/kueue-fleet/internal/vendoring"
	"fleet.ai/kueue-fleet/internal/vendoring/toy"
)

func patchNames(t *testing.T, w *toy.World) []string {
	t.Helper()
	files, err := patchseries.ReadDir(filepath.Join(w.Root, "patches"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name)
	}
	return names
}

func TestRefreshWritesThePatch(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	want := "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n" +
		"From: A Person <a@example.org>\nSubject: " +
		strings.TrimSuffix(toy.Message("Spell out ten", "fix", ""), "\n") + `

diff --git a/widget.txt b/widget.txt
index ID..ID 100644
--- a/widget.txt
+++ b/widget.txt
@@ -7,7 +7,7 @@ widget 6
 widget 7
 widget 8
 widget 9
-widget 10
+widget ten
 widget 11
 widget 12
 widget 13
`
	got := w.Read(t, "patches/0300-widget-spell-ten.patch")
	for _, rev := range []string{vendoring.UpstreamTag, "HEAD~1"} {
		got = strings.Replace(got, w.Git(t, "rev-parse", rev+":widget.txt"), "ID", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("patch (-want,+got):\n%s", diff)
	}
	if page := w.Read(t, "docs/patches.md"); !strings.Contains(page, "| [0500](../patches/0500-widget-add-half.patch) | Go by halves | seam |") {
		t.Errorf("the ledger lacks the patch:\n%s", page)
	}
	if said := vendor(t, w, vendoring.VendorOptions{}); !strings.Contains(said, "is current") {
		t.Errorf("the tree is not current after the export: %q", said)
	}
}

func TestRefreshFollowsTheCommits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change    func(t *testing.T, w *toy.World)
		opts      vendoring.RefreshOptions
		wantNames []string
		wantSaid  string
	}{
		"nothing changed": {
			change:    func(*testing.T, *toy.World) {},
			wantNames: []string{"0300-widget-spell-ten.patch", "0500-widget-add-half.patch"},
			wantSaid:  "patches holds 2 patches\n",
		},
		"an amended commit keeps its file": {
			change: func(t *testing.T, w *toy.World) {
				w.Edit(t, "gadget.txt", "gadget five\n", "gadget 5.0\n")
				w.Git(t, "commit", "--quiet", "--all", "--amend", "--no-edit")
			},
			wantNames: []string{"0300-widget-spell-ten.patch", "0500-widget-add-half.patch"},
			wantSaid:  "wrote patches/0500-widget-add-half.patch\npatches holds 2 patches\n",
		},
		"a trailer renames the file": {
			change: func(t *testing.T, w *toy.World) {
				w.Git(t, "commit", "--quiet", "--amend", "-m", toy.Message("Go by halves", "seam", "0510-widget-add-halves"))
			},
			wantNames: []string{"0300-widget-spell-ten.patch", "0510-widget-add-halves.patch"},
			wantSaid:  "wrote patches/0510-widget-add-halves.patch\nremoved patches/0500-widget-add-half.patch, its commit is gone\nwrote docs/patches.md\npatches holds 2 patches\n",
		},
		"a dropped commit takes its file along": {
			change: func(t *testing.T, w *toy.World) {
				w.Git(t, "reset", "--quiet", "--hard", "HEAD^")
			},
			wantNames: []string{"0300-widget-spell-ten.patch"},
			wantSaid:  "removed patches/0500-widget-add-half.patch, its commit is gone\nwrote docs/patches.md\npatches holds 1 patch\n",
		},
		"an option names the new commit": {
			change: func(t *testing.T, w *toy.World) {
				w.Edit(t, "gadget.txt", "gadget 50\n", "gadget fifty\n")
				w.Commit(t, toy.Message("Spell out fifty", "feature", ""))
			},
			opts:      vendoring.RefreshOptions{Name: "0700-gadget-spell-fifty"},
			wantNames: []string{"0300-widget-spell-ten.patch", "0500-widget-add-half.patch", "0700-gadget-spell-fifty.patch"},
			wantSaid:  "wrote patches/0700-gadget-spell-fifty.patch\nwrote docs/patches.md\npatches holds 3 patches\n",
		},
		"force overwrites newer patch files": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "patches/0500-widget-add-half.patch", "spoiled")
				w.Git(t, "commit", "--quiet", "--amend", "-m", toy.Message("Go by halves", "seam", "0500-widget-add-half"))
			},
			opts:      vendoring.RefreshOptions{Force: true},
			wantNames: []string{"0300-widget-spell-ten.patch", "0500-widget-add-half.patch"},
			wantSaid:  "wrote patches/0500-widget-add-half.patch\npatches holds 2 patches\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withSeries(t, nil)
			tc.change(t, w)
			w.Out.Reset()
			if err := w.Config().Refresh(t.Context(), tc.opts); err != nil {
				t.Fatalf("Refresh: %v", err)
			}
			if diff := cmp.Diff(tc.wantNames, patchNames(t, w)); diff != "" {
				t.Errorf("files (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantSaid, w.Out.String()); diff != "" {
				t.Errorf("output (-want,+got):\n%s", diff)
			}
			wantRoundTrip(t, w)
		})
	}
}

// wantRoundTrip makes the tree again from the files and compares commit ids.
func wantRoundTrip(t *testing.T, w *toy.World) {
	t.Helper()
	head := w.Git(t, "rev-parse", "HEAD")
	if said := vendor(t, w, vendoring.VendorOptions{}); !strings.Contains(said, "is current") {
		t.Errorf("the tree is not current: %q", said)
	}
	if err := os.RemoveAll(w.Tree()); err != nil {
		t.Fatal(err)
	}
	vendor(t, w, vendoring.VendorOptions{})
	if got := w.Git(t, "rev-parse", "HEAD"); got != head {
		t.Errorf("the files make another head: want %s, got %s", head, got)
	}
	findings, err := w.Config().Lint(t.Context())
	if err != nil || len(findings) > 0 {
		t.Errorf("lint: %v %v", findings, err)
	}
}

func TestRefreshRendersAnew(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	w.Edit(t, "config/crd/a.yaml", "name: a", "name: b")
	w.Commit(t, toy.Message("Rename the map", "feature", "0700-crd-rename-map"))
	refresh(t, w)
	if got := w.Read(t, "third_party/toy/config/crd/_output/all.yaml"); !strings.Contains(got, "name: b") {
		t.Errorf("the rendered file is stale:\n%s", got)
	}
}

func TestRefreshRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, w *toy.World)
		opts   vendoring.RefreshOptions
		want   []string
	}{
		"a tree that is not there": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.RemoveAll(w.Tree()); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"run fleet-patch vendor first"},
		},
		"edits that are not committed": {
			change: func(t *testing.T, w *toy.World) {
				w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n")
				w.Edit(t, "widget.txt", "widget 9\n", "widget nine\n")
			},
			want: []string{"edits that are not committed: gadget.txt, widget.txt", "commit them there or restore them"},
		},
		"a rebase that is not finished": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.Mkdir(w.Tree(".git/rebase-merge"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"in the middle of a git rebase", "finish or abort it"},
		},
		"a commit without a name": {
			change: func(t *testing.T, w *toy.World) {
				w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n")
				w.Commit(t, toy.Message("Spell out nine", "feature", ""))
			},
			want: []string{"\"Spell out nine\" has no file name", "Fleet-Patch: NNNN-area-verb-object", "--name"},
		},
		"a commit that changes nothing": {
			change: func(t *testing.T, w *toy.World) {
				w.Git(t, "commit", "--quiet", "--allow-empty", "-m", toy.Message("Do nothing", "feature", "0700-a-b-c"))
			},
			want: []string{"it changes nothing"},
		},
		"a merge": {
			change: func(t *testing.T, w *toy.World) {
				w.Git(t, "checkout", "--quiet", "-b", "side", "HEAD^")
				w.Edit(t, "gadget.txt", "gadget 55\n", "gadget fifty-five\n")
				w.Commit(t, toy.Message("Spell out", "feature", "0700-a-b-c"))
				w.Git(t, "merge", "--quiet", "--no-edit", "fleet")
			},
			want: []string{"is a merge", "rebase it away"},
		},
		"commits that do not stand on upstream": {
			change: func(t *testing.T, w *toy.World) {
				w.Git(t, "checkout", "--quiet", "--orphan", "side")
				w.Commit(t, "Start over")
			},
			want: []string{"not an ancestor of HEAD", "rebase your work onto upstream-head"},
		},
		"patch files that are newer than the tree": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "patches/0500-widget-add-half.patch", w.Read(t, "patches/0500-widget-add-half.patch")+"\n")
				w.Write(t, "patches/0510-widget-add-more.patch", "new")
			},
			want: []string{"changed since third_party/toy was made: 0500-widget-add-half.patch, 0510-widget-add-more.patch", "refresh --force"},
		},
		"a tree of another base": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "go.mod", strings.Replace(w.Read(t, "go.mod"), "v1.0.0", "v1.1.0", 1))
			},
			want: []string{"made from v1.0.0 but go.mod asks for v1.1.0", "run fleet-patch vendor first"},
		},
		"a name that no commit needs": {
			change: func(*testing.T, *toy.World) {},
			opts:   vendoring.RefreshOptions{Name: "0700-a-b-c"},
			want:   []string{"no commit needs the name \"0700-a-b-c\""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withSeries(t, map[string]map[string]string{"v1.1.0": nil})
			tc.change(t, w)
			before := map[string]string{}
			for _, name := range patchNames(t, w) {
				before[name] = w.Read(t, "patches/"+name)
			}
			wantErr(t, w.Config().Refresh(t.Context(), tc.opts), tc.want...)
			after := map[string]string{}
			for _, name := range patchNames(t, w) {
				after[name] = w.Read(t, "patches/"+name)
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("a refused export changed files (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestRefreshCountsAMoveAsAMove(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	body := w.Read(t, "third_party/toy/gadget.txt")
	if err := os.WriteFile(w.Tree("moved.txt"), []byte(strings.Replace(body, "gadget 20\n", "gadget twenty\n", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.Tree("gadget.txt"), []byte("see moved.txt\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.Commit(t, toy.Message("Move the gadgets", "feature", "0700-gadget-move-all"))
	refresh(t, w)
	files, err := patchseries.ReadDir(filepath.Join(w.Root, "patches"))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := patchseries.Parse(files[2])
	if err != nil {
		t.Fatal(err)
	}
	// Two for the line that differs in the copy, its removal from the source, and the line left there.
	if diff := cmp.Diff(patchseries.Size{Lines: 4}, patchseries.Measure(patch.Diffs)); diff != "" {
		t.Errorf("size (-want,+got):\n%s\n%s", diff, patch.Raw)
	}
	wantRoundTrip(t, w)
}
