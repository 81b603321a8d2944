// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fleet-image builds the manager's container image without a container
// engine, and pushes it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/image"
	"fleet.ai/kueue-fleet/internal/release"
	"fleet.ai/kueue-fleet/internal/repo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(os.Stdout).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet-image:", err)
		os.Exit(1)
	}
}

// managerPackage is what runs in the image.
const managerPackage = "./cmd/kueue-fleet"

func command(stdout io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "fleet-image",
		Short: "Build and push the manager's container image",
		Long: `fleet-image builds the manager's container image without a container engine.
The Makefile's targets image, image-push and image-rootfs call it with what it
needs to know of the commit.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(stdout)
	root.AddCommand(buildCommand(), rootfsCommand(), pushCommand())
	return root
}

func buildCommand() *cobra.Command {
	var version, revision, date, series, flags, out string
	var names []string
	for _, p := range image.Platforms() {
		names = append(names, p.String())
	}
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Write an OCI layout, archives for docker load, and SPDX documents",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := release.New(version, revision, date, series)
			if err != nil {
				return err
			}
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			platforms, err := parse(names)
			if err != nil {
				return err
			}
			program := image.Program{Dir: root, Package: managerPackage, LinkerFlags: flags}
			digest, err := image.Build(cmd.Context(), r, program, platforms, out)
			if err != nil {
				return err
			}
			for _, p := range platforms {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %s\n", p, filepath.Join(out, image.ArchiveName(p)), filepath.Join(out, image.SBOMName(p)))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "index %s in the OCI layout %s\n", digest, filepath.Join(out, image.LayoutName))
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "the release, as in v0.19.2-fleet.1")
	cmd.Flags().StringVar(&revision, "revision", "", "the commit")
	cmd.Flags().StringVar(&date, "date", "", "the commit's date, as in 2006-01-02T15:04:05Z")
	cmd.Flags().StringVar(&series, "series", "", "the patch series, as COUNT@HASH")
	cmd.Flags().StringVar(&flags, "ldflags", "", "flags for the linker, which stamp the version")
	cmd.Flags().StringVar(&out, "out", "", "the folder to write, which is replaced")
	cmd.Flags().StringSliceVar(&names, "platform", names, "the platforms to build for")
	for _, name := range []string{"version", "revision", "date", "series", "out"} {
		must(cmd.MarkFlagRequired(name))
	}
	return cmd
}

func parse(names []string) ([]image.Platform, error) {
	var out []image.Platform
	for _, name := range names {
		p, err := image.ParsePlatform(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, p) {
			return nil, fmt.Errorf("invalid platforms %v: %s is named twice", names, p)
		}
		out = append(out, p)
	}
	return out, nil
}

func rootfsCommand() *cobra.Command {
	var platform, flags, out string
	cmd := &cobra.Command{
		Use:   "rootfs",
		Short: "Write the content of one platform's image into a folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := image.ParsePlatform(platform)
			if err != nil {
				return err
			}
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			return image.WriteRootFS(cmd.Context(), image.Program{Dir: root, Package: managerPackage, LinkerFlags: flags}, p, out)
		},
	}
	cmd.Flags().StringVar(&platform, "platform", "", "as in linux/amd64")
	cmd.Flags().StringVar(&flags, "ldflags", "", "flags for the linker, which stamp the version")
	cmd.Flags().StringVar(&out, "out", "", "the folder")
	for _, name := range []string{"platform", "out"} {
		must(cmd.MarkFlagRequired(name))
	}
	return cmd
}

func pushCommand() *cobra.Command {
	var layout string
	cmd := &cobra.Command{
		Use:   "push REGISTRY/REPOSITORY:TAG",
		Short: "Push the index of an OCI layout, with all platforms",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pushed, err := image.Push(cmd.Context(), layout, args[0])
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), pushed)
			return nil
		},
	}
	cmd.Flags().StringVar(&layout, "layout", "", "the OCI layout")
	must(cmd.MarkFlagRequired("layout"))
	return cmd
}

// must stops on a mistake in this file: a flag's name that isn't declared.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
