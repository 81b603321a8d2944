// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"fleet.ai/kueue-fleet/internal/release"
)

// Names in the folder that Build writes.
const (
	// LayoutName is the OCI layout with all platforms.
	LayoutName = "oci"
	// DigestName is a file with the digest of the index, as in sha256:....
	DigestName = "digest"
	// refName is the annotation by which tools find an image in a layout.
	refName = "org.opencontainers.image.ref.name"
	// localName is what the image is called where it is loaded into an engine.
	localName = "kueue-fleet"
)

// ArchiveName is the name of a platform's archive for "docker load".
func ArchiveName(p Platform) string { return fmt.Sprintf("%s-%s-%s.tar", localName, p.OS, p.Arch) }

// SBOMName is the name of a platform's software bill of materials.
func SBOMName(p Platform) string { return fmt.Sprintf("%s-%s-%s.spdx.json", localName, p.OS, p.Arch) }

// Build compiles the program for the platforms and writes into the folder out,
// which it replaces: an OCI layout, and for each platform an archive for "docker
// load" and an SPDX document. It returns the digest of the index.
func Build(ctx context.Context, r release.Release, program Program, platforms []Platform, out string) (digest string, err error) {
	parent := filepath.Dir(out)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("failed to make the output folder: %w", err)
	}
	// Beside the result, so that it can be moved there: a folder that has the
	// name is whole.
	dir, err := os.MkdirTemp(parent, ".image-")
	if err != nil {
		return "", fmt.Errorf("failed to make the output folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	done := filepath.Join(dir, "done")
	if err := os.Mkdir(done, 0o755); err != nil {
		return "", fmt.Errorf("failed to make the output folder: %w", err)
	}

	base, err := ReadBase(ctx)
	if err != nil {
		return "", err
	}
	images := make([]v1.Image, 0, len(platforms))
	for _, p := range platforms {
		manager := filepath.Join(dir, "manager-"+p.Arch)
		if err := program.Compile(ctx, p, manager); err != nil {
			return "", err
		}
		licenses, err := program.licenses(ctx, p)
		if err != nil {
			return "", err
		}
		img, err := assemble(r, p, manager, slices.Concat(base.entries, licenses))
		if err != nil {
			return "", err
		}
		images = append(images, img)
		if err := writePlatform(r, p, img, manager, base, done); err != nil {
			return "", err
		}
	}
	hash, err := writeLayout(r, join(r, platforms, images), filepath.Join(done, LayoutName))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(done, DigestName), []byte(hash.String()+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("failed to write the digest: %w", err)
	}
	if err := os.RemoveAll(out); err != nil {
		return "", fmt.Errorf("failed to replace the last image: %w", err)
	}
	if err := os.Rename(done, out); err != nil {
		return "", fmt.Errorf("failed to move the image into place: %w", err)
	}
	return hash.String(), nil
}

func writePlatform(r release.Release, p Platform, img v1.Image, manager string, base Base, dir string) error {
	tag, err := name.NewTag(localName + ":" + r.Version)
	if err != nil {
		return fmt.Errorf("failed to name the image: %w", err)
	}
	if err := tarball.WriteToFile(filepath.Join(dir, ArchiveName(p)), tag, img); err != nil {
		return fmt.Errorf("failed to write the archive for %s: %w", p, err)
	}
	sbom, err := describe(r, p, img, manager, base)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, SBOMName(p)), sbom, 0o644); err != nil {
		return fmt.Errorf("failed to write the bill of materials for %s: %w", p, err)
	}
	return nil
}

func writeLayout(r release.Release, index v1.ImageIndex, dir string) (v1.Hash, error) {
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("failed to make the OCI layout: %w", err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: r.Version})); err != nil {
		return v1.Hash{}, fmt.Errorf("failed to write the OCI layout: %w", err)
	}
	hash, err := index.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("failed to compute the digest: %w", err)
	}
	return hash, nil
}

// WriteRootFS compiles the program and writes the content of one platform's image
// below dir, for builds by a container engine.
func WriteRootFS(ctx context.Context, program Program, platform Platform, dir string) error {
	base, err := ReadBase(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("failed to make the folder of the content: %w", err)
	}
	licenses, err := program.licenses(ctx, platform)
	if err != nil {
		return err
	}
	if err := unpack(withFolders(slices.Concat(base.entries, licenses)), dir); err != nil {
		return err
	}
	// The go command takes a relative path as relative to the program's module.
	dir, err = filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("failed to resolve the folder of the content: %w", err)
	}
	return program.Compile(ctx, platform, filepath.Join(dir, managerPath))
}
