// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnitPackages(t *testing.T) {
	all := []goPackage{
		{Dir: "apis/kueue/v1beta2"},
		{Dir: "cmd/kueue", HasTests: true},
		{Dir: "cmd/kueue/app", HasTests: true},
		{Dir: "pkg/cache", HasTests: false},
		{Dir: "pkg/cache/queue", HasTests: true},
		{Dir: "pkg/cachetools", HasTests: true},
		{Dir: "pkg/util/tas", HasTests: true},
		{Dir: "pkg/workload", HasTests: true},
		{Dir: "test/integration/singlecluster/tas", HasTests: true},
		{Dir: "test/util", HasTests: true},
	}
	patterns := []UnitPattern{{Package: "pkg/cache/..."}, {Package: "pkg/workload"}}
	cases := map[string]struct {
		patterns []UnitPattern
		changed  []string
		set      Set
		want     []string
		wantErr  string
	}{
		"without a patch the base remains": {
			set:  SetCore,
			want: []string{"pkg/cache/queue", "pkg/workload"},
		},
		"a touched package joins the base": {
			changed: []string{"cmd/kueue/app/app.go", "pkg/workload/workload.go"},
			set:     SetCore,
			want:    []string{"cmd/kueue/app", "pkg/cache/queue", "pkg/workload"},
		},
		"test data counts for the package above it": {
			changed: []string{"pkg/util/tas/testdata/deep/in.yaml"},
			set:     SetCore,
			want:    []string{"pkg/cache/queue", "pkg/util/tas", "pkg/workload"},
		},
		"files of no package, of one without tests, and of suites add nothing": {
			changed: []string{"Makefile", "config/x.yaml", "apis/kueue/v1beta2/x.go", "test/util/util.go", "test/integration/singlecluster/tas/a_test.go"},
			set:     SetCore,
			want:    []string{"pkg/cache/queue", "pkg/workload"},
		},
		"extended is what core leaves out": {
			changed: []string{"pkg/util/tas/tas.go"},
			set:     SetExtended,
			want:    []string{"cmd/kueue", "cmd/kueue/app", "pkg/cachetools"},
		},
		"all is everything but the suites": {
			set:  SetAll,
			want: []string{"cmd/kueue", "cmd/kueue/app", "pkg/cache/queue", "pkg/cachetools", "pkg/util/tas", "pkg/workload"},
		},
		"a pattern that matches nothing is out of date": {
			patterns: []UnitPattern{{Package: "pkg/queue/..."}},
			set:      SetCore,
			wantErr:  `no package of the Kueue tree matches "pkg/queue/..."`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.patterns == nil {
				tc.patterns = patterns
			}
			got, err := unitPackages(all, tc.patterns, tc.changed, tc.set)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("packages (-want,+got):\n%s", diff)
			}
		})
	}
}
