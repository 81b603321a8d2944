// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutMeant(t *testing.T) {
	rejected := Meant{With: "Gate", In: "pkg/config", Tests: "TestGate/rejected_.*", Why: "lifted"}
	placed := Meant{With: "Gate", In: "test/integration/tas", Tests: "Places pods", Why: "elsewhere"}
	failures := func(names ...string) (out []Failure) {
		for _, name := range names {
			out = append(out, Failure{Spec: name})
		}
		return out
	}

	cases := map[string]struct {
		result   Result
		meant    []Meant
		want     Result
		wantIdle []Meant
	}{
		"a meant failure of a unit test": {
			result: Result{Suite: "unit tests", Passed: 5, Failed: 1, Failures: failures(kueueModule + "/pkg/config TestGate/rejected_a")},
			meant:  []Meant{rejected},
			want:   Result{Suite: "unit tests", Passed: 5, Meant: 1},
		},
		"the same test of another package": {
			result:   Result{Suite: "unit tests", Passed: 5, Failed: 1, Failures: failures(kueueModule + "/pkg/scheduler TestGate/rejected_a")},
			meant:    []Meant{rejected},
			want:     Result{Suite: "unit tests", Passed: 5, Failed: 1, Failures: failures(kueueModule + "/pkg/scheduler TestGate/rejected_a")},
			wantIdle: []Meant{rejected},
		},
		"a test whose name only begins so": {
			result:   Result{Suite: "unit tests", Passed: 5, Failed: 1, Failures: failures(kueueModule + "/pkg/config TestGateX/rejected_a")},
			meant:    []Meant{rejected},
			want:     Result{Suite: "unit tests", Passed: 5, Failed: 1, Failures: failures(kueueModule + "/pkg/config TestGateX/rejected_a")},
			wantIdle: []Meant{rejected},
		},
		"a spec": {
			result: Result{Suite: "test/integration/tas", Passed: 5, Failed: 2, Failures: failures("Places pods", "Breaks")},
			meant:  []Meant{placed},
			want:   Result{Suite: "test/integration/tas", Passed: 5, Failed: 1, Meant: 1, Failures: failures("Breaks")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			results := []Result{tc.result}
			idle := withoutMeant(results, tc.meant, []string{"pkg/config", "test/integration/tas"})
			if diff := cmp.Diff(tc.wantIdle, idle); diff != "" {
				t.Errorf("Unexpected idle entries (-want,+got):\n%s", diff)
			}
			if len(results[0].Failures) == 0 {
				results[0].Failures = nil
			}
			if diff := cmp.Diff(tc.want, results[0]); diff != "" {
				t.Errorf("Unexpected result (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSkipExpression(t *testing.T) {
	meant := []Meant{{Tests: "TestA", Skip: true}, {Tests: "TestB"}, {Tests: "TestC", Skip: true}}
	if got, want := skipExpression(meant), "^(?:TestA|TestC)$"; got != want {
		t.Errorf("skipExpression() = %q, want %q", got, want)
	}
	if got := skipExpression(meant[1:2]); got != "" {
		t.Errorf("skipExpression() of nothing to skip = %q, want none", got)
	}
}

func TestMeantWith(t *testing.T) {
	cfg := Config{Meant: []Meant{{With: "A", Why: "a"}, {With: "B", Why: "b"}, {With: elasticFit, Why: "fit"}}}
	var got []string
	for _, m := range cfg.meantWith(options{gates: "A=true,B=false", fit: true}) {
		got = append(got, m.Why)
	}
	if diff := cmp.Diff([]string{"a", "fit"}, got); diff != "" {
		t.Errorf("Unexpected entries (-want,+got):\n%s", diff)
	}
}
