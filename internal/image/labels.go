// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"time"

	"fleet.ai/kueue-fleet/internal/release"
)

// Labels are the image's labels; keys of ours are below ai.fleet.kueue-fleet.
func Labels(r release.Release) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "kueue-fleet",
		"org.opencontainers.image.description": "Kueue's manager with the patches and extensions of kueue-fleet",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     r.Version,
		"org.opencontainers.image.revision":    r.Revision,
		"org.opencontainers.image.created":     r.Date.Format(time.RFC3339),
		"ai.fleet.kueue-fleet.base-version":    r.Base(),
		"ai.fleet.kueue-fleet.patch-series":    r.Series,
	}
}
