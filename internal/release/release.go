// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release says which release an artefact belongs to.
package release

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// Release is what an artefact says of itself.
type Release struct {
	// Version is the release, as in v0.19.2-fleet.1.
	Version string
	// Revision is the commit of this repository.
	Revision string
	// Date is the date of that commit. All times in an artefact come from it, so
	// that a commit has one artefact, whenever it is built.
	Date time.Time
	// Series is the number of patches and the hash over the series, as in
	// 37@0123456789ab.
	Series string
}

// New checks what the build says. The date is RFC 3339.
func New(version, revision, date, series string) (Release, error) {
	if !semver.IsValid(version) || !strings.Contains(version, "-fleet.") {
		return Release{}, fmt.Errorf("invalid version %q: want BASE-fleet.N, as in v0.19.2-fleet.1", version)
	}
	if revision == "" || revision == "unknown" {
		return Release{}, fmt.Errorf("invalid revision %q: a release is built from a commit of a git checkout", revision)
	}
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return Release{}, fmt.Errorf("invalid date %q: want the commit's date as 2006-01-02T15:04:05Z: %w", date, err)
	}
	if count, hash, found := strings.Cut(series, "@"); !found || count == "" || hash == "" {
		return Release{}, fmt.Errorf("invalid patch series %q: want COUNT@HASH", series)
	}
	return Release{Version: version, Revision: revision, Date: at.UTC(), Series: series}, nil
}

// Base is the version of Kueue that the release is made from.
func (r Release) Base() string {
	base, _, _ := strings.Cut(r.Version, "-fleet.")
	return base
}

// PatchCount is the number of patches of the series.
func (r Release) PatchCount() string {
	count, _, _ := strings.Cut(r.Series, "@")
	return count
}
