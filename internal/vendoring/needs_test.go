// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// TestNeedsAreEnough puts each patch of our series on Kueue with what it needs and
// nothing else.
func TestNeedsAreEnough(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	c := Kueue(root, io.Discard)
	mods, base, files, _, err := c.inputs(false)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := mods.download(t.Context(), c.Go, base)
	if err != nil {
		t.Fatal(err)
	}
	patches, err := patchseries.ParseAll(files)
	if err != nil {
		t.Fatal(err)
	}
	needs := patchseries.Needs(patches)
	standing := 0
	err = withImport(t.Context(), modules[0].Dir, base.String(), true, func(repo *gitrepo.Repo, upstream string) error {
		for _, file := range files {
			chain := append(patchseries.Closure(needs, file.Name), file.Name)
			if len(chain) > 1 {
				standing++
			}
			if err := apply(t.Context(), repo, upstream, files, chain); err != nil {
				t.Errorf("%s doesn't stand on %v: %v", file.Name, chain[:len(chain)-1], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d patches, %d of them stand on others", len(files), standing)
}

func apply(ctx context.Context, repo *gitrepo.Repo, start string, files []patchseries.File, names []string) error {
	var chosen []patchseries.File
	for _, file := range files {
		if slices.Contains(names, file.Name) {
			chosen = append(chosen, file)
		}
	}
	_, _, err := patchgit.ApplyAll(ctx, repo, start, chosen)
	return err
}
