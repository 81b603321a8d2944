// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ResidentBytes is how much physical memory the process pid holds now.
func (p ProcFS) ResidentBytes(pid int) (int64, error) {
	path := filepath.Join(p.root, strconv.Itoa(pid), "statm")
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("failed to read the memory of process %d: %w", pid, err)
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0, fmt.Errorf("failed to read the memory of process %d: %s is %q, want at least two numbers", pid, path, data)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("failed to read the memory of process %d: %w", pid, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
