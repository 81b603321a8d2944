// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state keeps the folder of each sandbox and the records that let a
// later run clean up after one that crashed, without touching a process that
// is not its own.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

const (
	lockFile   = "lock"
	recordFile = "sandbox.json"
	// tmpPrefix marks folders that are being made or removed.
	tmpPrefix = ".tmp-"
)

// Record describes one sandbox.
type Record struct {
	ID string `json:"id"`
	// Owner is the fleet-sandbox process that runs it.
	Owner     process.Identity `json:"owner"`
	Ports     ports.Set        `json:"ports"`
	StartedAt time.Time        `json:"startedAt"`
}

// Registry is the folder that holds the sandboxes of one checkout.
type Registry struct {
	root string
	proc process.ProcFS
}

// Open returns the registry in root, which is created when missing.
func Open(root string, proc process.ProcFS) (*Registry, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("failed to create the state folder: %w", err)
	}
	return &Registry{root: root, proc: proc}, nil
}

// Create makes the folder of a new sandbox. choosePorts gets the ports of all
// other sandboxes; no other Create runs meanwhile.
func (r *Registry) Create(rec Record, choosePorts func(taken []int) (ports.Set, error)) (*Dir, error) {
	unlock, err := r.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()

	others, err := r.records()
	if err != nil {
		return nil, err
	}
	var taken []int
	for _, other := range others {
		if other.ID == rec.ID {
			return nil, fmt.Errorf("failed to create sandbox %q: it exists already", rec.ID)
		}
		for _, port := range other.Ports {
			taken = append(taken, port)
		}
	}
	if rec.Ports, err = choosePorts(taken); err != nil {
		return nil, err
	}
	// A folder gets its name only when its record is complete.
	tmp := filepath.Join(r.root, tmpPrefix+rec.ID)
	if err := os.RemoveAll(tmp); err != nil {
		return nil, fmt.Errorf("failed to create sandbox %q: %w", rec.ID, err)
	}
	for _, sub := range []string{logsDir, childrenDir} {
		if err := os.MkdirAll(filepath.Join(tmp, sub), 0o755); err != nil {
			return nil, fmt.Errorf("failed to create sandbox %q: %w", rec.ID, err)
		}
	}
	if err := writeJSON(filepath.Join(tmp, recordFile), rec); err != nil {
		return nil, err
	}
	dir := &Dir{path: filepath.Join(r.root, rec.ID), Record: rec}
	if err := os.Rename(tmp, dir.path); err != nil {
		return nil, fmt.Errorf("failed to create sandbox %q: %w", rec.ID, err)
	}
	return dir, nil
}

// Live returns the sandboxes whose owner runs, oldest first.
func (r *Registry) Live() ([]Record, error) {
	recs, err := r.records()
	if err != nil {
		return nil, err
	}
	var live []Record
	for _, rec := range recs {
		alive, err := r.proc.Alive(rec.Owner)
		if err != nil {
			return nil, err
		}
		if alive {
			live = append(live, rec)
		}
	}
	slices.SortFunc(live, func(a, b Record) int { return a.StartedAt.Compare(b.StartedAt) })
	return live, nil
}

// Path is the folder of the sandbox called id.
func (r *Registry) Path(id string) string {
	return filepath.Join(r.root, id)
}

// Root is the folder of the registry.
func (r *Registry) Root() string {
	return r.root
}

// lock keeps other fleet-sandbox processes out of the registry. The kernel
// drops the lock with the process.
func (r *Registry) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(r.root, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("failed to open the state lock: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("failed to take the state lock: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// records reads all complete sandboxes.
func (r *Registry) records() ([]Record, error) {
	entries, err := os.ReadDir(r.root)
	if err != nil {
		return nil, fmt.Errorf("failed to list the sandboxes: %w", err)
	}
	var recs []Record
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), tmpPrefix) {
			continue
		}
		var rec Record
		err := readJSON(filepath.Join(r.root, entry.Name(), recordFile), &rec)
		if errors.Is(err, os.ErrNotExist) {
			continue // Not a sandbox, or one that is being removed.
		}
		if err != nil {
			return nil, err
		}
		if rec.ID != entry.Name() {
			return nil, fmt.Errorf("failed to read sandbox %q: its record is of %q", entry.Name(), rec.ID)
		}
		recs = append(recs, rec)
	}
	return recs, nil
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("failed to encode %s: %w", path, err)
	}
	// Rename, so that a crash leaves no half-written record.
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("failed to write %s: %w", path, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("failed to write %s: %w", path, err)
	}
	return nil
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("failed to read %s: %w", path, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("failed to decode %s: %w", path, err)
	}
	return nil
}
