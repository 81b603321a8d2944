// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gooverlay writes what the -overlay flag of the go command reads, so that a
// tree is built with other files than it has and stays as it is.
package gooverlay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes files, which are named by their paths in tree, below dir, and an
// overlay that puts them there, whether or not the tree has such files. It returns
// the overlay's path.
func Write(dir, tree string, files map[string]string) (string, error) {
	write := func(path string, text []byte) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("failed to write an overlay: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return fmt.Errorf("failed to write an overlay: %w", err)
		}
		return nil
	}
	replace := make(map[string]string, len(files))
	for name, text := range files {
		source := filepath.Join(dir, name)
		replace[filepath.Join(tree, name)] = source
		if err := write(source, []byte(text)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("failed to encode an overlay: %w", err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, write(overlay, text)
}
