// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fleet-chart merges Kueue's chart from the patched tree with ours and
// packages the result.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"fleet.ai/kueue-fleet/internal/chart"
	"fleet.ai/kueue-fleet/internal/release"
	"fleet.ai/kueue-fleet/internal/repo"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet-chart:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("fleet-chart", flag.ContinueOnError)
	version := flags.String("version", "", "the release, as in v0.19.2-fleet.1")
	revision := flags.String("revision", "", "the commit")
	date := flags.String("date", "", "the commit's date, as in 2006-01-02T15:04:05Z")
	series := flags.String("series", "", "the patch series, as COUNT@HASH")
	out := flags.String("out", "", "the folder for the package and for the chart's files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *out == "" {
		return fmt.Errorf("invalid arguments %q: want flags only, --out among them", args)
	}
	r, err := release.New(*version, *revision, *date, *series)
	if err != nil {
		return err
	}
	root, err := repo.FromWorkingDir()
	if err != nil {
		return err
	}
	merged, err := chart.Merge(chart.Checkout(root), r)
	if err != nil {
		return err
	}
	dir := filepath.Join(*out, "kueue-fleet")
	if err := merged.Write(dir); err != nil {
		return err
	}
	file, err := merged.Package(*out, r.Date)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d files, also in %s\n", file, len(merged), dir)
	return nil
}
