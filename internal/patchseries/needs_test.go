// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// diff is an edit of a file whose lines are 1 to 20 upstream: from a line on, each
// line of hunk is " text", "-text" or "+text".
func diff(file string, from int, hunk ...string) string {
	before, after := 0, 0
	for _, l := range hunk {
		if l[0] != '+' {
			before++
		}
		if l[0] != '-' {
			after++
		}
	}
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n@@ -%d,%d +%d,%d @@\n%s\n", file, from, before, from, after, strings.Join(hunk, "\n"))
}

func series(t *testing.T, diffs ...string) []*Patch {
	t.Helper()
	var out []*Patch
	for i, d := range diffs {
		patch, err := Parse(File{Name: fmt.Sprintf("03%d0-a-b-c.patch", i+1), Raw: []byte("From: A <a@example.org>\nSubject: Do it\n\nText.\n\n" + d)})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, patch)
	}
	return out
}

func TestNeeds(t *testing.T) {
	const (
		first  = "0310-a-b-c.patch"
		second = "0320-a-b-c.patch"
	)
	made := "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n"
	cases := map[string]struct {
		diffs []string
		// want is what the last patch needs.
		want []string
	}{
		"places apart stand alone": {
			diffs: []string{diff("a", 2, " 2", "-3", "+three", " 4"), diff("a", 5, " 5", "-6", "+six", " 7")},
		},
		"a line of the context is another's": {
			diffs: []string{diff("a", 2, " 2", "-3", "+three", " 4"), diff("a", 3, " three", "-4", "+four", " 5")},
			want:  []string{first},
		},
		"lines are counted on behind an insertion": {
			diffs: []string{diff("a", 2, " 2", "+2a", "+2b", " 3"), diff("a", 11, " 9", "-10", "+ten", " 11")},
		},
		"a replaced line is another's": {
			diffs: []string{diff("a", 2, " 2", "+2a", "+2b", " 3"), diff("a", 4, "-2b", "+2c", " 3")},
			want:  []string{first},
		},
		"lines were taken out between two of the context": {
			diffs: []string{diff("a", 2, " 2", "-3", "-4", " 5"), diff("a", 2, " 2", " 5", "+5a", " 6")},
			want:  []string{first},
		},
		"lines were taken out before the context": {
			diffs: []string{diff("a", 2, " 2", "-3", "-4", " 5"), diff("a", 3, " 5", "+5a", " 6")},
		},
		"only the last writer of a line": {
			diffs: []string{diff("a", 3, "-3", "+three"), diff("a", 3, "-three", "+THREE"), diff("a", 3, "-THREE", "+drei")},
			want:  []string{second},
		},
		"the file is another's": {
			diffs: []string{made, diff("new.txt", 1, " one", "+two")},
			want:  []string{first},
		},
		"the file was moved": {
			diffs: []string{"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", diff("b", 9, " 9", "+9a", " 10")},
			want:  []string{first},
		},
		"the place was made free": {
			diffs: []string{"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", strings.ReplaceAll(made, "new.txt", "a")},
			want:  []string{first},
		},
		"a file of another name": {
			diffs: []string{diff("a", 3, "-3", "+three"), diff("b", 3, "-3", "+three")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			patches := series(t, tc.diffs...)
			if diff := cmp.Diff(tc.want, Needs(patches)[patches[len(patches)-1].Name]); diff != "" {
				t.Errorf("unexpected needs (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestClosure(t *testing.T) {
	needs := map[string][]string{"c": {"b"}, "b": {"a"}, "d": {"a", "c"}}
	if diff := cmp.Diff([]string{"a", "b", "c"}, Closure(needs, "d")); diff != "" {
		t.Errorf("unexpected closure (-want,+got):\n%s", diff)
	}
}

func TestPlaceOrder(t *testing.T) {
	patches := series(t, diff("a", 3, "-3", "+three"), diff("a", 3, "-three", "+THREE"), diff("b", 3, "-3", "+three"), diff("c", 3, "-3", "+three"))
	for i, status := range []string{"Pending", "Submitted https://example.org/1", "Pending", "Inappropriate [ours]"} {
		patches[i].Header.Trailers = []Trailer{{TrailerClass, "fix"}, {TrailerStatus, status}, {TrailerDropWhen, "it | is there"}}
	}
	page := "before\n" + orderBegin + "old\n" + orderEnd + "after\n"
	want := "before\n" + orderBegin + `3 patches are to go up, 1 are upstream already or stay.

| Step | Patches | Lines we drop | Test lines |
|---:|---:|---:|---:|
| 1 | 2 | 4 | 0 |
| 2 | 1 | 2 | 0 |

| Step | Patch | Subject | Class | Needs first | Opens | Lines | We drop it when |
|---:|---|---|---|---|---|---:|---|
| 1 | [0310](../patches/0310-a-b-c.patch) | Do it | fix | - | 0320 | 2 | it \| is there |
| 1 | [0330](../patches/0330-a-b-c.patch) | Do it | fix | - | - | 2 | it \| is there |
| 2 | [0320](../patches/0320-a-b-c.patch) | Do it | fix | 0310 | - | 2 | it \| is there |
` + orderEnd + "after\n"
	got, err := PlaceOrder(page, patches)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected page (-want,+got):\n%s", diff)
	}
	if again, err := PlaceOrder(got, patches); err != nil || again != got {
		t.Errorf("the second time changed it (%v):\n%s", err, cmp.Diff(got, again))
	}
	if _, err := PlaceOrder("no marks\n", patches); err == nil || !strings.Contains(err.Error(), "the page needs the lines") {
		t.Errorf("error %v, want one that says which lines are missing", err)
	}
}
