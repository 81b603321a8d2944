// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	fields := " 1 2 3 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 8 0 987654 123 456"
	cases := map[string]struct {
		stat      string
		wantState byte
		wantTicks uint64
		wantErr   string
	}{
		"a plain command":                    {stat: "42 (etcd) S" + fields, wantState: 'S', wantTicks: 987654},
		"a command with brackets and spaces": {stat: "42 (a ) R (b) Z" + fields, wantState: 'Z', wantTicks: 987654},
		"no command":                         {stat: "42 etcd S", wantErr: "no command in brackets"},
		"a line that is cut off":             {stat: "42 (etcd) S 1 2", wantErr: "3 fields after the command, want at least 20"},
		"a start time that is no number":     {stat: "42 (etcd) S" + strings.Replace(fields, "987654", "soon", 1), wantErr: "malformed start time"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state, ticks, err := parseStat([]byte(tc.stat))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || state != tc.wantState || ticks != tc.wantTicks {
				t.Errorf("got %c, %d, %v, want %c, %d", state, ticks, err, tc.wantState, tc.wantTicks)
			}
		})
	}
}

func TestAliveTellsAProcessFromItsSuccessor(t *testing.T) {
	proc := NewProcFS("/proc")
	self, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	earlier, otherBoot := self, self
	earlier.StartTicks--
	otherBoot.BootID = "another"
	for name, tc := range map[string]struct {
		id   Identity
		want bool
	}{
		"the process itself":                       {id: self, want: true},
		"an earlier process of the same id":        {id: earlier},
		"a process of the same id in another boot": {id: otherBoot},
		"a process id that does not exist":         {id: Identity{PID: 1 << 30, BootID: self.BootID}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := proc.Alive(tc.id)
			if err != nil || got != tc.want {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
			if tc.want {
				return
			}
			// Were the identity not checked, this would end the test itself.
			if err := proc.Signal(tc.id, syscall.SIGKILL); !errors.Is(err, ErrGone) {
				t.Errorf("signal gave %v, want ErrGone", err)
			}
		})
	}
}
