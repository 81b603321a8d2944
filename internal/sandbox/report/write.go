// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report writes what recordings say, as text, as JSON and as a page.
package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// WriteFile writes a file anew and says if not all of it could be written.
func WriteFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("failed to write the report: %w", err)
	}
	buffer := bufio.NewWriter(file)
	if err := errors.Join(write(buffer), buffer.Flush(), file.Close()); err != nil {
		return fmt.Errorf("failed to write %s: %w", path, err)
	}
	return nil
}
