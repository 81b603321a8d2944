// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fleet-sandbox runs a whole fleet on one machine: a real control
// plane, the real queue manager and KubeRay, on simulated nodes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"fleet.ai/kueue-fleet/internal/sandbox"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(sandbox.Interrupted{Signal: <-signals})
		// Somebody is in a hurry. The children die with this process, and the
		// next start removes the rest.
		<-signals
		os.Exit(exitFailed)
	}()

	err := newCommand().ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet-sandbox:", err)
	}
	return exitCode(err)
}

const exitFailed = 1

// exitCode follows the shell: 128 plus the number of the signal.
func exitCode(err error) int {
	var interrupted sandbox.Interrupted
	switch {
	case err == nil:
		return 0
	case errors.As(err, &interrupted):
		if number, ok := interrupted.Signal.(syscall.Signal); ok {
			return 128 + int(number)
		}
	}
	return exitFailed
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "fleet-sandbox",
		Short:         "Run a whole fleet on one machine: real control plane, queue and KubeRay on simulated nodes",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newRunCommand(), newListCommand(), newUpCommand(), newReportCommand(), newDownCommand())
	return root
}
