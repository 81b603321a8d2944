// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fleet-patch keeps the patch series on Kueue: it makes the patched
// tree, exports work done there, checks the series and tries it on other
// versions. Plain "git am patches/*.patch" works without it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"fleet.ai/kueue-fleet/internal/vendoring"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := &app{now: time.Now, configure: vendoring.Kueue}
	err := a.command(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet-patch: "+err.Error())
		os.Exit(1)
	}
}
