// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newFile is the diff of a new file of n lines.
func newFile(path string, n int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "diff --git a/%s b/%s\nnew file mode 100644\nindex %040d..%040d\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", path, path, 0, 1, path, n)
	for i := range n {
		fmt.Fprintf(&out, "+line %d\n", i)
	}
	return out.String()
}

// emptied is the diff of a file that loses n lines and gets one.
func emptied(path string, n int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "diff --git a/%s b/%s\nindex %040d..%040d 100644\n--- a/%s\n+++ b/%s\n@@ -1,%d +1 @@\n", path, path, 1, 2, path, path, n)
	for i := range n {
		fmt.Fprintf(&out, "-line %d\n", i)
	}
	out.WriteString("+import it\n")
	return out.String()
}

// moved is the diff of a renamed or copied file in which one line differs.
func moved(how, from, to string) string {
	return fmt.Sprintf("diff --git a/%s b/%s\nsimilarity index 99%%\n%s from %s\n%s to %s\nindex %040d..%040d 100644\n--- a/%s\n+++ b/%s\n@@ -3,3 +3,3 @@\n line 2\n-line 3\n+line three\n line 4\n",
		from, to, how, from, how, to, 1, 3, from, to)
}

func TestMeasure(t *testing.T) {
	cases := map[string]struct {
		diff string
		want Size
	}{
		"added and removed lines both count": {diff: goodDiff, want: Size{Lines: 3}},
		"a new file counts whole":            {diff: newFile("a.go", 7), want: Size{Lines: 7}},
		"tests are counted apart": {
			diff: newFile("a_test.go", 1) + newFile("test/b.go", 2) + newFile("pkg/testing/c.go", 4) + newFile("pkg/testdata/d.yaml", 8) + newFile("pkg/latest/e.go", 16),
			want: Size{Lines: 16, TestLines: 15},
		},
		"a rename counts what differs": {diff: moved("rename", "a.go", "b.go"), want: Size{Lines: 2}},
		"a rename without a change counts nothing": {
			diff: "diff --git a/a.go b/b.go\nsimilarity index 100%\nrename from a.go\nrename to b.go\n",
		},
		// 2 in the copy; of the 900 lines gone from the source 899 live on, and one is new.
		"a move by copy counts what the copy did not keep": {
			diff: moved("copy", "main.go", "app/app.go") + emptied("main.go", 900),
			want: Size{Lines: 2 + 1 + 1},
		},
		"lines gone from a file that no copy keeps count": {diff: emptied("main.go", 900), want: Size{Lines: 901}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Measure(mustParse(t, mail(seamName, "S", goodMessage, tc.diff)).Diffs)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("size (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	const at = ": 0500-widget-build-twice.patch: budget: "
	binary := "diff --git a/x.bin b/x.bin\nindex " + strings.Repeat("1", 40) + ".." + strings.Repeat("2", 40) + " 100644\nBinary files a/x.bin and b/x.bin differ\n"
	cases := map[string]struct {
		diff string
		want []string
	}{
		"at the aim":            {diff: newFile("a.go", 150)},
		"above the aim":         {diff: newFile("a.go", 151), want: []string{"warning" + at + "151 changed non-test lines, aim for 150 at most"}},
		"at the limit":          {diff: newFile("a.go", 400), want: []string{"warning" + at + "400 changed non-test lines, aim for 150 at most"}},
		"above the limit":       {diff: newFile("a.go", 401), want: []string{"error" + at + "401 changed non-test lines, the limit is 400: split the patch or move code out of the tree"}},
		"tests have no limit":   {diff: newFile("a_test.go", 5000)},
		"a large move is small": {diff: moved("copy", "main.go", "app/app.go") + emptied("main.go", 900)},
		"a binary file":         {diff: binary, want: []string{"error" + at + "changes the binary file x.bin: a patch holds text only"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := texts(lintBudget(mustParse(t, mail(seamName, "S", goodMessage, tc.diff))))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want,+got):\n%s", diff)
			}
		})
	}
}
