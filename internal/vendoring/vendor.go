// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/module"

	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// VendorOptions tune Vendor.
type VendorOptions struct {
	// Force discards what the tree holds and patches/ does not.
	Force bool
	// AllowEdits lets a current tree with edits pass, so that they can be tried
	// before they are exported.
	AllowEdits bool
	// Pristine makes the tree without patches, to put a series on a new base by hand.
	Pristine bool
}

// action is what Vendor does with a tree.
type action int

const (
	keep action = iota
	keepEdited
	build
)

// ErrUnexported is returned when a tree holds work that Vendor would lose.
var ErrUnexported = errors.New("the tree holds work that patches/ does not")

// decide chooses the action. The reason says why a tree is built.
func decide(state State, want Stamp, opts VendorOptions) (do action, reason string, err error) {
	if !state.Exists {
		return build, "there is no tree yet", nil
	}
	switch {
	case state.Stamp == nil:
		reason = "the tree has no stamp"
	case state.Missing != "":
		reason = state.Missing + " is missing"
	default:
		reason = state.Stamp.outdated(want)
	}
	unexported := state.Unexported()
	switch {
	case unexported == "" && reason == "":
		return keep, "", nil
	case unexported == "":
		return build, reason, nil
	case opts.Force:
		return build, "--force", nil
	case opts.AllowEdits && reason == "":
		return keepEdited, unexported, nil
	}
	return keep, "", fmt.Errorf("%w: %s; export it (commit there, then fleet-patch refresh) or discard it (fleet-patch vendor --force)", ErrUnexported, unexported)
}

// Vendor brings the tree in step with go.mod and the series.
func (c Config) Vendor(ctx context.Context, opts VendorOptions) error {
	release, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err = c.recover(); err != nil {
		return err
	}
	mods, base, files, want, err := c.inputs(opts.Pristine)
	if err != nil {
		return err
	}
	state, err := c.Inspect(ctx)
	if err != nil {
		return err
	}
	do, reason, err := decide(state, want, opts)
	if err != nil {
		return fmt.Errorf("failed to vendor into %s: %w", c.Tree, err)
	}
	switch do {
	case keep:
		c.say("%s is current: %s", c.Tree, want.describe())
		return nil
	case keepEdited:
		c.say("%s is current: %s, with work that is not exported: %s", c.Tree, want.describe(), reason)
		return nil
	}
	outcomes, err := c.build(ctx, mods, base, files, want)
	if err != nil {
		return fmt.Errorf("failed to vendor %s: %w", base, c.advise(err))
	}
	for _, outcome := range outcomes {
		if outcome.Kind == patchgit.Offset {
			c.say("patch %s applies with an offset, export it with fleet-patch refresh: %s", outcome.Patch, outcome.Describe())
		}
	}
	c.say("%s is made: %s (%s)", c.Tree, want.describe(), reason)
	return nil
}

func (s Stamp) describe() string {
	if s.Pristine {
		return fmt.Sprintf("%s %s without patches", s.Module, s.Version)
	}
	return fmt.Sprintf("%s %s with %s", s.Module, s.Version, patchseries.Count(len(s.Patches)))
}

// inputs reads what the tree is made of.
func (c Config) inputs(pristine bool) (mods *modFile, base module.Version, files []patchseries.File, want Stamp, err error) {
	if mods, err = readModFile(c.Root); err != nil {
		return nil, base, nil, want, err
	}
	if base, err = mods.required(c.Module); err != nil {
		return nil, base, nil, want, err
	}
	sum, err := mods.sum(base)
	if err != nil {
		return nil, base, nil, want, err
	}
	if files, err = patchseries.ReadDir(c.patchDir()); err != nil {
		return nil, base, nil, want, err
	}
	renderer, err := c.rendererID()
	if err != nil {
		return nil, base, nil, want, err
	}
	want = Stamp{Module: base.Path, Version: base.Version, Sum: sum, Renderer: renderer, Patches: digests(files), Pristine: pristine}
	return mods, base, files, want, nil
}

// advise adds to a conflict what to do about it.
func (c Config) advise(err error) error {
	var conflict *patchgit.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	return fmt.Errorf("%w; the tree was left as it was. To rework the patch: fleet-patch vendor --pristine, "+
		"then in %s run git am with the files of %s, resolve where it stops, git am --continue, and fleet-patch refresh", err, c.Tree, c.Patches)
}
