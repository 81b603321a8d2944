// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patchseries reads a folder of patch files and judges it: names,
// headers, size, and the ledger made of them. It runs no git and touches no tree.
package patchseries

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// File is one patch file, unparsed.
type File struct {
	// Name is the base name in the patch folder.
	Name string
	Raw  []byte
}

// Digest is the hex SHA-256 of the file's content.
func (f File) Digest() string {
	sum := sha256.Sum256(f.Raw)
	return hex.EncodeToString(sum[:])
}

// ReadDir returns the patch files in dir in name order. A folder that does not
// exist holds no patches; files that do not end in .patch are not patches.
func ReadDir(dir string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to list the patches: %w", err)
	}
	var files []File
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), Extension) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("failed to read a patch: %w", err)
		}
		files = append(files, File{Name: entry.Name(), Raw: raw})
	}
	return files, nil
}

// ParseAll parses the files, up to the first that is no patch.
func ParseAll(files []File) ([]*Patch, error) {
	patches := make([]*Patch, 0, len(files))
	for _, file := range files {
		patch, err := Parse(file)
		if err != nil {
			return nil, err
		}
		patches = append(patches, patch)
	}
	return patches, nil
}

// Patch is a parsed patch file.
type Patch struct {
	File
	Header Header
	// Diffs are the changed files, in the order of the patch.
	Diffs []*gitdiff.File
}

// Parse reads a patch in the mail format that git format-patch writes.
// It is lenient about what the header says; LintHeader is not.
func Parse(file File) (*Patch, error) {
	diffs, preamble, err := gitdiff.Parse(bytes.NewReader(file.Raw))
	if err != nil {
		return nil, fmt.Errorf("failed to read the diff of %s: %w", file.Name, err)
	}
	header, err := parseHeader(preamble)
	if err != nil {
		return nil, fmt.Errorf("failed to read the header of %s: %w", file.Name, err)
	}
	return &Patch{File: file, Header: header, Diffs: diffs}, nil
}

// HunkAt returns the position, counted from 1, of the hunk of path that starts
// at line of the old file, or 0 if there is none.
func (p *Patch) HunkAt(path string, line int64) int {
	for _, diff := range p.Diffs {
		if diff.OldName != path && diff.NewName != path {
			continue
		}
		for i, fragment := range diff.TextFragments {
			if fragment.OldPosition == line {
				return i + 1
			}
		}
	}
	return 0
}
