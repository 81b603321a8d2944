// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchgit

import (
	"context"
	"fmt"
	"strings"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// Submit puts one patch on HEAD as a commit with the message, by the repository's
// user, and makes it the new branch. HEAD, index and work tree stay as they are. A
// patch that does not apply is a *ConflictError.
func Submit(ctx context.Context, repo *gitrepo.Repo, file patchseries.File, message, branch string) (Outcome, error) {
	// Before anything is made.
	name, email, err := repo.User(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if _, err := repo.Git(ctx, "check-ref-format", "--branch", branch); err != nil {
		return Outcome{}, fmt.Errorf("invalid branch %q: git doesn't allow the name", branch)
	}
	ref := "refs/heads/" + branch
	if _, err := repo.Git(ctx, "rev-parse", "--quiet", "--verify", ref); err == nil {
		return Outcome{}, fmt.Errorf("the branch %s exists: delete it (git branch -D %s) or name another", branch, branch)
	}
	start, err := repo.Git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return Outcome{}, err
	}
	outcomes, err := Try(ctx, repo, start, []patchseries.File{file})
	if err != nil {
		return Outcome{}, err
	}
	outcome := outcomes[0]
	switch outcome.Kind {
	case Conflict:
		return outcome, &ConflictError{Outcome: outcome}
	case AlreadyUpstream:
		return outcome, fmt.Errorf("the checkout holds the whole change of %s", file.Name)
	case Clean, Offset:
	}
	head, _, err := ApplyAll(ctx, repo, start, []patchseries.File{file})
	if err != nil {
		return outcome, err
	}
	by := repo.With("GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+email)
	commit, _, err := by.Run(ctx, []byte(message), "commit-tree", head+"^{tree}", "-p", start)
	if err != nil {
		return outcome, err
	}
	// The zero id: only if no such branch has been made meanwhile.
	if _, err := repo.Git(ctx, "update-ref", ref, strings.TrimSpace(commit), strings.Repeat("0", 40)); err != nil {
		return outcome, err
	}
	return outcome, nil
}
