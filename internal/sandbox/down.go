// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"fleet.ai/kueue-fleet/internal/sandbox/process"
	"fleet.ai/kueue-fleet/internal/sandbox/state"
)

// DownByID ends the sandbox called id that another process runs, or the only
// one if id is empty, and removes what crashed runs left in stateRoot.
func DownByID(ctx context.Context, stateRoot, id string, out io.Writer) error {
	proc := process.NewProcFS(procRoot)
	registry, err := state.Open(stateRoot, proc)
	if err != nil {
		return err
	}
	swept, err := registry.Sweep()
	if err != nil {
		return err
	}
	for _, s := range swept {
		_, _ = fmt.Fprintf(out, "cleaned up after sandbox %s, which did not end properly%s\n", s.ID, killedText(s.Killed))
	}
	live, err := registry.Live()
	if err != nil {
		return err
	}
	target, err := choose(live, id)
	if err != nil {
		return err
	}
	if target == nil {
		_, _ = fmt.Fprintln(out, "no sandbox runs")
		return nil
	}
	if err := proc.Signal(target.Owner, syscall.SIGTERM); err != nil && !errors.Is(err, process.ErrGone) {
		return err
	}
	if err := waitEnd(ctx, proc, target.Owner); err != nil {
		return fmt.Errorf("failed to wait for the end of sandbox %s: %w", target.ID, err)
	}
	// Its owner has cleaned up, unless it could not.
	if _, err := registry.Sweep(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "sandbox %s has ended\n", target.ID)
	return nil
}

// choose picks the sandbox that is meant; nil if none runs and none is named.
func choose(live []state.Record, id string) (*state.Record, error) {
	ids := make([]string, len(live))
	for i, rec := range live {
		ids[i] = rec.ID
	}
	if id != "" {
		i := slices.Index(ids, id)
		if i < 0 {
			if len(ids) == 0 {
				ids = []string{"none"}
			}
			return nil, fmt.Errorf("sandbox %q does not run; running: %s", id, strings.Join(ids, ", "))
		}
		return &live[i], nil
	}
	switch len(live) {
	case 0:
		return nil, nil
	case 1:
		return &live[0], nil
	}
	return nil, fmt.Errorf("%d sandboxes run, name one: %s", len(live), strings.Join(ids, ", "))
}

func waitEnd(ctx context.Context, proc process.ProcFS, id process.Identity) error {
	ctx, cancel := context.WithTimeout(ctx, 2*stopWait)
	defer cancel()
	for {
		alive, err := proc.Alive(id)
		if err != nil || !alive {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
