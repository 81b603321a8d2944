// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestUnitResult(t *testing.T) {
	lines := func(l ...string) string { return strings.Join(l, "\n") + "\n" }
	cases := map[string]struct {
		stream string
		want   []string
		result Result
		cached int
	}{
		"leaves count, their parents do not": {
			stream: lines(
				`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
				`{"Action":"skip","Package":"p","Test":"TestA/two"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Test":"TestB"}`,
				`{"Action":"pass","Package":"p","Elapsed":1.5}`,
			),
			want:   []string{"p"},
			result: Result{Passed: 2, Skipped: 1},
		},
		"a failed leaf is reported once, with its output": {
			stream: lines(
				`{"Action":"output","Package":"p","Test":"TestA/one/deep","Output":"got 1, want 2\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestA/one/deep"}`,
				`{"Action":"fail","Package":"p","Test":"TestA/one"}`,
				`{"Action":"pass","Package":"p","Test":"TestA/two"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p"}`,
			),
			want:   []string{"p"},
			result: Result{Passed: 1, Failed: 1, Failures: []Failure{{Spec: "p TestA/one/deep", Message: "got 1, want 2"}}},
		},
		"a parent that fails by itself counts": {
			stream: lines(
				`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"clean-up broke\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p"}`,
			),
			want:   []string{"p"},
			result: Result{Passed: 1, Failed: 1, Failures: []Failure{{Spec: "p TestA", Message: "clean-up broke"}}},
		},
		"a package that fails outside a test": {
			stream: lines(
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Output":"panic: late\n"}`,
				`{"Action":"fail","Package":"p"}`,
			),
			want:   []string{"p"},
			result: Result{Passed: 1, Failed: 1, Failures: []Failure{{Spec: "p", Message: "panic: late"}}},
		},
		"a package that doesn't build": {
			stream: lines(
				`{"ImportPath":"q [q.test]","Action":"build-output","Output":"q.go:1: undefined: x\n"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p"}`,
				`{"Action":"fail","Package":"q","FailedBuild":"q [q.test]"}`,
			),
			want:   []string{"p", "q"},
			result: Result{Passed: 1, Failed: 1, Failures: []Failure{{Spec: "q", Message: "the build failed, see the log"}}},
		},
		"a package that never reports": {
			stream: lines(
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p"}`,
				`{"Action":"start","Package":"q"}`,
			),
			want: []string{"p", "q"},
			result: Result{Passed: 1, Failed: 1, Failures: []Failure{
				{Spec: "q", Message: "the package did not report an outcome (build failure, or the run was cut short)"},
			}},
		},
		"no test at all": {
			stream: lines(`{"Action":"pass","Package":"p"}`),
			want:   []string{"p"},
			result: Result{Problem: "0 unit tests ran"},
		},
		"a cached package, and a line that is no event": {
			stream: lines(
				`go: downloading example.com v1.0.0`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Output":"ok  \tp\t(cached)\n"}`,
				`{"Action":"pass","Package":"p"}`,
			),
			want:   []string{"p"},
			result: Result{Passed: 1},
			cached: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			report, err := readUnitEvents(strings.NewReader(tc.stream), &log)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.result, report.result(tc.want), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("result (-want,+got):\n%s", diff)
			}
			if got := report.cached(); got != tc.cached {
				t.Errorf("%d cached packages, want %d", got, tc.cached)
			}
			if log.String() != tc.stream {
				t.Errorf("the log holds %q, want the whole stream", log.String())
			}
		})
	}
}

func TestUnitEventsCutOff(t *testing.T) {
	if _, err := readUnitEvents(strings.NewReader(`{"Action":"pa`), &strings.Builder{}); err == nil {
		t.Error("got no error for an event that is cut off")
	}
}

func TestSummarize(t *testing.T) {
	good := Result{Suite: "a", Passed: 3, Skipped: 1}
	bad := Result{Suite: "b", Passed: 2, Log: "b.log"}
	bad.fail("b spec", "broke")
	cases := map[string]struct {
		results  []Result
		wantOK   bool
		wantLast string
		wantText []string
	}{
		"all pass":                         {results: []Result{good}, wantOK: true, wantLast: "3 passed, 0 failed, 1 skipped"},
		"a failure names spec and log":     {results: []Result{good, bad}, wantLast: "5 passed, 1 failed, 1 skipped", wantText: []string{"b spec", "broke", "log: b.log"}},
		"a broken suite counts as failed":  {results: []Result{good, {Suite: "c", Problem: "no API server"}}, wantLast: "3 passed, 1 failed, 1 skipped", wantText: []string{"no API server"}},
		"a suite that ran nothing fails":   {results: []Result{good, {Suite: "c", Skipped: 2}}, wantLast: "3 passed, 1 failed, 3 skipped", wantText: []string{"0 tests ran"}},
		"nothing at all is not a success":  {wantLast: "0 passed, 0 failed, 0 skipped"},
		"retried flakes are told, not hid": {results: []Result{{Suite: "d", Passed: 2, Retried: []string{"d spec"}}}, wantOK: true, wantLast: "2 passed, 0 failed, 0 skipped", wantText: []string{"retried: d: d spec"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if ok := summarize(&out, tc.results); ok != tc.wantOK {
				t.Errorf("ok is %t, want %t", ok, tc.wantOK)
			}
			if !strings.HasSuffix(out.String(), "\n"+tc.wantLast+"\n") {
				t.Errorf("the last line is not %q in:\n%s", tc.wantLast, out.String())
			}
			for _, text := range tc.wantText {
				if !strings.Contains(out.String(), text) {
					t.Errorf("lacks %q:\n%s", text, out.String())
				}
			}
		})
	}
}
