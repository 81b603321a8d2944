// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchgit

import (
	"context"
	"fmt"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// ConflictError is a patch that does not apply.
type ConflictError struct {
	Outcome Outcome
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("patch %s does not apply: %s", e.Outcome.Patch, e.Outcome.Describe())
}

// ApplyAll puts the whole series on the start commit and returns the new head
// and the outcome of each patch. The first conflict stops it with a *ConflictError.
func ApplyAll(ctx context.Context, repo *gitrepo.Repo, start string, files []patchseries.File) (head string, outcomes []Outcome, err error) {
	applier, err := NewApplier(ctx, repo, start)
	if err != nil {
		return "", nil, err
	}
	defer applier.Close()
	for _, file := range files {
		outcome, err := applier.Apply(ctx, file)
		if err != nil {
			return "", outcomes, err
		}
		outcomes = append(outcomes, outcome)
		if outcome.Kind == Conflict {
			return "", outcomes, &ConflictError{Outcome: outcome}
		}
	}
	return applier.Head(), outcomes, nil
}

// Try puts each patch on the start commit and what applied before it. A patch
// that does not apply is left out, and the later ones go on without it.
func Try(ctx context.Context, repo *gitrepo.Repo, start string, files []patchseries.File) ([]Outcome, error) {
	applier, err := NewApplier(ctx, repo, start)
	if err != nil {
		return nil, err
	}
	defer applier.Close()
	var outcomes []Outcome
	for _, file := range files {
		outcome, err := applier.Apply(ctx, file)
		if err != nil {
			return nil, err
		}
		if outcome.Kind == Conflict {
			held, err := applier.Reversed(ctx, file)
			if err != nil {
				return nil, err
			}
			if held {
				outcome = Outcome{Patch: file.Name, Kind: AlreadyUpstream}
			}
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}
