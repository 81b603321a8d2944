// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is what a process has taken since it was started.
type Usage struct {
	// CPU is processor time, of the program and of the kernel for it.
	CPU time.Duration
	// ResidentBytes is the physical memory that it holds now, PeakBytes the
	// most that it has held.
	ResidentBytes, PeakBytes int64
}

// Usage tells what the process pid has taken.
func (p ProcFS) Usage(pid int) (Usage, error) {
	fail := func(err error) (Usage, error) {
		return Usage{}, fmt.Errorf("failed to read what process %d takes: %w", pid, err)
	}
	fs, err := procfs.NewFS(p.root)
	if err != nil {
		return fail(err)
	}
	proc, err := fs.Proc(pid)
	if err != nil {
		return fail(err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return fail(err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return fail(err)
	}
	return Usage{
		CPU:           time.Duration(stat.CPUTime() * float64(time.Second)),
		ResidentBytes: int64(stat.ResidentMemory()), PeakBytes: int64(status.VmHWM),
	}, nil
}
