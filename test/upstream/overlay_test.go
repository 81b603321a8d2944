// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteOverlay(t *testing.T) {
	const cache = "package scheduler\n\nfunc New() {\n\t" + useFit + "\n}\n"
	packages := []overlayPackage{{Dir: "pkg/scheduler", Name: "scheduler"}}

	cases := map[string]struct {
		cache     string
		gates     string
		fit       bool
		want      map[string]string
		wantError string
	}{
		"gates only": {
			cache: cache, gates: "A=true,B=false",
			want: map[string]string{gatesFile: `Gate.Set("A=true,B=false")`},
		},
		"the fit engine in each package under test": {
			cache: cache, fit: true,
			want: map[string]string{
				cacheFile:                       useTestFit,
				hookFile:                        "func fleetTestFit(",
				fitFile:                         "schdcache.FleetTestFit = ",
				"pkg/scheduler/" + registerFile: "package scheduler_test\n",
			},
		},
		"a cache that takes its engines elsewhere": {
			cache: "package scheduler\n", fit: true,
			wantError: "is there 0 times, want once",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(cacheFile)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(tree, cacheFile), []byte(tc.cache), 0o600); err != nil {
				t.Fatal(err)
			}
			path, err := writeOverlay(filepath.Join(t.TempDir(), "overlay"), tree, tc.gates, tc.fit, packages)
			if tc.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantError) {
					t.Fatalf("writeOverlay() = %v, want an error with %q", err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := readOverlay(t, path, tree)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(tc.want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Fatalf("Unexpected files (-want,+got):\n%s", diff)
			}
			for file, part := range tc.want {
				if !strings.Contains(got[file], part) {
					t.Errorf("%s lacks %q:\n%s", file, part, got[file])
				}
			}
			if now, err := os.ReadFile(filepath.Join(tree, cacheFile)); err != nil || string(now) != tc.cache {
				t.Errorf("The tree's own file is %q (%v), want it unchanged", now, err)
			}
		})
	}
}

// readOverlay returns the files that an overlay puts into a tree, by path.
func readOverlay(t *testing.T, path, tree string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(raw, &overlay); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for target, file := range overlay.Replace {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(tree, target)
		if err != nil {
			t.Fatal(err)
		}
		files[rel] = string(source)
	}
	return files
}
