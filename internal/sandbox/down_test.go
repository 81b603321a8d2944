// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	"fleet.ai/kueue-fleet/internal/sandbox/state"
)

func TestChoose(t *testing.T) {
	a, b := state.Record{ID: "a"}, state.Record{ID: "b"}
	cases := map[string]struct {
		live    []state.Record
		id      string
		want    string
		wantErr string
	}{
		"none runs and none is named": {},
		"the only one":                {live: []state.Record{a}, want: "a"},
		"the one that is named":       {live: []state.Record{a, b}, id: "b", want: "b"},
		"several and none is named":   {live: []state.Record{a, b}, wantErr: "2 sandboxes run, name one: a, b"},
		"one that does not run":       {live: []state.Record{a, b}, id: "c", wantErr: `sandbox "c" does not run; running: a, b`},
		"none runs":                   {id: "c", wantErr: `sandbox "c" does not run; running: none`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := choose(tc.live, tc.id)
			if tc.wantErr != "" {
				if err == nil || !strings.HasSuffix(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want an error that ends with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			id := ""
			if got != nil {
				id = got.ID
			}
			if id != tc.want {
				t.Errorf("got %q, want %q", id, tc.want)
			}
		})
	}
}
