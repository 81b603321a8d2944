// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controlplane builds the Kubernetes control plane that the checkout pins,
// unless the cache holds it, and prints the folder of the programs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/repo"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 {
		return fmt.Errorf("unexpected argument %q: the command takes none", os.Args[1])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := repo.FromWorkingDir()
	if err != nil {
		return err
	}
	binaries, err := controlplane.Ensure(ctx, root, func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "controlplane: "+format+"\n", args...)
	})
	if err != nil {
		return err
	}
	fmt.Println(binaries.Dir)
	return nil
}
