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
)

// UpstreamTag marks the commit that holds the module unpatched.
const UpstreamTag = "upstream-head"

// State is what a look at the tree finds.
type State struct {
	Exists bool
	// Repo tells whether the tree is a git repository of its own.
	Repo bool
	// Stamp is nil when the tree has none.
	Stamp *Stamp
	// Head and Upstream are commit ids; empty when there are none.
	Head, Upstream string
	// Dirty are files that differ from HEAD.
	Dirty []string
	// Busy names an unfinished git operation.
	Busy string
	// Missing is a rendered file that is not there.
	Missing string
}

// Unexported says what the tree holds that patches/ does not, or "".
func (s State) Unexported() string {
	if !s.Exists {
		return ""
	}
	made := s.Upstream
	if s.Stamp != nil {
		made = s.Stamp.Head
	}
	switch {
	case !s.Repo:
		return "it is no git repository, so nothing tells what it holds"
	case s.Busy != "":
		return "an unfinished " + s.Busy
	case len(s.Dirty) > 0:
		return "edits of " + list(s.Dirty)
	case s.Head != made || made == "":
		return "commits that were not exported"
	}
	return ""
}

// Inspect looks at the tree.
func (c Config) Inspect(ctx context.Context) (State, error) {
	tree := c.treeDir()
	var state State
	if _, err := os.Lstat(tree); errors.Is(err, fs.ErrNotExist) {
		return state, nil
	} else if err != nil {
		return state, fmt.Errorf("failed to look at the tree: %w", err)
	}
	state.Exists = true
	if info, err := os.Stat(filepath.Join(tree, ".git")); err != nil || !info.IsDir() {
		return state, nil //nolint:nilerr // no repository is a finding, not a failure
	}
	state.Repo = true
	repo := c.repo()
	var err error
	if state.Stamp, err = readStamp(tree); err != nil {
		return state, err
	}
	if state.Dirty, err = repo.Dirty(ctx); err != nil {
		return state, err
	}
	state.Busy = repo.Busy()
	state.Missing = c.Render.missing(tree)
	state.Head = resolve(ctx, repo, "HEAD")
	state.Upstream = resolve(ctx, repo, UpstreamTag)
	return state, ctx.Err()
}

// resolve returns a commit id, or "" when the name means no commit.
func resolve(ctx context.Context, repo *gitrepo.Repo, name string) string {
	id, err := repo.Git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return ""
	}
	return id
}

func (c Config) repo() *gitrepo.Repo {
	return gitrepo.Open(filepath.Join(c.treeDir(), ".git"), c.treeDir())
}

// listed is how many names a message holds before it is cut.
const listed = 10

// list joins names, and cuts a long list.
func list(names []string) string {
	if len(names) > listed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
	}
	return strings.Join(names, ", ")
}
