// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestBadInputIsNamed(t *testing.T) {
	release := []string{"--version", "v0.19.2-fleet.1", "--revision", "0123456789ab", "--date", "2026-01-02T03:04:05Z", "--series", "37@0123456789ab", "--out", "unused"}
	cases := map[string]struct {
		args []string
		want string
	}{
		"no release":                  {[]string{"build"}, `required flag(s) "date", "out", "revision", "series", "version" not set`},
		"an upstream version":         {append([]string{"build"}, append(release, "--version", "v0.19.2")...), `invalid version "v0.19.2": want BASE-fleet.N`},
		"an unknown platform":         {append([]string{"build"}, append(release, "--platform", "linux/s390x")...), `invalid platform "linux/s390x": want one of linux/amd64, linux/arm64`},
		"a platform that comes twice": {append([]string{"build"}, append(release, "--platform", "linux/amd64,linux/amd64")...), "linux/amd64 is named twice"},
		"a folder for no platform":    {[]string{"rootfs", "--out", "unused", "--platform", ""}, `invalid platform "": want one of linux/amd64, linux/arm64`},
		"a push to nowhere":           {[]string{"push", "--layout", "unused", ""}, `invalid reference "": want REGISTRY/REPOSITORY:TAG`},
		"a push of nothing":           {[]string{"push", "registry.invalid/a:v1"}, `required flag(s) "layout" not set`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cmd := command(io.Discard)
			cmd.SetArgs(tc.args)
			if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
