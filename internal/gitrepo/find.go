// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package gitrepo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Find returns the repository whose work tree is dir, also if it is a linked one.
func Find(ctx context.Context, dir string) (*Repo, error) {
	said, err := asUser(ctx, dir, "rev-parse", "--show-prefix", "--absolute-git-dir")
	if err != nil {
		return nil, fmt.Errorf("%s is not a git checkout: %w", dir, err)
	}
	prefix, gitDir, _ := strings.Cut(said, "\n")
	if prefix != "" {
		return nil, fmt.Errorf("%s is a folder inside a git checkout: want its top", dir)
	}
	return Open(gitDir, dir), nil
}

// User returns who commits in the repository by its own configuration and the
// user's.
func (r *Repo) User(ctx context.Context) (name, email string, err error) {
	for key, value := range map[string]*string{"user.name": &name, "user.email": &email} {
		if *value, err = asUser(ctx, r.workTree, "config", "--get", key); err != nil || *value == "" {
			return "", "", fmt.Errorf("git doesn't know who commits in %s: set %s there (git config %s ...)", r.workTree, key, key)
		}
	}
	return name, email, nil
}

// asUser runs git as the user would, with her configuration, but in dir alone.
func asUser(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	for _, entry := range os.Environ() {
		switch key, _, _ := strings.Cut(entry, "="); key {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX":
		default:
			cmd.Env = append(cmd.Env, entry)
		}
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", &Error{Args: args, Stderr: stderr.String(), Err: err}
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
