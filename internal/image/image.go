// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image builds the container image of the manager without a container
// engine. A commit has one image: two builds of it with the same Go version are
// the same, byte for byte.
package image

import (
	"fmt"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"fleet.ai/kueue-fleet/internal/release"
)

// epoch is the time of what doesn't change from release to release, so that its
// layer doesn't either.
var epoch = time.Unix(0, 0).UTC()

// Environment of the manager in the image: where its certificate authorities are.
const rootsVariable = "SSL_CERT_FILE=/" + rootsPath

// Config is what the image says of how the manager runs.
func Config(r release.Release) v1.Config {
	return v1.Config{
		User:       fmt.Sprintf("%[1]d:%[1]d", UID),
		Entrypoint: []string{"/" + managerPath},
		Env:        []string{"PATH=/", rootsVariable},
		WorkingDir: "/",
		Labels:     Labels(r),
	}
}

// assemble makes the image of one platform from a compiled manager and what lies
// beside it.
func assemble(r release.Release, platform Platform, manager string, beside []entry) (v1.Image, error) {
	below, err := newLayer(withFolders(beside), epoch)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(manager)
	if err != nil {
		return nil, fmt.Errorf("failed to read the manager: %w", err)
	}
	top, err := newLayer([]entry{{name: managerPath, mode: 0o755, body: program}}, r.Date)
	if err != nil {
		return nil, err
	}

	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Arch,
		Created: v1.Time{Time: r.Date}, Config: Config(r),
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("failed to write the image's configuration: %w", err)
	}
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: below, MediaType: types.OCILayer, History: v1.History{
			Created: v1.Time{Time: epoch}, CreatedBy: "kueue-fleet: user, certificate authorities, time zones, licenses"}},
		mutate.Addendum{Layer: top, MediaType: types.OCILayer, History: v1.History{
			Created: v1.Time{Time: r.Date}, CreatedBy: "kueue-fleet: /" + managerPath}},
	)
	if err != nil {
		return nil, fmt.Errorf("failed to add the image's layers: %w", err)
	}
	return img, nil
}

// join makes one index of the platforms' images.
func join(r release.Release, platforms []Platform, images []v1.Image) v1.ImageIndex {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, img := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: platforms[i].OS, Architecture: platforms[i].Arch}},
		})
	}
	return mutate.Annotations(index, Labels(r)).(v1.ImageIndex)
}
