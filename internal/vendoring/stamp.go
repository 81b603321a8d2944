// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"fleet.ai/kueue-fleet/internal/patchseries"
)

// Stamp says what a tree was made of. It lies in the tree's git directory, so
// that it moves into place together with the tree.
type Stamp struct {
	// Module and Version are the base, Sum its hash in go.sum's form.
	Module, Version, Sum string
	// Renderer identifies how the tree was made.
	Renderer string
	// Patches maps the file names of the series to their SHA-256.
	Patches map[string]string
	// Pristine trees have no patch applied.
	Pristine bool
	// Head is the commit with all patches.
	Head string
}

func stampFile(tree string) string { return filepath.Join(tree, ".git", "fleet-patch.json") }

// readStamp returns nil when the tree has no stamp, or one that is not ours to read.
func readStamp(tree string) (*Stamp, error) {
	raw, err := os.ReadFile(stampFile(tree))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read the stamp: %w", err)
	}
	var stamp Stamp
	if err := json.Unmarshal(raw, &stamp); err != nil {
		return nil, nil //nolint:nilerr // a broken stamp is no stamp: the tree is made anew
	}
	return &stamp, nil
}

func writeStamp(tree string, stamp Stamp) error {
	raw, err := json.MarshalIndent(stamp, "", "  ")
	if err != nil {
		return fmt.Errorf("failed to encode the stamp: %w", err)
	}
	return replaceFile(stampFile(tree), append(raw, '\n'))
}

func digests(files []patchseries.File) map[string]string {
	out := map[string]string{}
	for _, file := range files {
		out[file.Name] = file.Digest()
	}
	return out
}

// changedPatches names the files in which two series differ, in order.
func changedPatches(a, b map[string]string) []string {
	var names []string
	for name, digest := range a {
		if b[name] != digest {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// outdated says why a tree with stamp s is not what want asks for, or "".
func (s Stamp) outdated(want Stamp) string {
	switch {
	case s.Module != want.Module || s.Version != want.Version || s.Sum != want.Sum:
		return fmt.Sprintf("the base is %s %s now", want.Module, want.Version)
	case s.Pristine != want.Pristine:
		return "the tree was made with another choice of --pristine"
	case s.Renderer != want.Renderer:
		return "the tool that makes the tree changed"
	}
	if names := changedPatches(s.Patches, want.Patches); len(names) > 0 {
		return "patches changed: " + list(names)
	}
	return ""
}
