// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
)

// GoCommand runs the go command outside any workspace.
type GoCommand struct {
	// Env are variables besides those of the process, each "KEY=value".
	Env []string
}

// Module is a module in the module cache.
type Module struct {
	Path, Version string
	// Dir is where its files are.
	Dir string
	// Sum is its hash in go.sum's form.
	Sum string
}

func (m Module) String() string { return m.Path + " " + m.Version }

// Download makes sure that the modules are in the module cache and returns them
// in the given order. The go command checks what it loads from the network
// against the go.sum of dir's module, or else the checksum database.
func (g GoCommand) Download(ctx context.Context, dir string, modules ...module.Version) ([]Module, error) {
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		args = append(args, m.String())
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly"), g.Env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	found := map[module.Version]Module{}
	decoder := json.NewDecoder(&stdout)
	for {
		var entry struct{ Path, Version, Error, Dir, Sum string }
		err := decoder.Decode(&entry)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("failed to read the output of go mod download: %w", err)
		}
		if entry.Error != "" {
			return nil, fmt.Errorf("failed to download %s %s: %s", entry.Path, entry.Version, entry.Error)
		}
		found[module.Version{Path: entry.Path, Version: entry.Version}] = Module{Path: entry.Path, Version: entry.Version, Dir: entry.Dir, Sum: entry.Sum}
	}
	if runErr != nil {
		return nil, fmt.Errorf("failed to run go %s: %w: %s", strings.Join(args, " "), runErr, strings.TrimSpace(stderr.String()))
	}
	out := make([]Module, 0, len(modules))
	for _, m := range modules {
		got, ok := found[m]
		if !ok {
			return nil, fmt.Errorf("failed to download %s: go mod download did not report it", m)
		}
		out = append(out, got)
	}
	return out, nil
}

// VerifyDir checks that dir holds the module unchanged. The go command checks a
// module only when it unpacks it, so an edit made in the cache later would slip in.
func VerifyDir(dir string, m Module) error {
	got, err := dirhash.HashDir(dir, m.Path+"@"+m.Version, dirhash.Hash1)
	if err != nil {
		return fmt.Errorf("failed to hash %s: %w", m, err)
	}
	if got != m.Sum {
		return fmt.Errorf("the files of %s in the module cache hash to %s, but go.sum says %s: someone changed them after the download; remove %s and run this again", m, got, m.Sum, m.Dir)
	}
	return nil
}

// modFile is a go.mod with its go.sum.
type modFile struct {
	dir  string
	mod  *modfile.File
	sums map[module.Version]string
}

func readModFile(dir string) (*modFile, error) {
	path := filepath.Join(dir, "go.mod")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read go.mod: %w", err)
	}
	mod, err := modfile.Parse(path, raw, nil)
	if err != nil {
		return nil, fmt.Errorf("failed to parse go.mod: %w", err)
	}
	sums := map[module.Version]string{}
	raw, err = os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("failed to read go.sum: %w", err)
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		// "path version h1:hash"; lines about a module's go.mod file alone have
		// a version that ends in /go.mod and are no match for any version.
		if f := strings.Fields(line); len(f) == 3 {
			sums[module.Version{Path: f[0], Version: f[1]}] = f[2]
		}
	}
	return &modFile{dir: dir, mod: mod, sums: sums}, nil
}

// required returns the version of the module that go.mod asks for.
func (f *modFile) required(path string) (module.Version, error) {
	for _, r := range f.mod.Replace {
		if r.Old.Path == path {
			return module.Version{}, fmt.Errorf("%s replaces %s: the tree is made from the module itself, so drop the replace directive", filepath.Join(f.dir, "go.mod"), path)
		}
	}
	for _, r := range f.mod.Require {
		if r.Mod.Path == path {
			return r.Mod, nil
		}
	}
	return module.Version{}, fmt.Errorf("%s does not require %s", filepath.Join(f.dir, "go.mod"), path)
}

// sum returns the hash that go.sum holds for the module.
func (f *modFile) sum(m module.Version) (string, error) {
	if sum, ok := f.sums[m]; ok {
		return sum, nil
	}
	return "", fmt.Errorf("%s has no hash of %s: run GOWORK=off go mod download %s", filepath.Join(f.dir, "go.sum"), m, m.Path)
}

// download gets required modules and holds them against go.sum.
func (f *modFile) download(ctx context.Context, g GoCommand, versions ...module.Version) ([]Module, error) {
	for _, v := range versions {
		if _, err := f.sum(v); err != nil {
			return nil, err
		}
	}
	modules, err := g.Download(ctx, f.dir, versions...)
	if err != nil {
		return nil, err
	}
	for i, m := range modules {
		if want := f.sums[versions[i]]; m.Sum != want {
			return nil, fmt.Errorf("%s has hash %s in the module cache, but go.sum says %s", m, m.Sum, want)
		}
	}
	return modules, nil
}
