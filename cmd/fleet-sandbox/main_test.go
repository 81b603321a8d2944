// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"fleet.ai/kueue-fleet/internal/sandbox"
)

func TestExitCode(t *testing.T) {
	cases := map[string]struct {
		err  error
		want int
	}{
		"all is well":      {want: 0},
		"a failure":        {err: errors.New("x"), want: 1},
		"a failed check":   {err: sandbox.ErrChecksFailed, want: 1},
		"Ctrl-C":           {err: fmt.Errorf("up: %w", sandbox.Interrupted{Signal: syscall.SIGINT}), want: 130},
		"a polite kill":    {err: errors.Join(sandbox.Interrupted{Signal: syscall.SIGTERM}, nil), want: 143},
		"a signal by name": {err: sandbox.Interrupted{Signal: syscall.SIGHUP}, want: 129},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(tc.err); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestDownWithNothingThere(t *testing.T) {
	cmd := newCommand()
	cmd.SetArgs([]string{"down", "--state-dir", t.TempDir(), "ghost"})
	if err := cmd.Execute(); err == nil || err.Error() != `sandbox "ghost" does not run; running: none` {
		t.Errorf("got %v", err)
	}
}
