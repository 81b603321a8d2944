// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/patchgit"
)

func TestAssignNames(t *testing.T) {
	bySubject := map[string]string{"Mend": "0300-a-mend-b.patch", "Open": "0500-a-open-b.patch"}
	commit := func(subject, name string) patchgit.CommitInfo {
		return patchgit.CommitInfo{ID: "0123456789abcdef", Subject: subject, Name: name}
	}
	cases := map[string]struct {
		commits []patchgit.CommitInfo
		name    string
		want    []string
		wantErr string
	}{
		"no commits": {want: []string{}},
		"the subject finds the file": {
			commits: []patchgit.CommitInfo{commit("Mend", ""), commit("Open", "")},
			want:    []string{"0300-a-mend-b.patch", "0500-a-open-b.patch"},
		},
		"the trailer wins over the subject": {
			commits: []patchgit.CommitInfo{commit("Mend", "0310-a-mend-c")},
			want:    []string{"0310-a-mend-c.patch"},
		},
		"a trailer with the extension": {
			commits: []patchgit.CommitInfo{commit("New", "0310-a-mend-c.patch")},
			want:    []string{"0310-a-mend-c.patch"},
		},
		"the given name goes to the one without": {
			commits: []patchgit.CommitInfo{commit("Mend", ""), commit("New", ""), commit("Open", "")}, name: "0310-a-mend-c",
			want: []string{"0300-a-mend-b.patch", "0310-a-mend-c.patch", "0500-a-open-b.patch"},
		},
		"two commits without a name": {
			commits: []patchgit.CommitInfo{commit("New", ""), commit("Newer", "")}, name: "0310-a-mend-c",
			wantErr: "commit 0123456789 \"Newer\" has no file name",
		},
		"a bad trailer": {
			commits: []patchgit.CommitInfo{commit("New", "mend")},
			wantErr: "commit 0123456789 \"New\": name \"mend\" is not of the form",
		},
		"two commits of one subject": {
			commits: []patchgit.CommitInfo{commit("Mend", ""), commit("Mend", "")},
			wantErr: "both go to 0300-a-mend-b.patch",
		},
		"two commits of one number": {
			commits: []patchgit.CommitInfo{commit("Mend", ""), commit("New", "0300-a-mend-c")},
			wantErr: "is 0300-a-mend-c.patch but stands behind 0300-a-mend-b.patch",
		},
		"commits out of order": {
			commits: []patchgit.CommitInfo{commit("Open", ""), commit("Mend", "")},
			wantErr: "is 0300-a-mend-b.patch but stands behind 0500-a-open-b.patch: order the commits by number",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := assignNames(tc.commits, bySubject, tc.name)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("names (-want,+got):\n%s", diff)
			}
			if (tc.wantErr != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error: want %q, got %v", tc.wantErr, err)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	made := Stamp{Module: "m", Version: "v1", Sum: "h1:x", Renderer: "r", Patches: map[string]string{"a": "1"}, Head: "c1"}
	want := made
	want.Head = ""
	current := State{Exists: true, Repo: true, Stamp: &made, Head: "c1", Upstream: "c0"}
	with := func(change func(s *State)) State {
		s := current
		change(&s)
		return s
	}
	edited := with(func(s *State) { s.Dirty = []string{"f"} })
	newPatch := want
	newPatch.Patches = map[string]string{"a": "1", "b": "2"}
	pristine := want
	pristine.Pristine = true
	renderer := want
	renderer.Renderer = "r2"
	cases := map[string]struct {
		state      State
		want       Stamp
		opts       VendorOptions
		wantAction action
		wantReason string
		wantErr    string
	}{
		"a current tree is kept":                     {state: current, want: want, wantAction: keep},
		"force does not remake a current tree":       {state: current, want: want, opts: VendorOptions{Force: true}, wantAction: keep},
		"no tree is built":                           {want: want, wantAction: build, wantReason: "there is no tree yet"},
		"a new patch builds":                         {state: current, want: newPatch, wantAction: build, wantReason: "patches changed: b"},
		"a new renderer builds":                      {state: current, want: renderer, wantAction: build, wantReason: "the tool that makes the tree changed"},
		"the wish for a pristine tree builds":        {state: current, want: pristine, wantAction: build, wantReason: "the tree was made with another choice of --pristine"},
		"an edited tree is refused":                  {state: edited, want: want, wantErr: "edits of f"},
		"an edited tree is kept on request":          {state: edited, want: want, opts: VendorOptions{AllowEdits: true}, wantAction: keepEdited, wantReason: "edits of f"},
		"an edited and stale tree is refused anyway": {state: edited, want: newPatch, opts: VendorOptions{AllowEdits: true}, wantErr: "edits of f"},
		"an edited tree is built by force":           {state: edited, want: want, opts: VendorOptions{Force: true}, wantAction: build, wantReason: "--force"},
		"an unstamped tree at upstream is built": {
			state: with(func(s *State) { s.Stamp, s.Head = nil, "c0" }), want: want, wantAction: build, wantReason: "the tree has no stamp",
		},
		"an unstamped tree with commits is refused": {
			state: with(func(s *State) { s.Stamp = nil }), want: want, wantErr: "commits that were not exported",
		},
		"a repository without commits is refused": {
			state: State{Exists: true, Repo: true}, want: want, wantErr: "commits that were not exported",
		},
		"an unfinished rebase is refused": {
			state: with(func(s *State) { s.Busy = "git rebase" }), want: want, wantErr: "an unfinished git rebase",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			do, reason, err := decide(tc.state, tc.want, tc.opts)
			if do != tc.wantAction || reason != tc.wantReason {
				t.Errorf("want %v %q, got %v %q", tc.wantAction, tc.wantReason, do, reason)
			}
			if (tc.wantErr != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error: want %q, got %v", tc.wantErr, err)
			}
		})
	}
}
