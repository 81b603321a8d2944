// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"fleet.ai/kueue-fleet/internal/vendoring"
)

// Kueue's suites name their folders of dependency CRDs in one Go file. A new
// base may add one.
func TestKueueRenderingCoversWhatTheSuitesRead(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	raw, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	var base module.Version
	for _, r := range mod.Require {
		if r.Mod.Path == vendoring.Kueue(root, nil).Module {
			base = r.Mod
		}
	}
	modules, err := vendoring.GoCommand{}.Download(t.Context(), root, base)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(modules[0].Dir, "test", "util", "constants.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`"dep-crds", "([^"]+)"`).FindAllSubmatch(source, -1) {
		want = append(want, filepath.Join("dep-crds", string(m[1])))
	}
	for _, c := range vendoring.KueueRendering().Copies {
		got = append(got, c.To)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-suites,+rendered):\n%s", diff)
	}
}
