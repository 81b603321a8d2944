// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// Write writes the chart into the folder dir, which it replaces.
func (c Chart) Write(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("failed to replace the last chart: %w", err)
	}
	for name, data := range c {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return fmt.Errorf("failed to write the chart: %w", err)
		}
		if err := os.WriteFile(at, data, 0o644); err != nil {
			return fmt.Errorf("failed to write the chart: %w", err)
		}
	}
	return nil
}

// Package writes the chart as NAME-VERSION.tgz into the folder dir and returns the
// path. All files have the time at: a commit has one package.
func (c Chart) Package(dir string, at time.Time) (string, error) {
	var fields struct{ Name, Version string }
	if err := yaml.Unmarshal(c[chartFile], &fields); err != nil {
		return "", fmt.Errorf("failed to read %s: %w", chartFile, err)
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	names := slices.Sorted(maps.Keys(c))
	// Helm's own packages begin with the description, and so do ours.
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == chartFile:
			return -1
		case b == chartFile:
			return 1
		}
		return 0
	})
	for _, name := range names {
		header := &tar.Header{Name: path.Join(fields.Name, name), Mode: 0o644, Size: int64(len(c[name])), ModTime: at, Format: tar.FormatPAX}
		if err := packed.WriteHeader(header); err != nil {
			return "", fmt.Errorf("failed to pack %s: %w", name, err)
		}
		if _, err := packed.Write(c[name]); err != nil {
			return "", fmt.Errorf("failed to pack %s: %w", name, err)
		}
	}
	if err := packed.Close(); err != nil {
		return "", fmt.Errorf("failed to pack the chart: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return "", fmt.Errorf("failed to pack the chart: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("failed to write the package: %w", err)
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%s.tgz", fields.Name, fields.Version))
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("failed to write the package: %w", err)
	}
	return file, nil
}
