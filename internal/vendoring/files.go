// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// copyTree copies the files of src to dst, which it makes. Files in the module
// cache are read-only; the copies are not.
func copyTree(src, dst string) error {
	return filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("failed to walk the module: %w", err)
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return fmt.Errorf("failed to walk the module: %w", err)
		}
		target := filepath.Join(dst, rel)
		if entry.IsDir() {
			if err = os.MkdirAll(target, 0o755); err != nil {
				return fmt.Errorf("failed to make a folder of the tree: %w", err)
			}
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("failed to read a file of the module: %w", err)
		}
		if err := os.WriteFile(target, raw, 0o644); err != nil {
			return fmt.Errorf("failed to write a file of the tree: %w", err)
		}
		return nil
	})
}

// writeFile writes a file and the folders above it.
func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("failed to make a folder: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("failed to write a file: %w", err)
	}
	return nil
}

// replaceFile writes a file so that a reader sees the old or the new content.
func replaceFile(path string, content []byte) error {
	tmp := path + ".tmp"
	if err := writeFile(tmp, content); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("failed to put a file in place: %w", err)
	}
	return nil
}
