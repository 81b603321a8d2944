// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLineString(t *testing.T) {
	cases := map[string]struct {
		raw  string
		want string
	}{
		"a structured line loses its time and its place": {
			raw:  `{"level":"info","ts":"2026-01-02T03:04:05.6Z","logger":"setup","caller":"kueue/main.go:7","msg":"Initializing","gitVersion":"v1","a":[1]}`,
			want: `info | setup | Initializing | a=[1] | gitVersion="v1"`,
		},
		"an error keeps its text and loses its stack": {
			raw:  `{"level":"error","ts":"x","logger":"setup","msg":"Unable","error":"no file","stacktrace":"main.main"}`,
			want: `error | setup | Unable | error=no file`,
		},
		"a klog line keeps severity and text": {
			raw:  "W0102 03:04:05.678901    4711 feature_gate.go:352] Setting GA feature gate A=true.",
			want: "W Setting GA feature gate A=true.",
		},
		"any other line stays as it is": {
			raw:  "flag provided but not defined: -nope",
			want: "flag provided but not defined: -nope",
		},
		"a line that only looks structured stays as it is": {
			raw:  "{not json",
			want: "{not json",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseLine(tc.raw).String()); diff != "" {
				t.Errorf("unexpected line (-want,+got):\n%s", diff)
			}
		})
	}
}
