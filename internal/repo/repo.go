// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repo finds the checkout that a tool works on.
package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// ModulePath is the module that marks the root of a checkout.
const ModulePath = "fleet.ai/kueue-fleet"

// Root returns the absolute path of the checkout that holds dir: the nearest
// folder upwards whose go.mod declares ModulePath. The tool modules below hack/
// and the patched Kueue tree have a go.mod of their own and are passed by.
func Root(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("failed to resolve %q: %w", dir, err)
	}
	for at := start; ; {
		data, err := os.ReadFile(filepath.Join(at, "go.mod"))
		switch {
		case err == nil && modfile.ModulePath(data) == ModulePath:
			return at, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("failed to look for the checkout: %w", err)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", fmt.Errorf("failed to find the checkout: no go.mod of module %s in %s or above it", ModulePath, start)
		}
		at = parent
	}
}

// FromWorkingDir is Root of the current working directory.
func FromWorkingDir() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("failed to get the working directory: %w", err)
	}
	return Root(wd)
}
