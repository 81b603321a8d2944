// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

func (a *app) tryCommand() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "try VERSION|DIR",
		Short: "Put the series on another Kueue version, or a checkout, and say how each patch fares",
		Long: `try puts the series on another version of Kueue, or on the files of a checkout,
without touching either. Each patch is clean, moved (offset), in conflict, or
already upstream (the tree holds the whole change). A patch that does not apply
is left out and the later ones go on without it, so one that stands on it conflicts
too; those are counted apart. Conflicts do not make the command fail.`,
		Example: "  fleet-patch try v0.19.1\n  fleet-patch try ../kueue",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := a.config(cmd)
			if err != nil {
				return err
			}
			on, outcomes, err := config.Try(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			patches, err := config.Series()
			if err != nil {
				return err
			}
			follow := following(outcomes, patchseries.Needs(patches))
			if markdown {
				return write(cmd, tryTable(outcomes, follow))
			}
			return write(cmd, tryReport(on, outcomes, follow))
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a table for docs/upstreaming.md")
	return cmd
}

// following maps each patch in conflict that stands on another one in conflict to
// the first of those.
func following(outcomes []patchgit.Outcome, needs map[string][]string) map[string]string {
	conflicts := map[string]bool{}
	for _, outcome := range outcomes {
		conflicts[outcome.Patch] = outcome.Kind == patchgit.Conflict
	}
	follow := map[string]string{}
	for _, outcome := range outcomes {
		if !conflicts[outcome.Patch] {
			continue
		}
		for _, need := range patchseries.Closure(needs, outcome.Patch) {
			if conflicts[need] {
				follow[outcome.Patch] = need
				break
			}
		}
	}
	return follow
}

func tryReport(on string, outcomes []patchgit.Outcome, follow map[string]string) string {
	count := map[patchgit.Kind]int{}
	var table strings.Builder
	for _, outcome := range outcomes {
		count[outcome.Kind]++
		table.WriteString(string(outcome.Kind) + "\t" + outcome.Patch)
		if first, ok := follow[outcome.Patch]; ok {
			table.WriteString("\tstands on " + first + "\n\t")
		}
		for i, place := range outcome.Places {
			if i > 0 {
				table.WriteString("\n\t")
			}
			table.WriteString("\t" + place.String())
		}
		table.WriteString("\n")
	}
	return fmt.Sprintf("%s on %s\n%s%d clean, %d offset, %d conflict (%d of them stand on another one), %d already upstream\n",
		patchseries.Count(len(outcomes)), on, patchseries.Align(table.String()),
		count[patchgit.Clean], count[patchgit.Offset], count[patchgit.Conflict], len(follow), count[patchgit.AlreadyUpstream])
}

// tryTable lists the patches by how they fared.
func tryTable(outcomes []patchgit.Outcome, follow map[string]string) string {
	const follows = "conflict, and stands on another one"
	numbers := map[string][]string{}
	for _, outcome := range outcomes {
		kind := string(outcome.Kind)
		if _, ok := follow[outcome.Patch]; ok {
			kind = follows
		}
		number, _, _ := strings.Cut(outcome.Patch, "-")
		numbers[kind] = append(numbers[kind], number)
	}
	var out strings.Builder
	out.WriteString("| Outcome | Patches | Which |\n|---|---:|---|\n")
	for _, kind := range []string{string(patchgit.Clean), string(patchgit.Offset), string(patchgit.AlreadyUpstream), string(patchgit.Conflict), follows} {
		which := numbers[kind]
		slices.Sort(which)
		text := strings.Join(which, ", ")
		if text == "" {
			text = "-"
		}
		fmt.Fprintf(&out, "| %s | %d | %s |\n", kind, len(which), text)
	}
	return out.String()
}
