// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	orderedcmp "cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLoad(t *testing.T) {
	const header = "apiVersion: config.fleet.ai/v1alpha1\nkind: FleetConfiguration\n"
	cases := map[string]struct {
		file          *string
		missing       bool
		wantMaxWindow time.Duration
		wantErrs      []string
	}{
		"the longest window can be set": {
			file:          new(header + "readinessRecovery:\n  maxWindow: 90m\n"),
			wantMaxWindow: 90 * time.Minute,
		},
		"a section without settings gives the defaults": {
			file: new(header + "readinessRecovery: {}\n"),
		},
		"a longest window of nothing is refused with its field": {
			file:     new(header + "readinessRecovery:\n  maxWindow: 0s\n"),
			wantErrs: []string{"fleet.yaml", "readinessRecovery.maxWindow", `"0s"`, "must be longer than 0"},
		},
		"a negative longest window is refused with its field": {
			file:     new(header + "readinessRecovery:\n  maxWindow: -1h\n"),
			wantErrs: []string{"fleet.yaml", "readinessRecovery.maxWindow", `"-1h0m0s"`, "must be longer than 0"},
		},
		"a longest window that is no duration is refused": {
			file:     new(header + "readinessRecovery:\n  maxWindow: 2 hours\n"),
			wantErrs: []string{"fleet.yaml", "2 hours"},
		},
		"no file gives the defaults": {},
		"a file without settings gives the defaults": {
			file: new(header),
		},
		"an unknown field is named": {
			file:     new(header + "readines: {}\n"),
			wantErrs: []string{"fleet.yaml", `unknown field "readines"`},
		},
		"a field given twice is named": {
			file:     new(header + "kind: FleetConfiguration\n"),
			wantErrs: []string{"fleet.yaml", `key "kind" already set`},
		},
		"another apiVersion is refused with the one that is allowed": {
			file:     new("apiVersion: config.fleet.ai/v1\nkind: FleetConfiguration\n"),
			wantErrs: []string{"fleet.yaml", "config.fleet.ai/v1", `want apiVersion "config.fleet.ai/v1alpha1"`},
		},
		"Kueue's own configuration is refused": {
			file:     new("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"),
			wantErrs: []string{"fleet.yaml", "config.kueue.x-k8s.io/v1beta2", `kind "FleetConfiguration"`},
		},
		"a file without apiVersion is refused": {
			file:     new("kind: FleetConfiguration\n"),
			wantErrs: []string{"fleet.yaml", `want apiVersion "config.fleet.ai/v1alpha1"`},
		},
		"a file without kind is refused": {
			file:     new("apiVersion: config.fleet.ai/v1alpha1\n"),
			wantErrs: []string{"fleet.yaml", `kind "FleetConfiguration"`},
		},
		"an options object of the same group is refused": {
			file:     new("apiVersion: config.fleet.ai/v1alpha1\nkind: ListOptions\n"),
			wantErrs: []string{"fleet.yaml", "ListOptions", `kind "FleetConfiguration"`},
		},
		"an empty file is refused": {
			file:     new(""),
			wantErrs: []string{"fleet.yaml", "empty", `want apiVersion "config.fleet.ai/v1alpha1"`},
		},
		"a file that isn't YAML is refused": {
			file:     new("{"),
			wantErrs: []string{"fleet.yaml"},
		},
		"a missing file is named": {
			missing:  true,
			wantErrs: []string{"fleet.yaml", "no such file"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := ""
			if tc.file != nil || tc.missing {
				path = filepath.Join(t.TempDir(), "fleet.yaml")
			}
			if tc.file != nil {
				if err := os.WriteFile(path, []byte(*tc.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Load(path)
			if len(tc.wantErrs) == 0 {
				if err != nil {
					t.Fatalf("Load() error = %v", err)
				}
				want := newDefault()
				want.ReadinessRecovery.MaxWindow.Duration = orderedcmp.Or(tc.wantMaxWindow, 2*time.Hour)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("Unexpected configuration (-want,+got):\n%s", diff)
				}
				return
			}
			if err == nil {
				t.Fatalf("Load() = %v, want an error", got)
			}
			for _, want := range tc.wantErrs {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Load() error %q doesn't say %q", err, want)
				}
			}
		})
	}
}
