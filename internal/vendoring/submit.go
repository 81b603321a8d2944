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

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// templateName is where the forge looks for a project's template.
const templateName = ".github/PULL_REQUEST_TEMPLATE.md"

// Submission is a patch that is ready to go up.
type Submission struct {
	Patch *patchseries.Patch
	// Branch has the commit; empty if there was no checkout.
	Branch string
	// PullRequest is the text of the pull request.
	PullRequest string
	// ByHand is what is left to do.
	ByHand []string
}

// Submit makes one patch of the series, by number or name, ready to go up. With a
// checkout, it becomes a commit on its HEAD, on a new branch; the template of the
// pull request is the checkout's, or else the base's.
func (c Config) Submit(ctx context.Context, which, checkout, branch string) (Submission, error) {
	patches, err := c.Series()
	if err != nil {
		return Submission{}, err
	}
	patch, err := pick(patches, which)
	if err != nil {
		return Submission{}, err
	}
	if status, _ := patch.Header.Get(patchseries.TrailerStatus); !patch.Goes() {
		return Submission{}, fmt.Errorf("patch %s is not to be sent up: its %s is %q", patch.Name, patchseries.TrailerStatus, status)
	}
	var needs []string
	for _, s := range patchseries.Order(patches) {
		if s.Patch == patch {
			needs = s.Needs
		}
	}
	out := Submission{Patch: patch, ByHand: patch.ByHand()}
	dir, err := c.templateDir(ctx, checkout)
	if err != nil {
		return Submission{}, err
	}
	if checkout != "" {
		if branch == "" {
			branch = strings.TrimSuffix(patch.Name, patchseries.Extension)
		}
		moved, err := commit(ctx, dir, patch, branch, patchseries.Needs(patches)[patch.Name])
		if err != nil {
			return Submission{}, fmt.Errorf("failed to put %s on %s: %w", patch.Name, checkout, err)
		}
		out.Branch = branch
		out.ByHand = append(moved, out.ByHand...)
	}
	template, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(templateName)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Submission{}, fmt.Errorf("failed to read the template: %w", err)
	}
	out.PullRequest = patch.PullRequest(string(template), subjectsOf(patches, needs))
	return out, nil
}

func (c Config) templateDir(ctx context.Context, checkout string) (string, error) {
	if checkout != "" {
		dir, _, _, err := c.checkout(checkout)
		if err != nil {
			return "", fmt.Errorf("failed to use %q: %w", checkout, err)
		}
		return dir, nil
	}
	mods, base, _, _, err := c.inputs(false)
	if err != nil {
		return "", err
	}
	modules, err := mods.download(ctx, c.Go, base)
	if err != nil {
		return "", err
	}
	return modules[0].Dir, nil
}

// commit returns the places that moved.
func commit(ctx context.Context, dir string, patch *patchseries.Patch, branch string, needs []string) ([]string, error) {
	repo, err := gitrepo.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	outcome, err := patchgit.Submit(ctx, repo, patch.File, patch.Header.UpstreamMessage(), branch)
	var conflict *patchgit.ConflictError
	switch {
	case errors.As(err, &conflict) && len(needs) > 0:
		return nil, fmt.Errorf("%w; it stands on %s, which HEAD has to hold", err, strings.Join(needs, ", "))
	case err != nil:
		return nil, err
	}
	var moved []string
	for _, place := range outcome.Places {
		moved = append(moved, "look at "+place.String())
	}
	return moved, nil
}

// Series reads all patches.
func (c Config) Series() ([]*patchseries.Patch, error) {
	files, err := patchseries.ReadDir(c.patchDir())
	if err != nil {
		return nil, err
	}
	return patchseries.ParseAll(files)
}

// pick finds a patch by its number, with or without leading zeros, or its name.
func pick(patches []*patchseries.Patch, which string) (*patchseries.Patch, error) {
	wanted := strings.TrimSuffix(filepath.Base(which), patchseries.Extension)
	for _, patch := range patches {
		name := strings.TrimSuffix(patch.Name, patchseries.Extension)
		number, _, _ := strings.Cut(name, "-")
		if wanted == name || wanted == number || "0"+wanted == number {
			return patch, nil
		}
	}
	return nil, fmt.Errorf("invalid patch %q: want the number or the name of one of the %s", which, patchseries.Count(len(patches)))
}

func subjectsOf(patches []*patchseries.Patch, names []string) []string {
	var out []string
	for _, name := range names {
		for _, patch := range patches {
			if patch.Name == name {
				out = append(out, patch.Header.Subject)
			}
		}
	}
	return out
}
