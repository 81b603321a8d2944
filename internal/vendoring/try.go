// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// Try puts the series on another version of the module, or on a checkout of it,
// and returns what it was put on and how each patch fared. It changes neither
// the checkout nor the tree.
func (c Config) Try(ctx context.Context, target string) (on string, outcomes []patchgit.Outcome, err error) {
	files, err := patchseries.ReadDir(c.patchDir())
	if err != nil {
		return "", nil, err
	}
	dir, name, isModule, err := c.target(ctx, target)
	if err != nil {
		return "", nil, fmt.Errorf("failed to try the series on %q: %w", target, err)
	}
	err = withImport(ctx, dir, name, isModule, func(repo *gitrepo.Repo, upstream string) error {
		outcomes, err = patchgit.Try(ctx, repo, upstream, files)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("failed to try the series on %q: %w", target, err)
	}
	return name, outcomes, nil
}

// target finds the files that a version or a folder means. A checkout, unlike a
// module, has build output lying about that git is to ignore.
func (c Config) target(ctx context.Context, target string) (dir, name string, isModule bool, err error) {
	if semver.IsValid(target) {
		m, err := c.release(ctx, target)
		return m.Dir, m.String(), true, err
	}
	return c.checkout(target)
}

// release gets a version that is none of go.mod's business, so the checksum
// database vouches for it.
func (c Config) release(ctx context.Context, version string) (Module, error) {
	// Outside of any module, which the go command would look at.
	scratch, err := os.MkdirTemp("", "fleet-patch-")
	if err != nil {
		return Module{}, fmt.Errorf("failed to make a scratch folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }() // a leftover in the temporary folder does no harm
	modules, err := c.Go.Download(ctx, scratch, module.Version{Path: c.Module, Version: version})
	if err != nil {
		return Module{}, err
	}
	return modules[0], VerifyDir(modules[0].Dir, modules[0])
}

func (c Config) checkout(target string) (dir, name string, isModule bool, err error) {
	dir, err = filepath.Abs(target)
	if err != nil {
		return "", "", false, fmt.Errorf("failed to find the folder: %w", err)
	}
	if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
		return "", "", false, errors.New("it is neither a version such as v0.20.0 nor a folder")
	}
	mods, err := readModFile(dir)
	if err != nil {
		return "", "", false, err
	}
	if mods.mod.Module == nil || mods.mod.Module.Mod.Path != c.Module {
		return "", "", false, fmt.Errorf("the folder does not hold the module %s", c.Module)
	}
	return dir, target, false, nil
}
