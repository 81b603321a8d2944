// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version tells which kueue-fleet this is.
package version

import (
	"fmt"
	"runtime"
	"strings"

	kueueversion "sigs.k8s.io/kueue/pkg/version"
)

// patchSeries identifies the patch series that the binary was built with. It is
// set by the linker: the number of patches and the first 12 hexadecimal digits
// of the hash over the series, as in "2@0123456789ab".
var patchSeries = "unknown"

// Info is what a running manager says of itself.
type Info struct {
	// Version is the release, as in v0.19.2-fleet.1. It is also what Kueue's own
	// version, user agent and metrics show.
	Version string
	// Base is the Kueue version that it was built from.
	Base string
	// PatchSeries is the number of patches and the hash over the series.
	PatchSeries string
}

// Get returns the version of the running binary.
func Get() Info {
	return newInfo(kueueversion.GitVersion, patchSeries)
}

// UserAgent returns what the manager's requests say of themselves: as Kueue's do,
// with the whole version.
func UserAgent() string {
	return fmt.Sprintf("kueue/%s (%s/%s) %.7s",
		kueueversion.GitVersion, runtime.GOOS, runtime.GOARCH, kueueversion.GitCommit)
}

func newInfo(release, series string) Info {
	base, _, _ := strings.Cut(release, "-fleet.")
	return Info{Version: release, Base: base, PatchSeries: series}
}
