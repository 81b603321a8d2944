// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// build makes the tree in a folder beside it and puts it in place as the last step.
func (c Config) build(ctx context.Context, mods *modFile, base module.Version, files []patchseries.File, stamp Stamp) ([]patchgit.Outcome, error) {
	modules, err := mods.download(ctx, c.Go, base)
	if err != nil {
		return nil, err
	}
	staged, err := os.MkdirTemp(filepath.Dir(c.treeDir()), filepath.Base(c.beside("new-")))
	if err != nil {
		return nil, fmt.Errorf("failed to make a folder for the new tree: %w", err)
	}
	// What can not be removed here, the next run removes.
	defer func() { _ = os.RemoveAll(staged) }()
	if err = os.Chmod(staged, 0o755); err != nil {
		return nil, fmt.Errorf("failed to open up the new tree: %w", err)
	}
	// The copy is what gets hashed, so nothing can change between the two.
	if err = copyTree(modules[0].Dir, staged); err != nil {
		return nil, err
	}
	if err = VerifyDir(staged, modules[0]); err != nil {
		return nil, err
	}
	repo, upstream, err := importDir(ctx, staged, filepath.Join(staged, ".git"), modules[0].String(), true)
	if err != nil {
		return nil, err
	}
	if stamp.Pristine {
		files = nil
	}
	head, outcomes, err := patchgit.ApplyAll(ctx, repo, upstream, files)
	if err != nil {
		return nil, err
	}
	if _, err := repo.Git(ctx, "reset", "--quiet", "--hard", head); err != nil {
		return nil, err
	}
	if err := repo.WriteInfo("exclude", c.excludes()); err != nil {
		return nil, err
	}
	if err := c.Render.render(ctx, c.Go, staged); err != nil {
		return nil, err
	}
	if dirty, err := repo.Dirty(ctx); err != nil {
		return nil, err
	} else if len(dirty) > 0 {
		return nil, fmt.Errorf("making the tree changed files of upstream: %s", list(dirty))
	}
	stamp.Head = head
	if err := writeStamp(staged, stamp); err != nil {
		return nil, err
	}
	return outcomes, c.swap(ctx, staged)
}

// importDir records dir as the first commit of a new repository, tagged
// UpstreamTag. The files stay where they are; ignored is as in gitrepo.Import.
func importDir(ctx context.Context, dir, gitDir, name string, ignored bool) (*gitrepo.Repo, string, error) {
	repo, err := gitrepo.Init(ctx, gitDir, dir, "fleet")
	if err != nil {
		return nil, "", err
	}
	upstream, err := repo.Import(ctx, name+"\n", ignored)
	if err != nil {
		return nil, "", err
	}
	if _, err := repo.Git(ctx, "update-ref", "refs/tags/"+UpstreamTag, upstream); err != nil {
		return nil, "", err
	}
	return repo, upstream, nil
}

// excludes keeps files that are made here out of the tree's git status.
func (c Config) excludes() string {
	var out strings.Builder
	for _, output := range c.Render.outputs() {
		out.WriteString("/" + filepath.ToSlash(output) + "\n")
	}
	for _, pattern := range c.Exclude {
		out.WriteString(pattern + "\n")
	}
	return out.String()
}

// swap puts the new tree in the place of the old one. A run that ends between
// the two renames is put right by recover.
func (c Config) swap(ctx context.Context, staged string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old := c.beside("old")
	if err := os.Rename(c.treeDir(), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("failed to move the old tree away: %w", err)
	}
	if err := os.Rename(staged, c.treeDir()); err != nil {
		return errors.Join(fmt.Errorf("failed to put the new tree in place: %w", err), c.recover())
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("failed to remove the old tree: %w", err)
	}
	return nil
}

// recover clears what an interrupted run left behind. The caller holds the lock,
// so no other run owns these folders.
func (c Config) recover() error {
	old := c.beside("old")
	if _, err := os.Lstat(c.treeDir()); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(old, c.treeDir()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("failed to put the old tree back: %w", err)
		}
	}
	stale, err := filepath.Glob(c.beside("new-*"))
	if err != nil {
		return fmt.Errorf("failed to look for leftovers: %w", err)
	}
	for _, path := range append(stale, old) {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("failed to remove a leftover of an interrupted run: %w", err)
		}
	}
	return nil
}
