// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox"
)

func newUpCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "up [SCENARIO]",
		Short: "Start the fleet of a scenario without its jobs, and stay up",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			flags.repeat = 1
			stories, err := flags.stories(root, args)
			if err != nil {
				return err
			}
			box, err := sandbox.Up(cmd.Context(), flags.options(cmd, root, stories[0].Scenario))
			if err != nil {
				return err
			}
			err = stay(cmd, box)
			return errors.Join(err, box.Down(err != nil))
		},
	}
	flags.add(cmd)
	return cmd
}
