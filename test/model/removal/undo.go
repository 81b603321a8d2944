// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/gooverlay"
)

// undo says how one patch is undone at the tip of the series.
type undo struct {
	// Patch is its name, without .patch.
	Patch string `json:"patch"`
	// What says what is undone, for the table.
	What string `json:"what"`
	// Unseen says why the model can't find it, and is not asked. It is empty if the model
	// has to find it.
	Unseen string `json:"unseen,omitempty"`
	// From is the seed to begin with, when the first that fails is a far one.
	From uint64 `json:"from,omitempty"`
	// Guard is the number of another patch that catches what this one lets through when it
	// is undone. Then the model has to find a sequence that either of them is enough for.
	Guard string `json:"guard,omitempty"`
	// Edits put a switch into the patched code.
	Edits []edit `json:"edits"`
}

// edit replaces a text that a file has exactly once. The new text asks
// undone("NNNN"), with the number of the patch.
type edit struct {
	File string `json:"file"`
	Find string `json:"find"`
	Put  string `json:"put"`
}

// number is what the switches call the patch.
func (u undo) number() string { number, _, _ := strings.Cut(u.Patch, "-"); return number }

func readUndos(file string) ([]undo, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var undos []undo
	if err := yaml.UnmarshalStrict(text, &undos); err != nil {
		return nil, fmt.Errorf("failed to read %s: %w", file, err)
	}
	return undos, nil
}

// match makes sure that every patch that mends something is undone, and nothing else.
func match(series []patch, undos []undo) (map[string]patch, error) {
	known := map[string]patch{}
	for _, p := range series {
		if p.mends() {
			known[p.name] = p
		}
	}
	found := map[string]bool{}
	numbers := map[string]bool{"": true}
	for _, u := range undos {
		found[u.Patch], numbers[u.number()] = true, len(u.Edits) > 0
	}
	var errs []error
	for _, u := range undos {
		if !numbers[u.Guard] || u.Guard == u.number() {
			errs = append(errs, fmt.Errorf("patch %q has guard %q, which is not the number of another patch with edits", u.Patch, u.Guard))
		}
		if _, ok := known[u.Patch]; !ok {
			errs = append(errs, fmt.Errorf("patch %q is undone, but is no fix or backport of the series", u.Patch))
		}
		if len(u.Edits) == 0 && u.Unseen == "" {
			errs = append(errs, fmt.Errorf("patch %q has neither edits nor a reason why it has none", u.Patch))
		}
	}
	for _, p := range series {
		if p.mends() && !found[p.name] {
			errs = append(errs, fmt.Errorf("patch %q is a %s and is not undone", p.name, p.class))
		}
	}
	return known, errors.Join(errs...)
}

// switchVariable names the patches that are undone, with commas between them.
const switchVariable = "KUEUE_FLEET_UNDO"

// switchFile is what each package with switches gets.
const switchFile = `package %s

import (
	"os"
	"slices"
	"strings"
)

var undonePatches = strings.Split(os.Getenv(%q), ",")

func undone(patch string) bool { return slices.Contains(undonePatches, patch) }
`

var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// overlay writes the files of tree with all switches in place into work, and the file
// that makes the Go tool see them.
func overlay(tree, work string, undos []undo) (string, error) {
	changed := map[string]string{}
	for _, u := range undos {
		for _, e := range u.Edits {
			text, ok := changed[e.File]
			if !ok {
				content, err := os.ReadFile(filepath.Join(tree, e.File))
				if err != nil {
					return "", fmt.Errorf("failed to undo %s: %w", u.Patch, err)
				}
				text = string(content)
			}
			if n := strings.Count(text, e.Find); n != 1 {
				return "", fmt.Errorf("failed to undo %s: %s has the text %q %d times, want once", u.Patch, e.File, e.Find, n)
			}
			if !strings.Contains(e.Put, `undone("`+u.number()+`")`) {
				return "", fmt.Errorf("failed to undo %s: the edit of %s doesn't ask undone(%q)", u.Patch, e.File, u.number())
			}
			changed[e.File] = strings.Replace(text, e.Find, e.Put, 1)
		}
	}
	files := make(map[string]string, 2*len(changed))
	for name, text := range changed {
		m := packageClause.FindStringSubmatch(text)
		if m == nil {
			return "", fmt.Errorf("failed to find the package of %s", name)
		}
		files[name] = text
		files[filepath.Join(filepath.Dir(name), "removal_switch.go")] = fmt.Sprintf(switchFile, m[1], switchVariable)
	}
	return gooverlay.Write(work, tree, files)
}
