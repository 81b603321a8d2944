// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// patch is a file of the series.
type patch struct {
	name     string // without .patch
	class    string
	tests    []string // names of its trailer
	packages []string // folders of the tests that it adds
}

var (
	classTrailer = regexp.MustCompile(`(?m)^Fleet-Class: (\w+)$`)
	testsTrailer = regexp.MustCompile(`(?m)^Tests: (.+)$`)
	diffHeader   = regexp.MustCompile(`(?m)^diff --git a/(\S+) b/\S+$`)
)

// readSeries reads the patches of a folder, in their order.
func readSeries(folder string) ([]patch, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("failed to find a patch in %q", folder)
	}
	slices.Sort(files)
	out := make([]patch, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p, err := parsePatch(strings.TrimSuffix(filepath.Base(file), ".patch"), string(text))
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func parsePatch(name, text string) (patch, error) {
	p := patch{name: name}
	start := diffHeader.FindStringIndex(text)
	if start == nil {
		return p, fmt.Errorf("failed to find a change in patch %s", name)
	}
	header := text[:start[0]]
	if m := classTrailer.FindStringSubmatch(header); m != nil {
		p.class = m[1]
	}
	if m := testsTrailer.FindStringSubmatch(header); m != nil {
		p.tests = strings.Split(m[1], ", ")
	}
	for _, m := range diffHeader.FindAllStringSubmatch(text, -1) {
		if folder := path.Dir(m[1]); strings.HasSuffix(m[1], "_test.go") && !slices.Contains(p.packages, folder) {
			p.packages = append(p.packages, folder)
		}
	}
	return p, nil
}

// mends tells whether the patch changes what Kueue does, so that it must be missed.
func (p patch) mends() bool { return p.class == "fix" || p.class == "backport" }
