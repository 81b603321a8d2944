// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestBadInputIsNamed(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no folder":           {[]string{"--version", "v0.19.2-fleet.1"}, "want flags only, --out among them"},
		"an argument":         {[]string{"--out", "unused", "chart"}, "want flags only, --out among them"},
		"an upstream version": {[]string{"--out", "unused", "--version", "v0.19.2"}, `invalid version "v0.19.2": want BASE-fleet.N`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := run(tc.args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
