// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package gooverlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The go command itself runs a program of which one file is replaced and one added.
func TestWrite(t *testing.T) {
	tree := t.TempDir()
	const unchanged = "package main\n\nvar word = \"tree\"\n"
	for name, text := range map[string]string{
		"go.mod": "module example.com/tree\n", "main.go": "package main\n\nfunc main() { print(word + extra) }\n", "word.go": unchanged,
	} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := Write(filepath.Join(t.TempDir(), "overlay"), tree, map[string]string{
		"word.go": "package main\n\nvar word = \"overlay\"\n", "extra.go": "package main\n\nvar extra = \" and more\"\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-overlay="+overlay, ".")
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "overlay and more" {
		t.Errorf("the program printed %q, %v", out, err)
	}
	if now, err := os.ReadFile(filepath.Join(tree, "word.go")); err != nil || string(now) != unchanged {
		t.Errorf("the tree's own file is %q (%v), want it unchanged", now, err)
	}
}
