// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	quoted     = regexp.MustCompile(`"([^"]+)"`)
	testFuncs  = regexp.MustCompile("`(Test[A-Za-z]+)`")
	caseStarts = regexp.MustCompile(`(?m)^\t\t"([^"]+)": +\{`)
	lifecycles = regexp.MustCompile(`(?m)^\t\t\{name: "([^"]+)", run: `)
)

// The tables of the page name the tests that show what they say, and no rejection
// that a test shows is missing in them.
func TestThePageNamesTheTests(t *testing.T) {
	page := read(t, "..", "..", "docs", "workgroup.md")
	rejections, faults := section(t, page, "## What is rejected"), section(t, page, "## Faults")

	validate := read(t, "validate_test.go")
	rejected, all := map[string]bool{}, map[string]bool{}
	starts := caseStarts.FindAllStringSubmatchIndex(validate, -1)
	for i, at := range starts {
		end := len(validate)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		name := validate[at[2]:at[3]]
		all[name] = true
		if strings.Contains(validate[at[0]:end], "want:") {
			rejected[name] = true
		}
	}
	named := names(quoted, rejections)
	if diff := missing(named, all); len(diff) > 0 {
		t.Errorf("the page names cases that validate_test.go doesn't have: %q", diff)
	}
	if diff := missing(rejected, named); len(diff) > 0 {
		t.Errorf("rejections that are tested and not on the page: %q", diff)
	}

	tests := names(caseStarts, read(t, "plan_test.go"))
	maps.Copy(tests, names(lifecycles, read(t, "..", "..", "test", "workgroup", "lifecycle_test.go")))
	if diff := missing(names(quoted, faults), tests); len(diff) > 0 {
		t.Errorf("the page names faults that no test has: %q", diff)
	}
	functions := map[string]bool{}
	for _, pattern := range []string{"*_test.go", filepath.Join("..", "..", "test", "workgroup", "*_test.go")} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			maps.Copy(functions, names(regexp.MustCompile(`(?m)^func (Test[A-Za-z]+)\(`), read(t, file)))
		}
	}
	if diff := missing(names(testFuncs, rejections+faults), functions); len(diff) > 0 {
		t.Errorf("the page names tests that aren't there: %q", diff)
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// section is the text from a heading to the next.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, heading+"\n")
	if !found {
		t.Fatalf("the page has no heading %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

func names(pattern *regexp.Regexp, text string) map[string]bool {
	found := map[string]bool{}
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		found[match[1]] = true
	}
	return found
}

// missing are the names of the first that the second lacks.
func missing(want, in map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(name string) bool { return in[name] })
}
