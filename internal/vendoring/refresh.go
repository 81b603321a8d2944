// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// RefreshOptions tune Refresh.
type RefreshOptions struct {
	// Name is the file name for the one new commit that names none.
	Name string
	// Force overwrites patch files that changed since the tree was made.
	Force bool
}

// Refresh exports the commits of the tree to the patch folder, and brings the
// stamp and the ledger in step.
func (c Config) Refresh(ctx context.Context, opts RefreshOptions) error {
	release, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err = c.recover(); err != nil {
		return err
	}
	_, _, files, want, err := c.inputs(false)
	if err != nil {
		return err
	}
	state, err := c.Inspect(ctx)
	if err != nil {
		return err
	}
	if err = c.exportable(state, want, opts); err != nil {
		return fmt.Errorf("failed to refresh %s: %w", c.Patches, err)
	}
	repo := c.repo()
	exported, err := export(ctx, repo, state, files, opts.Name)
	if err != nil {
		return fmt.Errorf("failed to refresh %s: %w", c.Patches, err)
	}
	head, err := reapply(ctx, repo, state, exported)
	if err != nil {
		return fmt.Errorf("failed to refresh %s: %w", c.Patches, err)
	}
	if err := c.replacePatches(files, exported); err != nil {
		return err
	}
	// Same tree, but the ids that the next vendor would give.
	if _, err := repo.Git(ctx, "update-ref", "HEAD", head); err != nil {
		return err
	}
	if err := c.Render.render(ctx, c.Go, c.treeDir()); err != nil {
		return err
	}
	want.Patches, want.Head = digests(exported), head
	if err := writeStamp(c.treeDir(), want); err != nil {
		return err
	}
	if err := c.writePages(exported); err != nil {
		return err
	}
	c.say("%s holds %s", c.Patches, patchseries.Count(len(exported)))
	return nil
}

// exportable refuses to export what is not all there, or over newer patch files.
func (c Config) exportable(state State, want Stamp, opts RefreshOptions) error {
	switch {
	case !state.Exists || !state.Repo || state.Stamp == nil:
		return fmt.Errorf("%s was not made by this tool: run fleet-patch vendor first", c.Tree)
	case state.Busy != "":
		return fmt.Errorf("%s is in the middle of a %s: finish or abort it first", c.Tree, state.Busy)
	case len(state.Dirty) > 0:
		return fmt.Errorf("%s has edits that are not committed: %s; commit them there or restore them first", c.Tree, list(state.Dirty))
	case state.Upstream == "":
		return fmt.Errorf("%s has no tag %s: run fleet-patch vendor --force", c.Tree, UpstreamTag)
	case state.Stamp.Version != want.Version || state.Stamp.Sum != want.Sum:
		return fmt.Errorf("%s was made from %s but go.mod asks for %s: run fleet-patch vendor first", c.Tree, state.Stamp.Version, want.Version)
	}
	if names := changedPatches(state.Stamp.Patches, want.Patches); len(names) > 0 && !opts.Force {
		return fmt.Errorf("these patch files changed since %s was made: %s; take them into the tree (fleet-patch vendor) or overwrite them with the tree's commits (fleet-patch refresh --force)", c.Tree, list(names))
	}
	return nil
}

// export renders the tree's commits as patch files, in order.
func export(ctx context.Context, repo *gitrepo.Repo, state State, files []patchseries.File, name string) ([]patchseries.File, error) {
	commits, err := patchgit.Commits(ctx, repo, UpstreamTag, state.Head)
	if err != nil {
		return nil, err
	}
	names, err := assignNames(commits, subjects(files), name)
	if err != nil {
		return nil, err
	}
	exported := make([]patchseries.File, len(commits))
	for i, commit := range commits {
		raw, err := patchgit.Export(ctx, repo, commit.ID)
		if err != nil {
			return nil, err
		}
		exported[i] = patchseries.File{Name: names[i], Raw: raw}
	}
	return exported, nil
}

// reapply proves that the exported files lead to the very tree they came from,
// and returns the commit they make.
func reapply(ctx context.Context, repo *gitrepo.Repo, state State, exported []patchseries.File) (string, error) {
	head, _, err := patchgit.ApplyAll(ctx, repo, state.Upstream, exported)
	if err != nil {
		return "", fmt.Errorf("the exported series does not apply: %w", err)
	}
	made, err := repo.Git(ctx, "rev-parse", head+"^{tree}", state.Head+"^{tree}")
	if err != nil {
		return "", err
	}
	if ids := bytes.Fields([]byte(made)); len(ids) != 2 || !bytes.Equal(ids[0], ids[1]) {
		return "", errors.New("the exported series makes another tree than its commits; no file was written")
	}
	return head, nil
}

// replacePatches writes the files that changed and removes those that are gone.
func (c Config) replacePatches(before, after []patchseries.File) error {
	for _, file := range after {
		i := slices.IndexFunc(before, func(f patchseries.File) bool { return f.Name == file.Name })
		if i >= 0 && bytes.Equal(before[i].Raw, file.Raw) {
			continue
		}
		if err := replaceFile(filepath.Join(c.patchDir(), file.Name), file.Raw); err != nil {
			return err
		}
		c.say("wrote %s", filepath.Join(c.Patches, file.Name))
	}
	for _, file := range before {
		if slices.ContainsFunc(after, func(f patchseries.File) bool { return f.Name == file.Name }) {
			continue
		}
		if err := os.Remove(filepath.Join(c.patchDir(), file.Name)); err != nil {
			return fmt.Errorf("failed to remove a patch whose commit is gone: %w", err)
		}
		c.say("removed %s, its commit is gone", filepath.Join(c.Patches, file.Name))
	}
	return nil
}
