// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) upstreamCommand() *cobra.Command {
	var tree, branch string
	cmd := &cobra.Command{
		Use:   "upstream PATCH",
		Short: "Make a patch a commit on a checkout of Kueue, and write its pull request",
		Long: `upstream prints the text of the pull request that a patch, by number or name,
would be: the headings of the project's template, answered from the header.

With --tree, the patch becomes one commit on the checkout's HEAD, tests included,
on a new branch. Its message has no trailers of ours, and the checkout's git user
is its author. HEAD, index and files of the checkout stay as they are. A patch that
stands on others wants a HEAD that holds them: docs/upstreaming.md says which.

What is left to do by hand goes to the error output.`,
		Example: "  fleet-patch upstream 0430 --tree ../kueue > pull-request.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := a.config(cmd)
			if err != nil {
				return err
			}
			if branch != "" && tree == "" {
				return fmt.Errorf("invalid --branch %q: it is made in the checkout that --tree names, and there is none", branch)
			}
			s, err := config.Submit(cmd.Context(), args[0], tree, branch)
			if err != nil {
				return err
			}
			var notes strings.Builder
			if s.Branch != "" {
				fmt.Fprintf(&notes, "%s is one commit on the new branch %s of %s\n", s.Patch.Name, s.Branch, tree)
			}
			for _, todo := range s.ByHand {
				notes.WriteString("by hand: " + todo + "\n")
			}
			cmd.PrintErr(notes.String())
			return write(cmd, s.PullRequest)
		},
	}
	cmd.Flags().StringVar(&tree, "tree", "", "a git checkout of Kueue")
	cmd.Flags().StringVar(&branch, "branch", "", "the branch to make (default: the patch's name)")
	return cmd
}
