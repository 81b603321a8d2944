// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	cases := map[string]struct {
		upstream, ours Facts
		want           []Difference
	}{
		"equal facts differ in nothing": {
			upstream: Facts{"a": "1"},
			ours:     Facts{"a": "1"},
		},
		"changed, lost and added facts are listed by key": {
			upstream: Facts{"c": "1", "b": "1", "same": "x"},
			ours:     Facts{"c": "2", "a": "1", "same": "x"},
			want: []Difference{
				{Area: "area", Key: "a", Upstream: Absent, Ours: "1"},
				{Area: "area", Key: "b", Upstream: "1", Ours: Absent},
				{Area: "area", Key: "c", Upstream: "1", Ours: "2"},
			},
		},
		"no facts at all on one side": {
			ours: Facts{"a": "1"},
			want: []Difference{{Area: "area", Key: "a", Upstream: Absent, Ours: "1"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Compare("area", tc.upstream, tc.ours)); diff != "" {
				t.Errorf("unexpected differences (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	added := Difference{Area: "flags", Key: "new", Upstream: Absent, Ours: "1"}
	entry := Allowed{Area: "flags", Key: "new", Check: OnlyOurs}
	cases := map[string]struct {
		differences  []Difference
		list         []Allowed
		wantAllowed  int
		wantProblems []string
	}{
		"an allowed difference is no problem": {
			differences: []Difference{added},
			list:        []Allowed{entry},
			wantAllowed: 1,
		},
		"a difference that is not on the list": {
			differences:  []Difference{added},
			wantProblems: []string{"not on the list of allowed differences: flags: new"},
		},
		"an entry of another area doesn't help": {
			differences:  []Difference{added},
			list:         []Allowed{{Area: "gates", Key: "new", Check: OnlyOurs}},
			wantProblems: []string{"not on the list of allowed differences: flags: new"},
		},
		"a difference of another kind than the allowed one": {
			differences:  []Difference{{Area: "flags", Key: "new", Upstream: "2", Ours: "1"}},
			list:         []Allowed{entry},
			wantProblems: []string{"not the difference that is allowed: upstream has it too"},
		},
		"an entry that nothing needs": {
			list:         []Allowed{entry},
			wantProblems: []string{`the allowed difference "new" in area "flags" doesn't exist`},
		},
		"a check of its own": {
			differences: []Difference{added},
			list: []Allowed{{Area: "flags", Key: "new", Check: func(_, ours string) error {
				return errors.New("bad value " + ours)
			}}},
			wantProblems: []string{"not the difference that is allowed: bad value 1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			allowed, problems := Judge("flags", tc.differences, tc.list)
			if len(allowed) != tc.wantAllowed {
				t.Errorf("%d allowed differences, want %d", len(allowed), tc.wantAllowed)
			}
			if len(problems) != len(tc.wantProblems) {
				t.Fatalf("problems %q, want %q", problems, tc.wantProblems)
			}
			for i, want := range tc.wantProblems {
				if !strings.HasPrefix(problems[i], want) {
					t.Errorf("problem %q, want one that begins with %q", problems[i], want)
				}
			}
		})
	}
}

func TestPage(t *testing.T) {
	cases := map[string]struct {
		results []Result
		want    string
	}{
		"without differences": {
			results: []Result{{Title: "Flags", Looked: "--help", Upstream: 2}},
			want: "| Area | How it was looked at | Facts of upstream | Differences |\n|---|---|---:|---:|\n" +
				"| Flags | --help | 2 | 0 |\n\nThere are no differences.\n",
		},
		"a difference has a row, and a bar in it ends no cell": {
			results: []Result{{Title: "Flags", Looked: "--help", Upstream: 2, Allowed: []Allowed{{Key: "a|b", Change: "added", Reason: "why"}}}},
			want: "| Area | How it was looked at | Facts of upstream | Differences |\n|---|---|---:|---:|\n" +
				"| Flags | --help | 2 | 1 |\n\n" +
				"| Area | What differs | How | Why |\n|---|---|---|---|\n| Flags | `a\\|b` | added | why |\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Page(tc.results)); diff != "" {
				t.Errorf("unexpected page (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSplice(t *testing.T) {
	cases := map[string]struct {
		page    string
		want    string
		wantErr bool
	}{
		"what stood between the markers is replaced": {
			page: "head\n" + beginMarker + "\nold\n" + endMarker + "\ntail\n",
			want: "head\n" + beginMarker + "\nnew\n" + endMarker + "\ntail\n",
		},
		"a missing marker":           {page: beginMarker + "\n", wantErr: true},
		"markers in the wrong order": {page: endMarker + "\n" + beginMarker + "\n", wantErr: true},
		"a marker that stands twice": {page: beginMarker + "\n" + beginMarker + "\n" + endMarker + "\n", wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Splice(tc.page, "new\n")
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want an error: %t", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unexpected page (-want,+got):\n%s", diff)
			}
		})
	}
}
