// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePlatform(t *testing.T) {
	got, err := ParsePlatform("linux/arm64")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Platform{OS: "linux", Arch: "arm64"}, got); diff != "" {
		t.Errorf("unexpected platform (-want,+got):\n%s", diff)
	}
	_, err = ParsePlatform("linux/s390x")
	if want := `invalid platform "linux/s390x": want one of linux/amd64, linux/arm64`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestModules(t *testing.T) {
	module := func(path, version string) *debug.Module {
		return &debug.Module{Path: path, Version: version, Sum: "h1:x="}
	}
	cases := map[string]struct {
		deps    []*debug.Module
		want    []string
		wantErr string
	}{
		"a module has its package URL": {
			deps: []*debug.Module{module("k8s.io/api", "v0.36.2")},
			want: []string{"stdlib v1.26.1 pkg:golang/stdlib@1.26.1", "k8s.io/api v0.36.2 pkg:golang/k8s.io/api@v0.36.2"},
		},
		"the patched module is named by its base": {
			deps: []*debug.Module{module(kueueModule, unversioned)},
			want: []string{"stdlib v1.26.1 pkg:golang/stdlib@1.26.1", "sigs.k8s.io/kueue v0.19.2 pkg:golang/sigs.k8s.io/kueue@v0.19.2"},
		},
		"a replaced module is named by what replaces it": {
			deps: []*debug.Module{{Path: "a.invalid/a", Version: "v1.0.0", Replace: module("b.invalid/b", "v2.0.0+incompatible")}},
			want: []string{"stdlib v1.26.1 pkg:golang/stdlib@1.26.1", "b.invalid/b v2.0.0+incompatible pkg:golang/b.invalid/b@v2.0.0%2Bincompatible"},
		},
		"another module from a folder is an error": {
			deps:    []*debug.Module{module("a.invalid/a", unversioned)},
			wantErr: "failed to describe the module a.invalid/a: it was built from a folder and has no version",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parts, err := modules(toyRelease(t), &debug.BuildInfo{GoVersion: "go1.26.1", Deps: tc.deps})
			if tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr {
					t.Errorf("error %v, want %s", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range parts {
				got = append(got, p.Name+" v"+strings.TrimPrefix(p.Version, "v")+" "+p.Refs[0].Locator)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unexpected parts (-want,+got):\n%s", diff)
			}
		})
	}
}
