// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox"
)

func newDownCommand() *cobra.Command {
	var stateDir string
	cmd := &cobra.Command{
		Use:   "down [ID]",
		Short: "End a sandbox that was kept, and clean up after crashed ones",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if stateDir == "" {
				root, err := repo.FromWorkingDir()
				if err != nil {
					return err
				}
				stateDir = filepath.Join(root, stateFolder)
			}
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			return sandbox.DownByID(cmd.Context(), stateDir, id, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "folder for everything that runs write (default: "+stateFolder+")")
	return cmd
}
