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

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// Lint judges the whole series: what patchseries.Lint finds, whether each patch
// applies at its very place and comes back byte for byte, and whether the
// ledger and the tree are in step. It does not need the tree.
func (c Config) Lint(ctx context.Context) ([]patchseries.Finding, error) {
	mods, base, files, _, err := c.inputs(false)
	if err != nil {
		return nil, err
	}
	patches, findings := patchseries.Lint(files)
	modules, err := mods.download(ctx, c.Go, base)
	if err != nil {
		return nil, err
	}
	applied, err := lintSeries(ctx, modules[0], files)
	if err != nil {
		return nil, err
	}
	findings = append(findings, applied...)
	ledger, err := c.lintLedger(patches)
	if err != nil {
		return nil, err
	}
	state, err := c.Inspect(ctx)
	if err != nil {
		return nil, err
	}
	if unexported := state.Unexported(); unexported != "" {
		findings = append(findings, patchseries.Finding{Where: c.Tree, Warning: true,
			Message: "holds work that patches/ does not: " + unexported + "; export it with fleet-patch refresh"})
	}
	return append(findings, ledger...), nil
}

// lintSeries puts the series on the unpatched module.
func lintSeries(ctx context.Context, base Module, files []patchseries.File) (findings []patchseries.Finding, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	if err = VerifyDir(base.Dir, base); err != nil {
		return nil, err
	}
	err = withImport(ctx, base.Dir, base.String(), true, func(repo *gitrepo.Repo, upstream string) error {
		findings, err = lintApply(ctx, repo, upstream, files)
		return err
	})
	return findings, err
}

// withImport runs f on a throw-away repository whose first commit is dir.
func withImport(ctx context.Context, dir, name string, ignored bool, f func(repo *gitrepo.Repo, upstream string) error) error {
	gitDir, err := os.MkdirTemp("", "fleet-patch-")
	if err != nil {
		return fmt.Errorf("failed to make a scratch repository: %w", err)
	}
	defer func() { _ = os.RemoveAll(gitDir) }() // a leftover in the temporary folder does no harm
	repo, upstream, err := importDir(ctx, dir, gitDir, name, ignored)
	if err != nil {
		return err
	}
	return f(repo, upstream)
}

func lintApply(ctx context.Context, repo *gitrepo.Repo, upstream string, files []patchseries.File) ([]patchseries.Finding, error) {
	applier, err := patchgit.NewApplier(ctx, repo, upstream)
	if err != nil {
		return nil, err
	}
	defer applier.Close()
	var findings []patchseries.Finding
	report := func(file, where, message string) {
		findings = append(findings, patchseries.Finding{Patch: file, Where: where, Message: message})
	}
	for _, file := range files {
		outcome, err := applier.Apply(ctx, file)
		var malformed *patchgit.MailError
		if errors.As(err, &malformed) {
			report(file.Name, "format", malformed.Error())
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, place := range outcome.Places {
			switch outcome.Kind {
			case patchgit.Conflict:
				report(file.Name, "apply", place.String()+": rework the patch on a tree from fleet-patch vendor --pristine")
			case patchgit.Offset:
				report(file.Name, "apply", place.String()+": run fleet-patch vendor, then fleet-patch refresh")
			}
		}
		if outcome.Kind != patchgit.Clean {
			continue
		}
		again, err := patchgit.Export(ctx, repo, applier.Head())
		if err != nil {
			return nil, err
		}
		if line := firstDifference(file.Raw, again); line > 0 {
			report(file.Name, "round trip", fmt.Sprintf("line %d is not what an export of the applied patch writes: run fleet-patch vendor, then fleet-patch refresh", line))
		}
		copies, err := lintCopies(ctx, repo, applier.Head(), file)
		if err != nil {
			return nil, err
		}
		findings = append(findings, copies...)
	}
	return findings, nil
}

// firstDifference returns the line in which two texts differ first, or 0.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return i + 1
		}
	}
	return min(len(as), len(bs)) + 1
}

// lintCopies holds a copy against its purpose: it counts as a move in the
// budget, so the patch must empty the source by half at least.
func lintCopies(ctx context.Context, repo *gitrepo.Repo, commit string, file patchseries.File) ([]patchseries.Finding, error) {
	patch, err := patchseries.Parse(file)
	if err != nil {
		return nil, nil //nolint:nilerr // said by patchseries.Lint
	}
	var findings []patchseries.Finding
	for _, diff := range patch.Diffs {
		if !diff.IsCopy {
			continue
		}
		before, _, err := repo.Run(ctx, nil, "cat-file", "blob", commit+"^:"+diff.OldName)
		if err != nil {
			return nil, err
		}
		// The source may be gone altogether.
		after, _, _ := repo.Run(ctx, nil, "cat-file", "blob", commit+":"+diff.OldName)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if was, is := lines(before), lines(after); 2*is > was {
			findings = append(findings, patchseries.Finding{Patch: file.Name, Where: "budget",
				Message: fmt.Sprintf("%s copies %s, which keeps %d of %d lines: move code or import it, a copy must be maintained twice", diff.NewName, diff.OldName, is, was)})
		}
	}
	return findings, nil
}

func lines(text string) int { return bytes.Count([]byte(text), []byte("\n")) }

func (c Config) lintLedger(patches []*patchseries.Patch) ([]patchseries.Finding, error) {
	stale, err := c.stalePages(patches)
	if err != nil {
		return nil, err
	}
	var findings []patchseries.Finding
	for _, p := range stale {
		findings = append(findings, patchseries.Finding{Where: filepath.ToSlash(p.name), Message: "is not what the patches say: run fleet-patch vendor, then fleet-patch refresh"})
	}
	return findings, nil
}
