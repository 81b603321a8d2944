// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/ginkgo/v2/types"
)

func spec(text string, state types.SpecState) types.SpecReport {
	s := types.SpecReport{LeafNodeType: types.NodeTypeIt, LeafNodeText: text, State: state}
	if state.Is(types.SpecStateFailureStates) {
		s.Failure = types.Failure{Message: text + " broke"}
	}
	return s
}

func TestSuiteResult(t *testing.T) {
	cases := map[string]struct {
		report types.Report
		want   Result
		wantOK bool
	}{
		"specs of each state": {
			report: types.Report{SuiteSucceeded: true, SpecReports: types.SpecReports{
				{LeafNodeType: types.NodeTypeBeforeSuite, State: types.SpecStatePassed},
				spec("a", types.SpecStatePassed), spec("b", types.SpecStatePassed),
				spec("c", types.SpecStateSkipped), spec("d", types.SpecStatePending),
			}},
			want:   Result{Passed: 2, Skipped: 2},
			wantOK: true,
		},
		"a failure in an ordered container hides the specs behind it": {
			report: types.Report{SpecReports: types.SpecReports{
				spec("a", types.SpecStateFailed),
				{
					LeafNodeType: types.NodeTypeIt, LeafNodeText: "b", State: types.SpecStateSkipped,
					Failure: types.Failure{Message: "Spec skipped because an earlier spec in an ordered container failed"},
				},
				spec("c", types.SpecStateSkipped),
			}},
			want: Result{Failed: 1, Skipped: 2, Unreached: 1, Failures: []Failure{{Spec: "a", Message: "a broke"}}},
		},
		"all ways to fail": {
			report: types.Report{SpecReports: types.SpecReports{
				spec("a", types.SpecStatePassed), spec("b", types.SpecStateFailed), spec("c", types.SpecStatePanicked),
				spec("d", types.SpecStateTimedout), spec("e", types.SpecStateInterrupted), spec("f", types.SpecStateAborted),
			}},
			want: Result{Passed: 1, Failed: 5, Failures: []Failure{
				{Spec: "b", Message: "b broke"}, {Spec: "c", Message: "c broke"}, {Spec: "d", Message: "d broke"},
				{Spec: "e", Message: "e broke"}, {Spec: "f", Message: "f broke"},
			}},
		},
		"a set-up that fails is a failure": {
			report: types.Report{SpecReports: types.SpecReports{
				{LeafNodeType: types.NodeTypeBeforeSuite, State: types.SpecStateFailed, Failure: types.Failure{Message: "no API server"}},
				spec("a", types.SpecStateSkipped),
			}},
			want: Result{Failed: 1, Skipped: 1, Failures: []Failure{{Spec: "[BeforeSuite]", Message: "no API server"}}},
		},
		"no spec is a failure": {
			report: types.Report{SuiteSucceeded: true},
			want:   Result{Problem: "the suite ran 0 specs"},
		},
		"only skipped specs are no spec": {
			report: types.Report{SuiteSucceeded: true, SpecReports: types.SpecReports{spec("a", types.SpecStateSkipped)}},
			want:   Result{Skipped: 1, Problem: "the suite ran 0 specs"},
		},
		"a suite that ran out of time": {
			report: types.Report{SpecReports: types.SpecReports{spec("a", types.SpecStatePassed)}, SpecialSuiteFailureReasons: []string{"Suite Timeout Elapsed"}},
			want:   Result{Passed: 1, Problem: "Suite Timeout Elapsed"},
		},
		"a failure that no spec explains": {
			report: types.Report{SpecReports: types.SpecReports{spec("a", types.SpecStatePassed)}},
			want:   Result{Passed: 1, Problem: "the suite failed without a failed spec"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			// Through a file, as the Ginkgo CLI writes it.
			data, err := json.Marshal([]types.Report{tc.report})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := readSuiteReport(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("result (-want,+got):\n%s", diff)
			}
			if got.ok() != tc.wantOK {
				t.Errorf("ok is %t, want %t", got.ok(), tc.wantOK)
			}
		})
	}
}

func TestReadSuiteReportRejects(t *testing.T) {
	cases := map[string]struct {
		content string
		wantErr string
	}{
		"a file that was cut off": {content: `[{"SuitePath"`, wantErr: "failed to parse"},
		"no suite":                {content: `[]`, wantErr: "holds 0 suites, want 1"},
		"two suites":              {content: `[{},{}]`, wantErr: "holds 2 suites, want 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := readSuiteReport(path); err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got error %v, want one with %q", err, tc.wantErr)
			}
		})
	}
}

func TestRetryable(t *testing.T) {
	flakes := map[string]Flake{"a": {Retries: 1}, "b": {Retries: 2}}
	failed := func(names ...string) Result {
		r := Result{Passed: 5}
		for _, name := range names {
			r.fail(name, "")
		}
		return r
	}
	ordered := failed("a")
	ordered.Skipped, ordered.Unreached = 3, 3
	broken := failed("a")
	broken.Problem = "out of time"
	cases := map[string]struct {
		result  Result
		attempt int
		want    []string
	}{
		"nothing failed":                                 {result: failed(), attempt: 1},
		"known flakes":                                   {result: failed("a", "b"), attempt: 1, want: []string{"a", "b"}},
		"one unknown failure among known ones":           {result: failed("a", "x"), attempt: 1},
		"the retries of one are used up":                 {result: failed("a", "b"), attempt: 2},
		"retries are left":                               {result: failed("b"), attempt: 2, want: []string{"b"}},
		"specs behind an ordered one were never reached": {result: ordered, attempt: 1},
		"the suite as a whole failed":                    {result: broken, attempt: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, retryable(tc.result, flakes, tc.attempt)); diff != "" {
				t.Errorf("specs (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestAfterRetry(t *testing.T) {
	first := Result{Suite: "s", Passed: 5, Skipped: 1}
	first.fail("a", "a broke")
	first.fail("b", "b broke")
	specs := []string{"a", "b"}

	onlyB := Result{Passed: 1}
	onlyB.fail("b", "b broke again")
	cases := map[string]struct {
		again Result
		want  Result
	}{
		"both pass": {
			again: Result{Passed: 2},
			want:  Result{Suite: "s", Passed: 7, Skipped: 1, Retried: specs},
		},
		"one fails again": {
			again: onlyB,
			want: Result{
				Suite: "s", Passed: 6, Failed: 1, Skipped: 1, Retried: []string{"a"},
				Failures: []Failure{{Spec: "b", Message: "b broke again"}},
			},
		},
		"the retry broke down": {
			again: Result{Problem: "the suite ran 0 specs"},
			want:  Result{Suite: "s", Passed: 7, Skipped: 1, Retried: specs, Problem: "the suite ran 0 specs"},
		},
		"a spec did not run again": {
			again: Result{Passed: 1},
			want:  Result{Suite: "s", Passed: 7, Skipped: 1, Retried: specs, Problem: "only 1 of 2 retried specs ran"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, afterRetry(first, tc.again, specs), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("result (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestFocusExpression(t *testing.T) {
	re := regexp.MustCompile(focusExpression([]string{"Job should (not) start", "other"}))
	cases := map[string]bool{
		"TAS Suite Job should (not) start":          true,
		"TAS Suite other":                           true,
		"TAS Suite Job should (not) start at once":  false,
		"TAS Suite Job should not start":            false,
		"TAS Suite other that is longer":            false,
		"TAS Suite Job should (not) start|anything": false,
	}
	for text, want := range cases {
		if got := re.MatchString(text); got != want {
			t.Errorf("%q: match is %t, want %t", text, got, want)
		}
	}
}
