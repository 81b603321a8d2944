// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ErrGone says that the process an Identity names runs no more.
var ErrGone = errors.New("process is gone")

// Identity names one process for good. A process id alone is used again
// after a while; together with the start time and the boot it is not.
type Identity struct {
	PID int `json:"pid"`
	// StartTicks is field 22 of /proc/PID/stat: clock ticks between boot and
	// the start of the process.
	StartTicks uint64 `json:"startTicks"`
	// BootID changes with every boot, so that ticks of two boots are not
	// mixed up.
	BootID string `json:"bootID"`
}

// ProcFS reads process facts from a mounted proc file system.
type ProcFS struct {
	root string
}

// NewProcFS returns a reader of the proc file system mounted at root.
func NewProcFS(root string) ProcFS {
	return ProcFS{root: root}
}

// Identify returns the identity of the running process pid. A process that
// does not exist, or has ended and only waits to be reaped, gives ErrGone.
func (p ProcFS) Identify(pid int) (Identity, error) {
	stat, err := os.ReadFile(filepath.Join(p.root, strconv.Itoa(pid), "stat"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Identity{}, fmt.Errorf("failed to identify process %d: %w", pid, ErrGone)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("failed to identify process %d: %w", pid, err)
	}
	state, ticks, err := parseStat(stat)
	if err != nil {
		return Identity{}, fmt.Errorf("failed to identify process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return Identity{}, fmt.Errorf("failed to identify process %d: %w", pid, ErrGone)
	}
	boot, err := os.ReadFile(filepath.Join(p.root, "sys/kernel/random/boot_id"))
	if err != nil {
		return Identity{}, fmt.Errorf("failed to read the boot id: %w", err)
	}
	return Identity{PID: pid, StartTicks: ticks, BootID: strings.TrimSpace(string(boot))}, nil
}

// Alive reports whether exactly this process still runs.
func (p ProcFS) Alive(id Identity) (bool, error) {
	now, err := p.Identify(id.PID)
	if errors.Is(err, ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return now == id, nil
}

// Signal sends sig to exactly this process. It returns ErrGone when the
// process has ended, also when its id belongs to another process by now.
func (p ProcFS) Signal(id Identity, sig syscall.Signal) error {
	// The handle pins the process, so the id cannot change hands between the
	// check and the signal.
	handle, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("failed to open process %d: %w", id.PID, err)
	}
	defer func() { _ = handle.Release() }()
	alive, err := p.Alive(id)
	if err != nil {
		return err
	}
	if !alive {
		return fmt.Errorf("failed to signal process %d: %w", id.PID, ErrGone)
	}
	if err := handle.Signal(sig); errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("failed to signal process %d: %w", id.PID, ErrGone)
	} else if err != nil {
		return fmt.Errorf("failed to signal process %d: %w", id.PID, err)
	}
	return nil
}

// parseStat reads the state letter and the start time out of a stat line.
// The second field, the command, is in brackets and may hold spaces and
// brackets itself, so fields are counted from its last bracket.
func parseStat(stat []byte) (state byte, startTicks uint64, err error) {
	const fieldsBeforeState, startTimeField = 2, 22
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("malformed stat line %q: no command in brackets", stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < startTimeField-fieldsBeforeState {
		return 0, 0, fmt.Errorf("malformed stat line %q: %d fields after the command, want at least %d",
			stat, len(fields), startTimeField-fieldsBeforeState)
	}
	ticks, err := strconv.ParseUint(fields[startTimeField-fieldsBeforeState-1], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("malformed start time in stat line %q: %w", stat, err)
	}
	return fields[0][0], ticks, nil
}
