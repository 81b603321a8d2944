// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Limits on the changed non-test lines of one patch.
const (
	BudgetWarning = 150
	BudgetLimit   = 400
)

// Size counts added plus removed lines.
type Size struct {
	// Lines are outside tests, TestLines inside.
	Lines, TestLines int
}

// Total is both counts together.
func (s Size) Total() int { return s.Lines + s.TestLines }

// Measure counts the changed lines of a patch. A renamed or copied file counts
// only the lines that differ from its source. A line that a patch removes from
// the source of a copy counts as moved, not removed, if the copy keeps it.
func Measure(diffs []*gitdiff.File) Size {
	kept := copiedSources(diffs)
	var size Size
	for _, diff := range diffs {
		added, removed := lineCounts(diff)
		changed := total(added)
		if dropped, ok := kept[diff.OldName]; ok && !diff.IsCopy && !diff.IsRename {
			changed += overlap(removed, dropped)
		} else {
			changed += total(removed)
		}
		if isTest(diffPath(diff)) {
			size.TestLines += changed
		} else {
			size.Lines += changed
		}
	}
	return size
}

// copiedSources maps the source of each copy to the lines that no copy of it kept.
func copiedSources(diffs []*gitdiff.File) map[string]map[string]int {
	sources := map[string]map[string]int{}
	for _, diff := range diffs {
		if !diff.IsCopy {
			continue
		}
		_, dropped := lineCounts(diff)
		if before, ok := sources[diff.OldName]; ok {
			for line := range before {
				before[line] = min(before[line], dropped[line])
			}
			continue
		}
		sources[diff.OldName] = dropped
	}
	return sources
}

// lineCounts counts how often each line is added and removed.
func lineCounts(diff *gitdiff.File) (added, removed map[string]int) {
	added, removed = map[string]int{}, map[string]int{}
	for _, fragment := range diff.TextFragments {
		for _, line := range fragment.Lines {
			switch line.Op {
			case gitdiff.OpAdd:
				added[line.Line]++
			case gitdiff.OpDelete:
				removed[line.Line]++
			}
		}
	}
	return added, removed
}

func total(lines map[string]int) int {
	n := 0
	for _, count := range lines {
		n += count
	}
	return n
}

func overlap(a, b map[string]int) int {
	n := 0
	for line, count := range a {
		n += min(count, b[line])
	}
	return n
}

func diffPath(diff *gitdiff.File) string {
	if diff.NewName != "" {
		return diff.NewName
	}
	return diff.OldName
}

// isTest tells files that only tests use: _test.go files, and whatever lies
// under a folder test, testdata or testing* (Kueue's builders for tests).
func isTest(name string) bool {
	if strings.HasSuffix(name, "_test.go") {
		return true
	}
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if part == "test" || part == "testdata" || strings.HasPrefix(part, "testing") {
			return true
		}
	}
	return false
}

func lintBudget(patch *Patch) []Finding {
	var findings []Finding
	report := func(warning bool, format string, args ...any) {
		findings = append(findings, Finding{Patch: patch.Name, Where: "budget", Warning: warning, Message: fmt.Sprintf(format, args...)})
	}
	for _, diff := range patch.Diffs {
		if diff.IsBinary {
			report(false, "changes the binary file %s: a patch holds text only", diffPath(diff))
		}
	}
	switch lines := Measure(patch.Diffs).Lines; {
	case len(patch.Diffs) == 0:
		report(false, "changes no file: drop the patch")
	case lines > BudgetLimit:
		report(false, "%d changed non-test lines, the limit is %d: split the patch or move code out of the tree", lines, BudgetLimit)
	case lines > BudgetWarning:
		report(true, "%d changed non-test lines, aim for %d at most", lines, BudgetWarning)
	}
	return findings
}
