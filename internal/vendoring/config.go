// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vendoring keeps third_party/kueue in step with go.mod and patches/:
// it builds the tree out of the Go module cache, and exports a developer's
// commits in it back to patch files.
package vendoring

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
)

// Config says where things are. Paths but Root are relative to Root.
type Config struct {
	// Root is our repository, the folder of go.mod.
	Root string
	// Module is the path of the upstream module.
	Module string
	// Tree is where the patched module goes.
	Tree string
	// Patches is the folder of the series.
	Patches string
	// Ledger is the generated page about the series.
	Ledger string
	// Order is the page that holds the order in which the series goes up.
	Order string
	// Render says which files are made besides what the module holds.
	Render Rendering
	// Exclude are further patterns, in the form of .gitignore, of files in the
	// tree that are neither upstream's nor a patch's.
	Exclude []string
	// Go runs the go command.
	Go GoCommand
	// Out gets one line per thing done.
	Out io.Writer
}

// Kueue is the configuration of this repository, at root.
func Kueue(root string, out io.Writer) Config {
	return Config{
		Root:    root,
		Module:  "sigs.k8s.io/kueue",
		Tree:    filepath.Join("third_party", "kueue"),
		Patches: "patches",
		Ledger:  filepath.Join("docs", "patches.md"),
		Order:   filepath.Join("docs", "upstreaming.md"),
		Render:  KueueRendering(),
		// Registration of our extensions in Kueue's own suites, written by the
		// harness that runs them.
		Exclude: []string{"zz_fleet_*_test.go"},
		Out:     out,
	}
}

func (c Config) treeDir() string  { return filepath.Join(c.Root, c.Tree) }
func (c Config) patchDir() string { return filepath.Join(c.Root, c.Patches) }

// renderVersion changes when the code that makes the tree does, so that trees
// made by older code are made anew.
const renderVersion = 1

// rendererID identifies how the tree is made, apart from its inputs.
func (c Config) rendererID() (string, error) {
	raw, err := json.Marshal(struct {
		Version int
		Render  Rendering
		Exclude []string
	}{renderVersion, c.Render, c.Exclude})
	if err != nil {
		return "", fmt.Errorf("failed to describe the renderer: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

func (c Config) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, format+"\n", args...)
}
