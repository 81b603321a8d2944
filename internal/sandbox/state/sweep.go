// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

// killWait bounds the wait for a killed child of a crashed run to end.
const killWait = 10 * time.Second

// Swept tells what was left of a crashed sandbox.
type Swept struct {
	ID string
	// Killed names the child processes that were still running.
	Killed []string
}

// Sweep removes every sandbox whose owner runs no more: it kills the recorded
// children that still run, judged by process id, start time and boot, and
// deletes the folder.
func (r *Registry) Sweep() ([]Swept, error) {
	unlock, err := r.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()

	if err = r.removeHalfMade(); err != nil {
		return nil, err
	}
	recs, err := r.records()
	if err != nil {
		return nil, err
	}
	var swept []Swept
	for _, rec := range recs {
		alive, err := r.proc.Alive(rec.Owner)
		if err != nil {
			return swept, err
		}
		if alive {
			continue
		}
		killed, err := r.killChildren(rec.ID)
		if err != nil {
			return swept, fmt.Errorf("failed to clean up after sandbox %q: %w", rec.ID, err)
		}
		if err := removeDir(r.Path(rec.ID)); err != nil {
			return swept, err
		}
		swept = append(swept, Swept{ID: rec.ID, Killed: killed})
	}
	return swept, nil
}

// removeHalfMade deletes folders of runs that crashed while they made or
// removed one. Create holds the lock, so none is being made now.
func (r *Registry) removeHalfMade() error {
	half, err := filepath.Glob(filepath.Join(r.root, tmpPrefix+"*"))
	if err != nil {
		return fmt.Errorf("failed to list half-made sandboxes: %w", err)
	}
	for _, path := range half {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("failed to remove a half-made sandbox: %w", err)
		}
	}
	return nil
}

func (r *Registry) killChildren(id string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(r.Path(id), childrenDir, "*.json"))
	if err != nil {
		return nil, err
	}
	var killed []string
	for _, file := range files {
		var child process.Identity
		if err := readJSON(file, &child); err != nil {
			return killed, err
		}
		err := r.proc.Signal(child, syscall.SIGKILL)
		if errors.Is(err, process.ErrGone) {
			continue
		}
		if err != nil {
			return killed, err
		}
		if err := r.waitGone(child); err != nil {
			return killed, err
		}
		killed = append(killed, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return killed, nil
}

func (r *Registry) waitGone(id process.Identity) error {
	for deadline := time.Now().Add(killWait); ; time.Sleep(10 * time.Millisecond) {
		alive, err := r.proc.Alive(id)
		if err != nil || !alive {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d did not end %s after SIGKILL", id.PID, killWait)
		}
	}
}
