// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push sends the index of the OCI layout in dir to the reference
// REGISTRY/REPOSITORY:TAG, with all platforms, and returns where it is by digest.
// Credentials are those of "docker login".
func Push(ctx context.Context, dir, reference string) (string, error) {
	tag, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("invalid reference %q: want REGISTRY/REPOSITORY:TAG: %w", reference, err)
	}
	index, err := readIndex(dir)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", fmt.Errorf("failed to push to %s: %w", tag, err)
	}
	hash, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("failed to compute the digest: %w", err)
	}
	return tag.Digest(hash.String()).String(), nil
}

// readIndex returns the one index in the layout.
func readIndex(dir string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, fmt.Errorf("failed to read the OCI layout in %s (make image writes it): %w", dir, err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("failed to read the OCI layout in %s: %w", dir, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the OCI layout in %s has %d entries, want one index", dir, len(manifest.Manifests))
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("failed to read the index of the OCI layout in %s: %w", dir, err)
	}
	return index, nil
}
