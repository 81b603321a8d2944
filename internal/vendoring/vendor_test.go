// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/vendoring"
	"fleet.ai/kueue-fleet/internal/vendoring/toy"
)

func vendor(t *testing.T, w *toy.World, opts vendoring.VendorOptions) string {
	t.Helper()
	w.Out.Reset()
	if err := w.Config().Vendor(t.Context(), opts); err != nil {
		t.Fatalf("Vendor: %v", err)
	}
	return w.Out.String()
}

func refresh(t *testing.T, w *toy.World) {
	t.Helper()
	w.Out.Reset()
	if err := w.Config().Refresh(t.Context(), vendoring.RefreshOptions{}); err != nil {
		t.Fatalf("Refresh: %v", err)
	}
}

// withSeries returns a world with a current tree and two patches.
func withSeries(t *testing.T, versions map[string]map[string]string) *toy.World {
	t.Helper()
	w := toy.New(t, versions)
	vendor(t, w, vendoring.VendorOptions{})
	w.Edit(t, "widget.txt", "widget 10\n", "widget ten\n")
	w.Commit(t, toy.Message("Spell out ten", "fix", "0300-widget-spell-ten"))
	w.Edit(t, "widget.txt", "widget 30\n", "widget 30\nwidget 30 and a half\n")
	w.Edit(t, "gadget.txt", "gadget 5\n", "gadget five\n")
	w.Commit(t, toy.Message("Go by halves", "seam", "0500-widget-add-half"))
	refresh(t, w)
	return w
}

func wantErr(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("want an error with %q, got none", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q:\n%v", part, err)
		}
	}
}

// beside lists what lies next to the tree, the tree included.
func beside(t *testing.T, w *toy.World) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(w.Tree()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestVendorMakesTheTree(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	if err := os.RemoveAll(w.Tree()); err != nil {
		t.Fatal(err)
	}
	said := vendor(t, w, vendoring.VendorOptions{})
	if want := "third_party/toy is made: example.org/toy v1.0.0 with 2 patches (there is no tree yet)\n"; said != want {
		t.Errorf("want %q, got %q", want, said)
	}
	if diff := cmp.Diff("Go by halves\nSpell out ten\nexample.org/toy v1.0.0", w.Git(t, "log", "--format=%s")); diff != "" {
		t.Errorf("commits (-want,+got):\n%s", diff)
	}
	if got := w.Git(t, "log", "-1", "--format=%s", vendoring.UpstreamTag); got != "example.org/toy v1.0.0" {
		t.Errorf("the tag is on %q", got)
	}
	if got := w.Git(t, "status", "--porcelain", "--untracked-files=all"); got != "" {
		t.Errorf("the tree is not clean:\n%s", got)
	}
	for name, want := range map[string]string{
		"config/crd/_output/all.yaml": toy.Files()["config/crd/a.yaml"],
		"dep-crds/dep/widget.yaml":    "kind: Widget\n",
		"kept.out":                    toy.Files()["kept.out"],
		"crlf.txt":                    toy.Files()["crlf.txt"],
	} {
		if got := w.Read(t, "third_party/toy/"+name); got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
	if got := w.Git(t, "ls-files", "kept.out"); got != "kept.out" {
		t.Errorf("an ignored file of the module is not in the first commit")
	}
	if _, err := os.Stat(w.Tree("dep-crds/dep/old.yaml")); !os.IsNotExist(err) {
		t.Errorf("a file of Except was copied: %v", err)
	}
	if diff := cmp.Diff([]string{".toy.lock", "toy"}, beside(t, w)); diff != "" {
		t.Errorf("files beside the tree (-want,+got):\n%s", diff)
	}
}

func TestVendorIsReproducible(t *testing.T) {
	w := withSeries(t, nil)
	head := w.Git(t, "rev-parse", "HEAD")
	// A user's configuration must not matter.
	home := t.TempDir()
	hostile := "[user]\n\tname = Other\n\temail = other@example.org\n[commit]\n\tgpgSign = true\n[core]\n\tautocrlf = true\n\thooksPath = " + home +
		"\n[diff]\n\tnoprefix = true\n\tcontext = 9\n[format]\n\tsignOff = true\n\tattach = x\n[apply]\n\twhitespace = fix\n[init]\n\tdefaultBranch = other\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(hostile), 0o644); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(home, "post-commit")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_AUTHOR_NAME", "Other")
	t.Setenv("GIT_INDEX_FILE", filepath.Join(home, "index"))
	t.Setenv("GIT_DIR", home)
	if err := os.RemoveAll(w.Tree()); err != nil {
		t.Fatal(err)
	}
	vendor(t, w, vendoring.VendorOptions{})
	before := w.Read(t, "patches/0500-widget-add-half.patch")
	refresh(t, w)
	if diff := cmp.Diff(before, w.Read(t, "patches/0500-widget-add-half.patch")); diff != "" {
		t.Errorf("the export depends on the configuration (-want,+got):\n%s", diff)
	}
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE"} {
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.Git(t, "rev-parse", "HEAD"); got != head {
		t.Errorf("commit ids differ: want %s, got %s", head, got)
	}
}

func TestVendorLeavesACurrentTreeAlone(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	before, err := os.Stat(w.Tree())
	if err != nil {
		t.Fatal(err)
	}
	// A file of the harness is no edit.
	if err = os.WriteFile(w.Tree("zz_fleet_registration_test.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	said := vendor(t, w, vendoring.VendorOptions{})
	if want := "third_party/toy is current: example.org/toy v1.0.0 with 2 patches\n"; said != want {
		t.Errorf("want %q, got %q", want, said)
	}
	after, err := os.Stat(w.Tree())
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Errorf("the tree was made anew")
	}
}

func TestVendorMakesTheTreeAnew(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change     func(t *testing.T, w *toy.World)
		wantReason string
	}{
		"after an edit of a patch": {
			change: func(t *testing.T, w *toy.World) {
				name := "patches/0500-widget-add-half.patch"
				w.Write(t, name, strings.Replace(w.Read(t, name), "+gadget five", "+gadget 5.0", 1))
			},
			wantReason: "patches changed: 0500-widget-add-half.patch",
		},
		"after the removal of a patch": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.Remove(filepath.Join(w.Root, "patches/0300-widget-spell-ten.patch")); err != nil {
					t.Fatal(err)
				}
			},
			wantReason: "patches changed: 0300-widget-spell-ten.patch",
		},
		"after the loss of a rendered file": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.RemoveAll(w.Tree("dep-crds")); err != nil {
					t.Fatal(err)
				}
			},
			wantReason: "dep-crds/dep is missing",
		},
		"after the loss of the stamp": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.Remove(w.Tree(".git/fleet-patch.json")); err != nil {
					t.Fatal(err)
				}
				w.Git(t, "reset", "--quiet", "--hard", vendoring.UpstreamTag)
			},
			wantReason: "the tree has no stamp",
		},
		"after a new base": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "go.mod", strings.Replace(w.Read(t, "go.mod"), "v1.0.0", "v1.1.0", 1))
			},
			wantReason: "the base is example.org/toy v1.1.0 now",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withSeries(t, map[string]map[string]string{"v1.1.0": {"new.txt": "new\n"}})
			tc.change(t, w)
			said := vendor(t, w, vendoring.VendorOptions{})
			if !strings.Contains(said, "is made") || !strings.Contains(said, "("+tc.wantReason+")") {
				t.Errorf("want a new tree because %q, got %q", tc.wantReason, said)
			}
			if said = vendor(t, w, vendoring.VendorOptions{}); !strings.Contains(said, "is current") {
				t.Errorf("want a current tree afterwards, got %q", said)
			}
		})
	}
}

func TestVendorRefusesToLoseWork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change  func(t *testing.T, w *toy.World)
		wantErr string
	}{
		"an edit that was not committed": {
			change:  func(t *testing.T, w *toy.World) { w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n") },
			wantErr: "edits of gadget.txt",
		},
		"a new file": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.WriteFile(w.Tree("new.txt"), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			},
			wantErr: "edits of new.txt",
		},
		"a commit that was not exported": {
			change: func(t *testing.T, w *toy.World) {
				w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n")
				w.Commit(t, "Spell out nine")
			},
			wantErr: "commits that were not exported",
		},
		"a commit that is gone": {
			change:  func(t *testing.T, w *toy.World) { w.Git(t, "reset", "--quiet", "--hard", "HEAD^") },
			wantErr: "commits that were not exported",
		},
		"a folder that is no repository": {
			change: func(t *testing.T, w *toy.World) {
				if err := os.RemoveAll(w.Tree(".git")); err != nil {
					t.Fatal(err)
				}
			},
			wantErr: "it is no git repository",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withSeries(t, nil)
			made := w.Git(t, "rev-parse", "HEAD")
			tc.change(t, w)
			err := w.Config().Vendor(t.Context(), vendoring.VendorOptions{})
			wantErr(t, err, tc.wantErr, "fleet-patch refresh", "fleet-patch vendor --force")
			if !errors.Is(err, vendoring.ErrUnexported) {
				t.Errorf("want ErrUnexported, got %v", err)
			}
			vendor(t, w, vendoring.VendorOptions{Force: true})
			if got := w.Git(t, "rev-parse", "HEAD"); got != made {
				t.Errorf("--force did not restore the tree: want %s, got %s", made, got)
			}
			if got := w.Git(t, "status", "--porcelain"); got != "" {
				t.Errorf("--force left edits:\n%s", got)
			}
		})
	}
}

func TestVendorAllowsEditsOnRequest(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	w.Edit(t, "gadget.txt", "gadget 9\n", "gadget nine\n")
	said := vendor(t, w, vendoring.VendorOptions{AllowEdits: true})
	if !strings.Contains(said, "is current") || !strings.Contains(said, "edits of gadget.txt") {
		t.Errorf("the edit is not named: %q", said)
	}
	w.Write(t, "patches/0500-widget-add-half.patch", w.Read(t, "patches/0500-widget-add-half.patch")+"\n")
	wantErr(t, w.Config().Vendor(t.Context(), vendoring.VendorOptions{AllowEdits: true}), "edits of gadget.txt")
}

func TestVendorNamesTheHunkThatFails(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	made := w.Git(t, "rev-parse", "HEAD")
	name := "patches/0500-widget-add-half.patch"
	w.Write(t, name, strings.Replace(w.Read(t, name), " widget 31\n", " widget thirty-one\n", 1))
	err := w.Config().Vendor(t.Context(), vendoring.VendorOptions{})
	wantErr(t, err, "patch 0500-widget-add-half.patch does not apply", "widget.txt hunk 1", "fleet-patch vendor --pristine", "fleet-patch refresh")
	var conflict *patchgit.ConflictError
	if !errors.As(err, &conflict) {
		t.Errorf("want a ConflictError, got %T", err)
	}
	if got := w.Git(t, "rev-parse", "HEAD"); got != made || w.Git(t, "status", "--porcelain") != "" {
		t.Errorf("the failure touched the tree")
	}
	if diff := cmp.Diff([]string{".toy.lock", "toy"}, beside(t, w)); diff != "" {
		t.Errorf("files beside the tree (-want,+got):\n%s", diff)
	}

	// The way out that the message names.
	vendor(t, w, vendoring.VendorOptions{Pristine: true})
	if got := w.Git(t, "rev-parse", "HEAD"); got != w.Git(t, "rev-parse", vendoring.UpstreamTag) {
		t.Errorf("the pristine tree holds patches")
	}
	w.Git(t, "am", "--quiet", filepath.Join(w.Root, "patches/0300-widget-spell-ten.patch"))
	w.Edit(t, "widget.txt", "widget 30\n", "widget 30\nwidget 30 and a half\n")
	w.Commit(t, toy.Message("Go by halves", "seam", ""))
	refresh(t, w)
	if said := vendor(t, w, vendoring.VendorOptions{}); !strings.Contains(said, "is current") {
		t.Errorf("the reworked tree is not current: %q", said)
	}
}

func TestVendorRefusesWhatGoSumDoesNotVouchFor(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, w *toy.World)
		want   []string
	}{
		"a file edited in the module cache": {
			change: func(t *testing.T, w *toy.World) { tamper(t, w.Cached(toy.Upstream, toy.Base, "widget.txt")) },
			want:   []string{"example.org/toy v1.0.0 in the module cache hash to", "someone changed them", w0("toy@v1.0.0")},
		},
		"a file edited in a dependency": {
			change: func(t *testing.T, w *toy.World) { tamper(t, w.Cached(toy.Dependency, "v1.2.0", "crds/widget.yaml")) },
			want:   []string{"example.org/dep v1.2.0 in the module cache hash to", "someone changed them"},
		},
		"another hash in go.sum": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "go.sum", "example.org/toy v1.0.0 h1:"+strings.Repeat("A", 43)+"=\n")
			},
			want: []string{"example.org/toy", "checksum mismatch"},
		},
		"no hash in go.sum": {
			change: func(t *testing.T, w *toy.World) { w.Write(t, "go.sum", "") },
			want:   []string{"go.sum has no hash of example.org/toy@v1.0.0"},
		},
		"a replace directive": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "go.mod", w.Read(t, "go.mod")+"\nreplace example.org/toy => ../toy\n")
			},
			want: []string{"replaces example.org/toy"},
		},
		"no requirement": {
			change: func(t *testing.T, w *toy.World) { w.Write(t, "go.mod", "module example.org/repo\n") },
			want:   []string{"does not require example.org/toy"},
		},
		"a version that does not exist": {
			change: func(t *testing.T, w *toy.World) {
				w.Write(t, "go.mod", strings.Replace(w.Read(t, "go.mod"), "v1.0.0", "v1.9.0", 1))
				w.Write(t, "go.sum", "example.org/toy v1.9.0 h1:"+strings.Repeat("A", 43)+"=\n")
			},
			want: []string{"failed to download example.org/toy v1.9.0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := withSeries(t, nil)
			tc.change(t, w)
			if err := os.RemoveAll(w.Tree()); err != nil {
				t.Fatal(err)
			}
			wantErr(t, w.Config().Vendor(t.Context(), vendoring.VendorOptions{}), tc.want...)
			if diff := cmp.Diff([]string{".toy.lock"}, beside(t, w)); diff != "" {
				t.Errorf("files left behind (-want,+got):\n%s", diff)
			}
		})
	}
}

// w0 is the end of a path in the module cache.
func w0(s string) string { return filepath.Join("example.org", s) }

func tamper(t *testing.T, path string) {
	t.Helper()
	for _, p := range []string{filepath.Dir(path), path} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("tampered\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVendorAtOnce(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	if err := os.RemoveAll(w.Tree()); err != nil {
		t.Fatal(err)
	}
	const runs = 4
	outs := make([]bytes.Buffer, runs)
	errs := make([]error, runs)
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			errs[i] = w.Configure(w.Root, &outs[i]).Vendor(context.Background(), vendoring.VendorOptions{})
		})
	}
	group.Wait()
	said := map[string]int{}
	for i := range runs {
		if errs[i] != nil {
			t.Errorf("run %d: %v", i, errs[i])
		}
		lines := strings.Split(strings.TrimSpace(outs[i].String()), "\n")
		said[strings.Join(strings.Fields(lines[len(lines)-1])[:3], " ")]++
	}
	want := map[string]int{"third_party/toy is made:": 1, "third_party/toy is current:": runs - 1}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("what the runs said (-want,+got):\n%s", diff)
	}
}

func TestPlainGitAmMakesTheSameTree(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	format := "--format=%T %an %ae %B"
	want := w.Git(t, "log", format)
	w.Git(t, "reset", "--quiet", "--hard", vendoring.UpstreamTag)
	patches, err := filepath.Glob(filepath.Join(w.Root, "patches", "*.patch"))
	if err != nil {
		t.Fatal(err)
	}
	w.Git(t, append([]string{"am", "--quiet"}, patches...)...)
	if diff := cmp.Diff(want, w.Git(t, "log", format)); diff != "" {
		t.Errorf("git am makes other commits (-vendor,+am):\n%s", diff)
	}
	if w.Git(t, "status", "--porcelain") != "" {
		t.Errorf("git am left the tree dirty")
	}
}
