// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const lockPoll = 50 * time.Millisecond

// lock waits until no other process works on the tree, and returns the release.
// The kernel releases it too when the process ends in any way.
func (c Config) lock(ctx context.Context) (release func(), err error) {
	path := c.beside("lock")
	if err = os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("failed to make the folder of the tree: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("failed to open the lock file: %w", err)
	}
	for waiting := false; ; waiting = true {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() {
				// Closing alone would leave the lock to a child process that is
				// just being started. Neither can fail in a way that matters:
				// the end of the process lets go of the lock for good.
				_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
				_ = file.Close()
			}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("failed to lock %s: %w", path, err), file.Close())
		}
		if !waiting {
			c.say("waiting for another run that works on %s", c.Tree)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("failed to lock %s: %w", path, ctx.Err()), file.Close())
		case <-time.After(lockPoll):
		}
	}
}

// beside returns a path next to the tree: third_party/.kueue.<suffix>. The
// leading dot keeps the go command out of it.
func (c Config) beside(suffix string) string {
	tree := c.treeDir()
	return filepath.Join(filepath.Dir(tree), "."+filepath.Base(tree)+"."+suffix)
}
