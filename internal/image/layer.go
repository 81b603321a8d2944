// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newLayer packs the entries, all with the time at.
func newLayer(entries []entry, at time.Time) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.body)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.folder() {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("failed to pack %s: %w", e.name, err)
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, fmt.Errorf("failed to pack %s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("failed to pack a layer: %w", err)
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("failed to make a layer: %w", err)
	}
	return layer, nil
}

// unpack writes the entries below dir.
func unpack(entries []entry, dir string) error {
	for _, e := range entries {
		at := filepath.Join(dir, filepath.FromSlash(e.name))
		var err error
		if e.folder() {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = os.WriteFile(at, e.body, os.FileMode(e.mode))
		}
		if err != nil {
			return fmt.Errorf("failed to unpack %s: %w", e.name, err)
		}
		mode := os.FileMode(e.mode & 0o777)
		if e.mode&0o1000 != 0 {
			mode |= os.ModeSticky
		}
		// The user's mask has a say in what was made above, and not here.
		if err := os.Chmod(at, mode); err != nil {
			return fmt.Errorf("failed to unpack %s: %w", e.name, err)
		}
	}
	return nil
}
