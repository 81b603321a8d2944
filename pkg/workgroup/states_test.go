// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatesIn(t *testing.T) {
	var all []Status
	for _, state := range States() {
		all = append(all, Status{Group: "g", State: state, Ready: 1, Desired: 2, Reason: "because: of it"})
	}
	cases := map[string]struct {
		annotation string
		want       []State
	}{
		"every state is read as it is written": {annotation: formatStatus(all), want: States()},
		"a job without groups":                 {},
		"words of a user":                      {annotation: "copied from another job\nhead: Happy 1/1\nhead: Running 1/1", want: []State{StateRunning}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, StatesIn(tc.annotation)); diff != "" {
				t.Errorf("unexpected states (-want,+got):\n%s", diff)
			}
		})
	}
}
