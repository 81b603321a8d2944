// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/vendoring"
)

func (a *app) vendorCommand() *cobra.Command {
	var opts vendoring.VendorOptions
	cmd := &cobra.Command{
		Use:   "vendor",
		Short: "Make third_party/kueue out of the module cache and the series",
		Long: `vendor makes third_party/kueue: the module that go.mod requires, held against
go.sum, with the series as commits, and the CRDs that Kueue's integration suites
read. It needs the network only for modules that are not in the module cache.

A tree that is current is left alone. A tree that holds commits or edits that
patches/ does not is refused. The new tree takes the place of the old one in the
last step, so a run that fails or is interrupted changes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config(cmd)
			if err != nil {
				return err
			}
			return config.Vendor(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Force, "force", false, "discard commits and edits in the tree that were not exported")
	cmd.Flags().BoolVar(&opts.AllowEdits, "allow-edits", false, "accept a tree with such work, if the series did not change")
	cmd.Flags().BoolVar(&opts.Pristine, "pristine", false, "apply no patch, to put the series on by hand with git am")
	cmd.MarkFlagsMutuallyExclusive("force", "allow-edits")
	return cmd
}

func (a *app) refreshCommand() *cobra.Command {
	var opts vendoring.RefreshOptions
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Export the commits of third_party/kueue to patches/",
		Long: `refresh writes the commits between upstream-head and HEAD of third_party/kueue
to patches/, and docs/patches.md from their headers. The same commits give the
same bytes on every machine.

A commit goes to the file that its trailer "Fleet-Patch: NNNN-area-verb-object"
names, else to the file that holds its subject already, else to the one --name
gives. The trailer is not written to the file. Files without a commit go away.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config(cmd)
			if err != nil {
				return err
			}
			return config.Refresh(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.Name, "name", "", "file name, NNNN-area-verb-object, for the one new commit that names none")
	cmd.Flags().BoolVar(&opts.Force, "force", false, "overwrite patch files that changed since the tree was made")
	return cmd
}
