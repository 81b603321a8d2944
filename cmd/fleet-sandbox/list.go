// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

func newListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the scenarios",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			dir := filepath.Join(root, scenarioFolder)
			names, err := scenario.Names(dir)
			if err != nil {
				return err
			}
			for _, name := range names {
				file, err := scenario.Find(dir, name)
				if err != nil {
					return err
				}
				s, err := scenario.Load(file)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%-32s %s\n", name, s.Title)
			}
			return nil
		},
	}
}
