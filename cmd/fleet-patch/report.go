// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/patchseries"
	"fleet.ai/kueue-fleet/internal/vendoring"
)

func (a *app) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint",
		Short: "Check names, headers, size, and that the series applies and exports byte for byte",
		Long: fmt.Sprintf(`lint checks, for each patch:

  name        NNNN-area-verb-object.patch, a number of its own, in a band
  header      subject; sections %s;
              trailers Fleet-Class, Upstream-Status, Upstream-Issue, Drop-When,
              Feature-Gate, Tests; URLs instead of issue numbers
  budget      changed lines outside tests: a warning above %d, an error above %d
  apply       every hunk at its very place
  round trip  an export of the applied patch is the file, byte for byte

and that docs/patches.md says what the headers say.`,
			strings.Join(patchseries.Sections(), ", "), patchseries.BudgetWarning, patchseries.BudgetLimit),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config(cmd)
			if err != nil {
				return err
			}
			findings, err := config.Lint(cmd.Context())
			if err != nil {
				return err
			}
			for _, finding := range findings {
				if err = write(cmd, finding.String()+"\n"); err != nil {
					return err
				}
			}
			if patchseries.Failed(findings) {
				return errors.New("the series has errors")
			}
			files, err := patchseries.ReadDir(filepath.Join(config.Root, config.Patches))
			if err != nil {
				return err
			}
			return write(cmd, patchseries.Count(len(files))+" checked, no errors\n")
		},
	}
}

func write(cmd *cobra.Command, text string) error {
	if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
		return fmt.Errorf("failed to write the output: %w", err)
	}
	return nil
}

func (a *app) statusCommand() *cobra.Command {
	var markdown bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print the ledger: patches by class, age and size",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config(cmd)
			if err != nil {
				return err
			}
			ledger, err := readLedger(config)
			if err != nil {
				return err
			}
			if markdown {
				return write(cmd, ledger.Markdown())
			}
			for i := range ledger.Rows {
				row := &ledger.Rows[i]
				row.Since = firstCommitted(cmd.Context(), config.Root, filepath.Join(config.Patches, row.Patch.Name))
			}
			return write(cmd, ledger.Text(a.now()))
		},
	}
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print docs/patches.md, which holds no ages")
	return cmd
}

func readLedger(config vendoring.Config) (*patchseries.Ledger, error) {
	base, err := config.Base()
	if err != nil {
		return nil, err
	}
	patches, err := config.Series()
	if err != nil {
		return nil, err
	}
	return patchseries.NewLedger(base, patches), nil
}

// firstCommitted returns when a file entered our history, under whatever name;
// the zero time if it has not, or if there is no history.
func firstCommitted(ctx context.Context, root, file string) time.Time {
	cmd := exec.CommandContext(ctx, "git", "-C", root, "-c", "log.showSignature=false", "log", "--follow", "--diff-filter=A", "--format=%at", "--", file)
	out, err := cmd.Output()
	if err != nil {
		return time.Time{}
	}
	stamps := strings.Fields(string(out))
	if len(stamps) == 0 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(stamps[len(stamps)-1], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}
