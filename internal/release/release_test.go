// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNew(t *testing.T) {
	const version, revision, date, series = "v0.19.2-fleet.1", "0123456789ab", "2026-01-02T03:04:05Z", "37@0123456789ab"
	cases := map[string]struct {
		version, revision, date, series string
		wantErr                         string
	}{
		"a release of a commit is taken":               {version, revision, date, series, ""},
		"an upstream version is refused":               {"v0.19.2", revision, date, series, `invalid version "v0.19.2": want BASE-fleet.N`},
		"a checkout without git is refused":            {version, "unknown", date, series, `invalid revision "unknown"`},
		"an unknown date is refused":                   {version, revision, "unknown", series, `invalid date "unknown"`},
		"a patch series without its hash is refused":   {version, revision, date, "37@", `invalid patch series "37@": want COUNT@HASH`},
		"a patch series without its number is refused": {version, revision, date, "0123", `invalid patch series "0123"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := New(tc.version, tc.revision, tc.date, tc.series)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("v0.19.2", r.Base()); diff != "" {
				t.Errorf("unexpected base version (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff("37", r.PatchCount()); diff != "" {
				t.Errorf("unexpected number of patches (-want,+got):\n%s", diff)
			}
		})
	}
}
