// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/vendoring/toy"
)

// checkout makes a git checkout of the toy's upstream, a bit further on, with a
// template.
func checkout(t *testing.T, user bool) (dir string, git func(args ...string) string) {
	t.Helper()
	// Nothing of whoever runs the test.
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	dir = t.TempDir()
	files := toy.Files()
	files["widget.txt"] = "widget 0\n" + files["widget.txt"]
	files[".github/PULL_REQUEST_TEMPLATE.md"] = "<!-- #### Not\na heading -->\n#### What type of PR is this?\n<!-- /kind x -->\n" +
		"#### What this PR does / why we need it:\n\n#### Which issue(s) this PR fixes:\nFixes #\n\n#### Colour of the shed\n"
	for name, body := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	git("init", "--quiet", "--initial-branch=main")
	git("add", "--all")
	git("-c", "user.name=U", "-c", "user.email=u@example.org", "commit", "--quiet", "-m", "Upstream")
	if user {
		git("config", "user.name", "A Person")
		git("config", "user.email", "person@example.org")
	}
	return dir, git
}

// toySeries has three patches: a fix, another that stands on it, and a backport.
func toySeries(t *testing.T) *toy.World {
	t.Helper()
	w := toy.New(t, nil)
	mustRun(t, w, "vendor")
	w.Edit(t, "gadget.txt", "gadget 5\n", "gadget five\n")
	w.Commit(t, strings.Replace(toy.Message("Spell out five", "backport", "0100-gadget-spell-five"), "Status: Pending", "Status: Backport https://example.org/pull/1", 1))
	w.Edit(t, "widget.txt", "widget 10\n", "widget ten\n")
	w.Write(t, "third_party/toy/widget_fleet_test.go", "package toy\n\nfunc TestFleetTen() {}\n")
	w.Commit(t, strings.NewReplacer("Tests: none but this", "Tests: TestFleetTen", "Problem: It is wrong.", "Problem: It is\nwrong.").
		Replace(toy.Message("Spell out ten", "fix", "0300-widget-spell-ten")))
	w.Edit(t, "widget.txt", "widget ten\n", "widget ten\nwidget ten and a half\n")
	w.Commit(t, toy.Message("Go by halves", "fix", "0310-widget-add-half"))
	mustRun(t, w, "refresh")
	return w
}

func TestUpstreamMakesOneCleanCommit(t *testing.T) {
	w := toySeries(t)
	dir, git := checkout(t, true)
	head := git("rev-parse", "HEAD")
	got := mustRun(t, w, "upstream", "300", "--tree", dir)
	want := "0300-widget-spell-ten.patch is one commit on the new branch 0300-widget-spell-ten of " + dir + "\n" +
		"by hand: look at widget.txt hunk 1: offset +1 lines\n" +
		"by hand: move widget_fleet_test.go to where its tests belong\n" +
		"by hand: rename in widget_fleet_test.go: TestFleetTen\n" +
		"by hand: file an issue, or say why there is none\n" +
		"#### What type of PR is this?\n\n/kind bug\n\n" +
		"#### What this PR does / why we need it:\n\nIt is wrong.\n\nMake it right.\n\n" +
		"#### Which issue(s) this PR fixes:\n\nNone.\n\n" +
		"#### Colour of the shed\n\n" +
		"#### Notes\n\nTests: TestFleetTen.\n\n" +
		"#### Release note\n\n```release-note\nIt is right.\n```\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected output (-want,+got):\n%s", diff)
	}
	wantCommit := "A Person <person@example.org> A Person <person@example.org>\nSpell out ten\n\nIt is\nwrong.\n\nMake it right.\n"
	if diff := cmp.Diff(wantCommit, git("log", "-1", "--format=%an <%ae> %cn <%ce>%n%B", "0300-widget-spell-ten")); diff != "" {
		t.Errorf("unexpected commit (-want,+got):\n%s", diff)
	}
	if got := git("rev-list", "--count", "main..0300-widget-spell-ten"); got != "1" {
		t.Errorf("the branch has %s commits on top of main, want 1", got)
	}
	if diff := cmp.Diff("widget.txt\nwidget_fleet_test.go", git("diff", "--name-only", "main", "0300-widget-spell-ten")); diff != "" {
		t.Errorf("unexpected files (-want,+got):\n%s", diff)
	}
	if at, status := git("rev-parse", "HEAD"), git("status", "--porcelain"); at != head || status != "" {
		t.Errorf("the checkout moved to %s (from %s) or changed: %q", at, head, status)
	}
	// What stands on it goes on top of it.
	git("switch", "--quiet", "0300-widget-spell-ten")
	got = mustRun(t, w, "upstream", "0310-widget-add-half.patch", "--tree", dir, "--branch", "halves")
	if !strings.Contains(got, "Stands on the pull requests for: Spell out ten.") {
		t.Errorf("the text doesn't say what the patch stands on:\n%s", got)
	}
	if got := git("rev-parse", "halves^"); got != git("rev-parse", "0300-widget-spell-ten") {
		t.Errorf("the second commit stands on %s", got)
	}
}

func TestUpstreamWithoutCheckout(t *testing.T) {
	w := toySeries(t)
	got := mustRun(t, w, "upstream", "0300")
	if !strings.Contains(got, "#### Kind\n\n/kind bug\n") || strings.Contains(got, "branch") {
		t.Errorf("want the text of a pull request, and no commit:\n%s", got)
	}
}

func TestUpstreamRefuses(t *testing.T) {
	w := toySeries(t)
	dir, git := checkout(t, true)
	git("branch", "taken")
	nobody, _ := checkout(t, false)
	cases := map[string]struct {
		args []string
		want string
	}{
		"an unknown patch":              {[]string{"0400"}, `invalid patch "0400": want the number or the name of one of the 3 patches`},
		"what upstream has":             {[]string{"0100"}, `0100-gadget-spell-five.patch is not to be sent up: its Upstream-Status is "Backport https://example.org/pull/1"`},
		"what stands on another":        {[]string{"0310", "--tree", dir}, "it stands on 0300-widget-spell-ten.patch, which HEAD has to hold"},
		"a branch that is there":        {[]string{"0300", "--tree", dir, "--branch", "taken"}, "the branch taken exists"},
		"a name that is no branch":      {[]string{"0300", "--tree", dir, "--branch", "a..b"}, `invalid branch "a..b"`},
		"a checkout of nobody":          {[]string{"0300", "--tree", nobody}, "git doesn't know who commits in"},
		"a folder of something else":    {[]string{"0300", "--tree", t.TempDir()}, "failed to use"},
		"a folder without git":          {[]string{"0300", "--tree", w.Cached(toy.Upstream, toy.Base, "")}, "is not a git checkout"},
		"a branch without a checkout":   {[]string{"0300", "--branch", "x"}, `invalid --branch "x"`},
		"no patch at all":               {[]string{}, "accepts 1 arg"},
		"a checkout that has it aboard": {[]string{"0310", "--tree", w.Tree()}, "holds the whole change"},
	}
	w.Git(t, "config", "user.name", "A")
	w.Git(t, "config", "user.email", "a@example.org")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if out, err := run(t, w, append([]string{"upstream"}, tc.args...)...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v\n%s", tc.want, err, out)
			}
		})
	}
	if diff := cmp.Diff("main\ntaken", git("branch", "--format=%(refname:short)")); diff != "" {
		t.Errorf("a refusal made a branch (-want,+got):\n%s", diff)
	}
}

func TestOrderPageIsKept(t *testing.T) {
	w := toySeries(t)
	const page = "docs/upstreaming.md"
	w.Write(t, page, "# Order\n<!-- Written by fleet-patch from patches/: run fleet-patch refresh. -->\n<!-- End of what fleet-patch writes. -->\nWords.\n")
	out, err := run(t, w, "lint")
	if err == nil || !strings.Contains(out, page+": is not what the patches say") {
		t.Errorf("lint let a stale page pass: %v\n%s", err, out)
	}
	mustRun(t, w, "refresh")
	got := w.Read(t, page)
	for _, want := range []string{"# Order\n", "Words.\n", "| 1 | [0300](", "| 2 | [0310]("} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %q:\n%s", want, got)
		}
	}
	mustRun(t, w, "lint")
	w.Write(t, page, "# Order\n")
	if _, err := run(t, w, "lint"); err == nil || !strings.Contains(err.Error(), "the page needs the lines") {
		t.Errorf("want an error that says what the page needs, got %v", err)
	}
}
