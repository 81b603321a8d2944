// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchgit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// newRepo makes a repository with one commit of the given files.
func newRepo(t *testing.T, files map[string]string) (repo *gitrepo.Repo, commit string) {
	t.Helper()
	tree := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	repo, err := gitrepo.Init(t.Context(), filepath.Join(tree, ".git"), tree, "fleet")
	if err != nil {
		t.Fatal(err)
	}
	commit, err = repo.Import(t.Context(), "base\n", true)
	if err != nil {
		t.Fatal(err)
	}
	return repo, commit
}

func patch(name, message, diff string) patchseries.File {
	return patchseries.File{Name: name, Raw: []byte("From " + strings.Repeat("0", 40) + " Mon Sep 17 00:00:00 2001\n" +
		"From: A Person <a@example.org>\nSubject: " + message + "\n" + diff)}
}

const (
	edit    = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -7,3 +7,3 @@\n 7\n-8\n+eight\n 9\n"
	newFile = "diff --git a/b.txt b/b.txt\nnew file mode 100644\n--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n"
	gone    = "diff --git a/c.txt b/c.txt\ndeleted file mode 100644\n--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"
)

func TestApplyAndTry(t *testing.T) {
	const original = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	const name = "0300-a-mend-b.patch"
	cases := map[string]struct {
		files map[string]string
		diff  string
		// want is the outcome of applying, wantTry that of trying, when it differs.
		want    patchgit.Outcome
		wantTry patchgit.Kind
	}{
		"every hunk at its place": {
			files: map[string]string{"a.txt": original}, diff: edit,
			want: patchgit.Outcome{Kind: patchgit.Clean},
		},
		"one hunk moved": {
			files: map[string]string{"a.txt": strings.Replace(original, "5\n", "5\n5.5\n", 1)}, diff: edit,
			want: patchgit.Outcome{Kind: patchgit.Offset, Places: []patchgit.Place{{File: "a.txt", Hunk: 2, Lines: 1}}},
		},
		"one hunk moved up": {
			files: map[string]string{"a.txt": strings.Replace(original, "5\n6\n", "", 1)}, diff: edit,
			want: patchgit.Outcome{Kind: patchgit.Offset, Places: []patchgit.Place{{File: "a.txt", Hunk: 2, Lines: -2}}},
		},
		"the second hunk fails": {
			files: map[string]string{"a.txt": strings.Replace(original, "9\n", "nine\n", 1)}, diff: edit,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "a.txt", Hunk: 2, Reason: "the lines around line 7 are not what the patch expects"}}},
		},
		"context is never given up": {
			files: map[string]string{"a.txt": strings.Replace(original, "3\n", "three\n", 1)}, diff: edit,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "a.txt", Hunk: 1, Reason: "the lines around line 1 are not what the patch expects"}}},
		},
		"the file is gone": {
			files: map[string]string{"z.txt": "z\n"}, diff: edit,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "a.txt", Reason: "does not exist in index"}}},
		},
		"the new file is there": {
			files: map[string]string{"a.txt": original, "b.txt": "other\n"}, diff: edit + newFile,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "b.txt", Reason: "already exists in index"}}},
		},
		"two files fail": {
			files: map[string]string{"b.txt": "other\n"}, diff: edit + newFile,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{
				{File: "a.txt", Reason: "does not exist in index"}, {File: "b.txt", Reason: "already exists in index"},
			}},
		},
		"upstream has the whole change": {
			files: map[string]string{"a.txt": strings.NewReplacer("2", "two", "8", "eight").Replace(original), "b.txt": "b\n"}, diff: edit + newFile,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{
				{File: "a.txt", Hunk: 1, Reason: "the lines around line 1 are not what the patch expects"}, {File: "b.txt", Reason: "already exists in index"},
			}},
			wantTry: patchgit.AlreadyUpstream,
		},
		"upstream has a part of the change": {
			files: map[string]string{"a.txt": original, "b.txt": "b\n"}, diff: edit + newFile,
			want: patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "b.txt", Reason: "already exists in index"}}},
		},
		"upstream deleted the file too": {
			files: map[string]string{"a.txt": original}, diff: gone,
			want:    patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{File: "c.txt", Reason: "does not exist in index"}}},
			wantTry: patchgit.AlreadyUpstream,
		},
		"no diff at all": {
			files: map[string]string{"a.txt": original},
			want:  patchgit.Outcome{Kind: patchgit.Conflict, Places: []patchgit.Place{{Reason: "No valid patches in input (allow with \"--allow-empty\")"}}},
		},
	}
	for caseName, tc := range cases {
		t.Run(caseName, func(t *testing.T) {
			t.Parallel()
			repo, base := newRepo(t, tc.files)
			file := patch(name, "Mend\n\nText.\n", tc.diff)
			tc.want.Patch = name

			head, outcomes, err := patchgit.ApplyAll(t.Context(), repo, base, []patchseries.File{file})
			if diff := cmp.Diff([]patchgit.Outcome{tc.want}, outcomes); diff != "" {
				t.Errorf("outcome (-want,+got):\n%s", diff)
			}
			var conflict *patchgit.ConflictError
			if failed := errors.As(err, &conflict); failed != (tc.want.Kind == patchgit.Conflict) {
				t.Errorf("error: got %v", err)
			}
			if (head != "") != (tc.want.Kind != patchgit.Conflict) {
				t.Errorf("head: got %q", head)
			}

			tried, err := patchgit.Try(t.Context(), repo, base, []patchseries.File{file})
			if err != nil {
				t.Fatalf("Try: %v", err)
			}
			want := tc.want.Kind
			if tc.wantTry != "" {
				want = tc.wantTry
			}
			if tried[0].Kind != want {
				t.Errorf("Try: want %q, got %q", want, tried[0].Kind)
			}
			for name, content := range tc.files {
				if raw, err := os.ReadFile(filepath.Join(repo.WorkTree(), name)); err != nil || string(raw) != content {
					t.Errorf("work tree: %s changed: %q %v", name, raw, err)
				}
			}
		})
	}
}

func TestApplyRefusesWhatIsNoMail(t *testing.T) {
	repo, base := newRepo(t, map[string]string{"a.txt": "1\n"})
	for name, raw := range map[string]string{
		"no author":  "From " + strings.Repeat("0", 40) + " Mon Sep 17 00:00:00 2001\nSubject: x\n\n" + edit,
		"no subject": "From " + strings.Repeat("0", 40) + " Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\n\n" + edit,
	} {
		_, _, err := patchgit.ApplyAll(t.Context(), repo, base, []patchseries.File{{Name: "0300-a-mend-b.patch", Raw: []byte(raw)}})
		var mail *patchgit.MailError
		if !errors.As(err, &mail) || mail.Patch != "0300-a-mend-b.patch" {
			t.Errorf("%s: want a MailError, got %v", name, err)
		}
	}
}

func TestExportIsCanonical(t *testing.T) {
	repo, base := newRepo(t, map[string]string{"a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"})
	subject := "Mend — with a subject that is so long that a mail folds it over more than one line of its header"
	message := subject + "\n\nChange: Say \"two\".\nFleet-Patch is a word here.\n\nTests: none\n" + "Fleet-Patch: 0300-a-mend-b\nFleet-Class: fix\n\n"
	head, _, err := patchgit.ApplyAll(t.Context(), repo, base, []patchseries.File{patch("x", message, edit)})
	if err != nil {
		t.Fatal(err)
	}
	commits, err := patchgit.Commits(t.Context(), repo, base, head)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]patchgit.CommitInfo{{ID: head, Subject: subject, Name: "0300-a-mend-b"}}, commits); diff != "" {
		t.Errorf("commits (-want,+got):\n%s", diff)
	}
	first, err := patchgit.Export(t.Context(), repo, head)
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"\nDate: ", "\nFleet-Patch: ", "\n-- \n", "[PATCH]"} {
		if strings.Contains(string(first), unwanted) {
			t.Errorf("the export holds %q:\n%s", unwanted, first)
		}
	}
	if !strings.Contains(string(first), "\nFleet-Patch is a word here.\n") {
		t.Errorf("the export lost a line of the body:\n%s", first)
	}
	again, _, err := patchgit.ApplyAll(t.Context(), repo, base, []patchseries.File{{Name: "x", Raw: first}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := patchgit.Export(t.Context(), repo, again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("the second export differs (-first,+second):\n%s", diff)
	}
}
