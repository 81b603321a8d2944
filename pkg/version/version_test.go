// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewInfo(t *testing.T) {
	cases := map[string]struct {
		release string
		want    Info
	}{
		"a release": {
			release: "v0.19.2-fleet.1",
			want:    Info{Version: "v0.19.2-fleet.1", Base: "v0.19.2", PatchSeries: "2@0123456789ab"},
		},
		"a build without linker flags": {
			release: "v0.0.0-main",
			want:    Info{Version: "v0.0.0-main", Base: "v0.0.0-main", PatchSeries: "2@0123456789ab"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newInfo(tc.release, "2@0123456789ab")); diff != "" {
				t.Errorf("Unexpected version (-want,+got):\n%s", diff)
			}
		})
	}
}
