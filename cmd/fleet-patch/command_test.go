// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/vendoring/toy"
)

var today = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

// run runs the command on the world's repository.
func run(t *testing.T, w *toy.World, args ...string) (string, error) {
	t.Helper()
	a := &app{now: func() time.Time { return today }, configure: w.Configure}
	var out bytes.Buffer
	cmd := a.command(&out, &out)
	cmd.SetArgs(append([]string{"--root", w.Root}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func mustRun(t *testing.T, w *toy.World, args ...string) string {
	t.Helper()
	out, err := run(t, w, args...)
	if err != nil {
		t.Fatalf("fleet-patch %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func TestTheWholeWay(t *testing.T) {
	w := toy.New(t, map[string]map[string]string{"v1.1.0": {
		"widget.txt": strings.Replace(toy.Files()["widget.txt"], "widget 10\n", "widget ten\n", 1),
	}})
	mustRun(t, w, "vendor")
	w.Edit(t, "widget.txt", "widget 10\n", "widget ten\n")
	w.Commit(t, toy.Message("Spell out ten", "fix", ""))
	if _, err := run(t, w, "vendor"); err == nil {
		t.Errorf("vendor lost a commit without an error")
	}
	mustRun(t, w, "refresh", "--name", "0300-widget-spell-ten")
	if diff := cmp.Diff("third_party/toy is current: example.org/toy v1.0.0 with 1 patch\n", mustRun(t, w, "vendor")); diff != "" {
		t.Errorf("vendor (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff("1 patch checked, no errors\n", mustRun(t, w, "lint")); diff != "" {
		t.Errorf("lint (-want,+got):\n%s", diff)
	}
	wantTry := "1 patch on example.org/toy v1.1.0\nalready upstream  0300-widget-spell-ten.patch\n0 clean, 0 offset, 0 conflict (0 of them stand on another one), 1 already upstream\n"
	if diff := cmp.Diff(wantTry, mustRun(t, w, "try", "v1.1.0")); diff != "" {
		t.Errorf("try (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff(w.Read(t, "docs/patches.md"), mustRun(t, w, "status", "--markdown")); diff != "" {
		t.Errorf("status --markdown (-file,+got):\n%s", diff)
	}

	name := "patches/0300-widget-spell-ten.patch"
	w.Write(t, name, strings.Replace(w.Read(t, name), "Tests: none but this\n", "", 1))
	out, err := run(t, w, "lint")
	if err == nil || !strings.Contains(out, "0300-widget-spell-ten.patch: header: no trailer Tests") {
		t.Errorf("lint let a missing trailer pass: %v\n%s", err, out)
	}
}

func TestStatusTellsAges(t *testing.T) {
	w := toy.New(t, nil)
	mustRun(t, w, "vendor")
	w.Edit(t, "widget.txt", "widget 10\n", "widget ten\n")
	w.Commit(t, toy.Message("Spell out ten", "fix", "0300-widget-spell-ten"))
	mustRun(t, w, "refresh")
	wantAge := func(want string) {
		t.Helper()
		out := mustRun(t, w, "status")
		for line := range strings.SplitSeq(out, "\n") {
			if fields := strings.Fields(line); len(fields) > 2 && (fields[0] == "0300" || fields[0] == "fix") && fields[2] != want {
				t.Errorf("want age %s in %q", want, line)
			}
		}
		if !strings.Contains(out, "\n0300 ") || !strings.Contains(out, "\nfix ") {
			t.Errorf("a row is missing:\n%s", out)
		}
	}
	wantAge("new")
	git := func(date time.Time, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", w.Root, "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date.Format(time.RFC3339), "GIT_COMMITTER_DATE="+date.Format(time.RFC3339))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	first := today.Add(-30 * 24 * time.Hour)
	git(first, "init", "--quiet")
	wantAge("new")
	git(first, "add", "patches")
	git(first, "commit", "--quiet", "-m", "Add a patch")
	wantAge("30d")
	// A new number does not make the patch younger.
	git(first, "mv", "patches/0300-widget-spell-ten.patch", "patches/0310-widget-spell-ten.patch")
	git(today.Add(-24*time.Hour), "commit", "--quiet", "-m", "Renumber it")
	if out := mustRun(t, w, "status"); !strings.Contains(out, "\n0310   fix      30d ") {
		t.Errorf("the renamed patch lost its age:\n%s", out)
	}
}

func TestFindRoot(t *testing.T) {
	w := toy.New(t, nil)
	mustRun(t, w, "vendor")
	for name, dir := range map[string]string{"the root": w.Root, "a folder of the patched tree": w.Tree("config", "crd")} {
		got, err := findRoot(dir, toy.Upstream)
		if err != nil || got != w.Root {
			t.Errorf("%s: want %s, got %s %v", name, w.Root, got, err)
		}
	}
	if _, err := findRoot(t.TempDir(), toy.Upstream); err == nil || !strings.Contains(err.Error(), "pass --root") {
		t.Errorf("want advice to pass --root, got %v", err)
	}
}

func TestBadUse(t *testing.T) {
	w := toy.New(t, nil)
	cases := map[string]struct {
		args []string
		want string
	}{
		"an unknown command":     {args: []string{"vend"}, want: "unknown command"},
		"try without a target":   {args: []string{"try"}, want: "accepts 1 arg"},
		"vendor with a word":     {args: []string{"vendor", "x"}, want: "unknown command \"x\""},
		"flags that do not mix":  {args: []string{"vendor", "--force", "--allow-edits"}, want: "none of the others can be"},
		"a root without go.mod":  {args: []string{"--root", t.TempDir(), "vendor"}, want: "failed to read go.mod"},
		"refresh without a tree": {args: []string{"refresh"}, want: "run fleet-patch vendor first"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := run(t, w, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}
