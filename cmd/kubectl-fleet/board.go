// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"fleet.ai/kueue-fleet/internal/clusterread"
	"fleet.ai/kueue-fleet/internal/evicted"
	"fleet.ai/kueue-fleet/internal/nodeboard"
)

// shortestInterval spares the API server: every drawing lists all pods.
const shortestInterval = time.Second

func (o *options) boardCommand() *cobra.Command {
	var resource string
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "board",
		Short: "Draw the nodes and who has their GPUs",
		Long: `board draws the nodes with a letter for each piece of a device that a job has, and
lists the jobs and what waits. The device is the one that the nodes have the most
of, unless --resource names another.

With --watch, it draws anew at each interval until it is interrupted; with -o json,
it then writes one document after the other.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < shortestInterval {
				return fmt.Errorf("invalid --interval %s: want %s or more", interval, shortestInterval)
			}
			reader, _, err := o.reader()
			if err != nil {
				return err
			}
			if !watch {
				return o.drawBoard(cmd.Context(), cmd.OutOrStdout(), reader, resource)
			}
			return o.watchBoard(cmd.Context(), cmd.OutOrStdout(), reader, resource, interval)
		},
	}
	cmd.Flags().StringVar(&resource, "resource", "", "the device, as nvidia.com/gpu")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "draw anew until interrupted")
	cmd.Flags().DurationVar(&interval, "interval", 5*time.Second, "how often --watch draws")
	return cmd
}

func (o *options) drawBoard(ctx context.Context, out io.Writer, reader *clusterread.Reader, resource string) error {
	state, err := reader.Board(ctx)
	if err != nil {
		return err
	}
	device := corev1.ResourceName(resource)
	if device == "" {
		device = nodeboard.Device(state.Nodes)
	}
	return o.print(out, nodeboard.New(state, device))
}

// wipe takes the cursor to the corner and wipes the screen, on any terminal of today.
const wipe = "\x1b[H\x1b[2J"

// watchBoard draws until the context ends. A drawing goes out in one piece, so that
// the screen doesn't flicker.
func (o *options) watchBoard(ctx context.Context, out io.Writer, reader *clusterread.Reader, resource string, interval time.Duration) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		var drawing bytes.Buffer
		if o.output == "table" {
			drawing.WriteString(wipe)
		}
		if err := o.drawBoard(ctx, &drawing, reader, resource); err != nil {
			if ctx.Err() != nil {
				return nil // Interrupted while it read.
			}
			return err
		}
		if _, err := out.Write(drawing.Bytes()); err != nil {
			return fmt.Errorf("failed to draw: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (o *options) whyEvictedCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "why-evicted NAME",
		Short: "Say why a Workload was evicted, by whom, and what comes next",
		Long: `why-evicted says why a Workload was evicted the last time, which Workload took its
place, how often it was evicted for what, and when it is queued again. NAME is the
Workload's, or that of its job.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reader, namespace, err := o.reader()
			if err != nil {
				return err
			}
			state, err := reader.WhyEvicted(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			return o.print(cmd.OutOrStdout(), evicted.Why(state))
		},
	}
}
