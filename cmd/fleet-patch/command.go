// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"fleet.ai/kueue-fleet/internal/vendoring"
)

// app is what the commands share.
type app struct {
	root string
	// now dates the ages of patches.
	now func() time.Time
	// configure describes the repository at root.
	configure func(root string, out io.Writer) vendoring.Config
}

func (a *app) command(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "fleet-patch",
		Short: "Keep the patch series on Kueue",
		Long: `fleet-patch keeps the patch series on Kueue.

The base is the version of sigs.k8s.io/kueue that go.mod requires. The series
is patches/*.patch in name order. The patched tree is third_party/kueue, a git
repository with the tag upstream-head on the unpatched module and a commit for
each patch. It is generated: delete it whenever you like.

To change a patch:
  fleet-patch vendor
  cd third_party/kueue       # edit, commit; git rebase -i upstream-head to amend
  fleet-patch refresh        # a new commit names its file with the trailer
                             # "Fleet-Patch: NNNN-area-verb-object"
  fleet-patch lint

As long as third_party/kueue does not exist, run it with GOWORK=off.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentFlags().StringVar(&a.root, "root", "", "folder of the repository's go.mod (default: the nearest one, upwards, that requires Kueue)")
	root.AddCommand(a.vendorCommand(), a.refreshCommand(), a.lintCommand(), a.statusCommand(), a.tryCommand(), a.upstreamCommand())
	return root
}

// config finds the repository that the command works on.
func (a *app) config(cmd *cobra.Command) (vendoring.Config, error) {
	root := a.root
	if root == "" {
		dir, err := os.Getwd()
		if err != nil {
			return vendoring.Config{}, fmt.Errorf("failed to find the working directory: %w", err)
		}
		if root, err = findRoot(dir, a.configure("", nil).Module); err != nil {
			return vendoring.Config{}, err
		}
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return vendoring.Config{}, fmt.Errorf("failed to find the folder of --root: %w", err)
	}
	return a.configure(root, cmd.OutOrStdout()), nil
}

// findRoot walks up from dir to a go.mod that requires module. The vendored
// tree's own go.mod, which does not, is passed by.
func findRoot(dir, module string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, "go.mod")
		if raw, err := os.ReadFile(path); err == nil {
			mod, err := modfile.ParseLax(path, raw, nil)
			if err != nil {
				return "", fmt.Errorf("failed to read go.mod: %w", err)
			}
			for _, r := range mod.Require {
				if r.Mod.Path == module {
					return at, nil
				}
			}
		}
		if filepath.Dir(at) == at {
			return "", fmt.Errorf("no go.mod that requires %s in %s or above: change to the repository or pass --root", module, dir)
		}
	}
}
