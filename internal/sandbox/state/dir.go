// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"os"
	"path/filepath"

	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

const (
	logsDir     = "logs"
	childrenDir = "children"
	// failureDir keeps the logs of the last run that failed.
	failureDir = "last-failure"
)

// Dir is the folder of one sandbox.
type Dir struct {
	path   string
	Record Record
}

// Path joins names below the folder.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Logs is the folder of the log files.
func (d *Dir) Logs() string {
	return d.Path(logsDir)
}

// RecordChild notes a child process, for the clean-up after a crash.
func (d *Dir) RecordChild(name string, id process.Identity) error {
	return writeJSON(d.Path(childrenDir, name+".json"), id)
}

// KeepLogs moves the log files to where they outlive the sandbox and returns
// that folder. Logs of an earlier failure are replaced.
func (d *Dir) KeepLogs() (string, error) {
	to := filepath.Join(filepath.Dir(d.path), failureDir)
	if err := os.RemoveAll(to); err != nil {
		return "", fmt.Errorf("failed to keep the logs: %w", err)
	}
	if err := os.Rename(d.Logs(), to); err != nil {
		return "", fmt.Errorf("failed to keep the logs: %w", err)
	}
	return to, nil
}

// Remove deletes the folder.
func (d *Dir) Remove() error {
	return removeDir(d.path)
}

// removeDir deletes a sandbox's folder. It loses its name first, so that a
// removal that is cut short is picked up by the next sweep.
func removeDir(path string) error {
	tmp := filepath.Join(filepath.Dir(path), tmpPrefix+"gone-"+filepath.Base(path))
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("failed to remove %s: %w", path, err)
	}
	if err := os.Rename(path, tmp); err != nil {
		return fmt.Errorf("failed to remove %s: %w", path, err)
	}
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("failed to remove %s: %w", path, err)
	}
	return nil
}
