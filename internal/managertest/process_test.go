// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func start(t *testing.T, script string) (*Process, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p, err := Start("/bin/sh", []string{"-c", script}, []string{"PATH=/usr/bin:/bin"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p, ctx
}

func TestProcessKeepsItsWholeLogAndItsExitCode(t *testing.T) {
	p, ctx := start(t, "echo one; echo two >&2; exit 3")
	code, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if diff := cmp.Diff([]string{"one", "two"}, p.Lines()); diff != "" {
		t.Errorf("unexpected log (-want,+got):\n%s", diff)
	}
}

func TestWaitLine(t *testing.T) {
	cases := map[string]struct {
		script string
		want   bool
	}{
		"a line that comes is seen":                         {script: "echo ready; exec sleep 60", want: true},
		"the end of the process ends the wait":              {script: "echo other", want: false},
		"a line that came before the process ended is seen": {script: "echo ready", want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, ctx := start(t, tc.script)
			got, err := p.WaitLine(ctx, func(l Line) bool { return l.Raw == "ready" })
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("line seen: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestWaitLineFailsWhenTheContextEnds(t *testing.T) {
	p, ctx := start(t, "exec sleep 60")
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.WaitLine(ctx, func(Line) bool { return true }); err == nil {
		t.Error("no error, want one that says the context ended")
	}
}

func TestSignalReachesTheProcess(t *testing.T) {
	p, ctx := start(t, "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done")
	if _, err := p.WaitLine(ctx, func(l Line) bool { return l.Raw == "ready" }); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	code, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}
