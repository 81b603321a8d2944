// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"fleet.ai/kueue-fleet/internal/controlplane"
)

// needed are paths of the tree that the module lacks and make vendor makes.
var needed = []string{
	"config/components/crd/_output/crds-with-webhooks.yaml",
	"dep-crds/ray-operator-crds",
	"dep-crds/jobset-operator",
	"dep-crds/cluster-autoscaler",
}

func checkTree(tree string) error {
	if _, err := os.Stat(filepath.Join(tree, "go.mod")); err != nil {
		return fmt.Errorf("no Kueue tree at %s (run make vendor): %w", tree, err)
	}
	for _, path := range needed {
		if _, err := os.Stat(filepath.Join(tree, path)); err != nil {
			return fmt.Errorf("the Kueue tree lacks %s (run make vendor): %w", path, err)
		}
	}
	return nil
}

// prepareSuites builds what the integration suites need besides themselves.
func (r *runner) prepareSuites(ctx context.Context, repoRoot string, suites []Suite) error {
	if err := checkTree(r.tree); err != nil {
		return err
	}
	binaries, err := controlplane.Ensure(ctx, repoRoot, r.logf)
	if err != nil {
		return err
	}
	r.assets = binaries.Dir
	// The CLI must be of the version that the suites import, and the root module
	// requires the same one as Kueue; Ginkgo itself warns about a mismatch.
	r.ginkgo = filepath.Join(r.binDir, "ginkgo")
	if err := goBuild(ctx, repoRoot, r.ginkgo, "github.com/onsi/ginkgo/v2/ginkgo"); err != nil {
		return err
	}
	for _, s := range suites {
		if s.NeedsKueuectl {
			return goBuild(ctx, r.tree, filepath.Join(r.binDir, "kubectl-kueue"), "./cmd/kueuectl")
		}
	}
	return nil
}

func goBuild(ctx context.Context, dir, target, pkg string) error {
	_, err := output(exec.CommandContext(ctx, "go", "build", "-C", dir, "-ldflags=-s -w", "-o", target, pkg))
	return err
}
