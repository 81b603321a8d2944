// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight finds out before anything starts whether a sandbox can
// run on this machine.
package preflight

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const mib = 1 << 20

// Program is a file that must be there and executable.
type Program struct {
	// Name is what it is, Path where, and Hint how one gets it.
	Name, Path, Hint string
}

// Programs reports every program that is missing or cannot be executed.
func Programs(programs ...Program) error {
	var errs []error
	for _, p := range programs {
		info, err := os.Stat(p.Path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			errs = append(errs, fmt.Errorf("missing program: %s is not at %q; %s", p.Name, p.Path, p.Hint))
		case err != nil:
			errs = append(errs, fmt.Errorf("failed to look at %s: %w", p.Name, err))
		case !info.Mode().IsRegular():
			errs = append(errs, fmt.Errorf("missing program: %q, given for %s, is not a regular file; %s", p.Path, p.Name, p.Hint))
		case info.Mode().Perm()&0o111 == 0:
			errs = append(errs, fmt.Errorf("missing program: %q, given for %s, is not executable; %s", p.Path, p.Name, p.Hint))
		}
	}
	return errors.Join(errs...)
}

// Tool reports a command that is not in PATH.
func Tool(name, why string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("missing tool: %s is not in PATH; it is needed to %s", name, why)
	}
	return nil
}

// Memory reports an error when less than wantBytes of memory is available.
// meminfo has the format of /proc/meminfo.
func Memory(meminfo io.Reader, wantBytes int64) error {
	available, err := availableBytes(meminfo)
	if err != nil {
		return err
	}
	if available < wantBytes {
		return fmt.Errorf("too little memory: %d MiB are available, a sandbox needs %d MiB", available/mib, wantBytes/mib)
	}
	return nil
}

func availableBytes(meminfo io.Reader) (int64, error) {
	const key = "MemAvailable:"
	scanner := bufio.NewScanner(meminfo)
	for scanner.Scan() {
		rest, ok := strings.CutPrefix(scanner.Text(), key)
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("failed to read the available memory from %q: %w", scanner.Text(), err)
		}
		return kib << 10, nil
	}
	if err := scanner.Err(); err != nil {
		return 0, fmt.Errorf("failed to read the available memory: %w", err)
	}
	return 0, fmt.Errorf("failed to read the available memory: no line %q", key)
}
