// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const goodMessage = `Problem: The widget can only be built once.

Change: Let the caller say how often.

Why not outside the tree: The builder is not exported.

User-visible effect: none.

Fleet-Class: seam
Upstream-Status: Pending
Upstream-Issue: none
Drop-When: upstream exports the builder,
 whatever it calls it
Feature-Gate: none
Tests: TestWidget
`

const goodDiff = `diff --git a/widget.go b/widget.go
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/widget.go
+++ b/widget.go
@@ -1,2 +1,3 @@
 one
+one and a half
 two
@@ -10,2 +11,2 @@
 ten
-eleven
+11
`

// mail builds a patch file out of its parts.
func mail(name, subject, message, diff string) File {
	raw := "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n" +
		"From: A Person <a@example.org>\nSubject: " + subject + "\n\n" + message + "\n" + diff
	return File{Name: name, Raw: []byte(raw)}
}

func good(name string) File { return mail(name, "Build widgets twice", goodMessage, goodDiff) }

func mustParse(t *testing.T, file File) *Patch {
	t.Helper()
	patch, err := Parse(file)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return patch
}

func TestParse(t *testing.T) {
	patch := mustParse(t, mail("0500-widget-build-twice.patch", "=?UTF-8?q?Build=20widgets=20=E2=80=94?=\n =?UTF-8?q?=20twice?=", goodMessage, goodDiff))
	wantTrailers := []Trailer{
		{Key: "Fleet-Class", Value: "seam"},
		{Key: "Upstream-Status", Value: "Pending"},
		{Key: "Upstream-Issue", Value: "none"},
		{Key: "Drop-When", Value: "upstream exports the builder, whatever it calls it"},
		{Key: "Feature-Gate", Value: "none"},
		{Key: "Tests", Value: "TestWidget"},
	}
	if diff := cmp.Diff(wantTrailers, patch.Header.Trailers); diff != "" {
		t.Errorf("trailers (-want,+got):\n%s", diff)
	}
	if want, got := "Build widgets — twice", patch.Header.Subject; want != got {
		t.Errorf("subject: want %q, got %q", want, got)
	}
	if got, _ := patch.Header.Section("Why not outside the tree"); got != "The builder is not exported." {
		t.Errorf("section: got %q", got)
	}
	if got, _ := patch.Header.Section("User-visible effect"); got != "none." {
		t.Errorf("the last section holds more than its text: %q", got)
	}
	for line, want := range map[int64]int{1: 1, 10: 2, 5: 0} {
		if got := patch.HunkAt("widget.go", line); got != want {
			t.Errorf("HunkAt line %d: want %d, got %d", line, want, got)
		}
	}
}

func TestParseTrailers(t *testing.T) {
	cases := map[string]struct {
		message string
		want    []Trailer
	}{
		"the last paragraph alone counts": {
			message: "Change: a\n\nKey: b\nOther: c\n",
			want:    []Trailer{{"Key", "b"}, {"Other", "c"}},
		},
		"a paragraph of prose is no trailer":           {message: "Key: b\n\nSome prose.\n"},
		"prose above the trailers spoils them":         {message: "The end.\nKey: b\n"},
		"a rest without a beginning is no trailer":     {message: " rest\nKey: b\n"},
		"an empty message has no trailer":              {message: ""},
		"a value may stand on the indented line below": {message: "x\n\nKey:\n  b\n", want: []Trailer{{"Key", "b"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ParseTrailers(tc.message)); diff != "" {
				t.Errorf("trailers (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestParseName(t *testing.T) {
	cases := map[string]struct {
		file    string
		want    Name
		wantErr string
	}{
		"the plain form":             {file: "0500-manager-export-run.patch", want: Name{500, "manager", "export", "run"}},
		"an object of several words": {file: "0999-a-b-c-d2-e.patch", want: Name{999, "a", "b", "c-d2-e"}},
		"no extension":               {file: "0100-a-b-c", want: Name{100, "a", "b", "c"}},
		"too few words":              {file: "0500-manager-export.patch", wantErr: "not of the form"},
		"upper case":                 {file: "0500-Manager-export-run.patch", wantErr: "not of the form"},
		"three digits":               {file: "500-manager-export-run.patch", wantErr: "not of the form"},
		"an underscore":              {file: "0500-manager-export_the-run.patch", wantErr: "not of the form"},
		"below the first band":       {file: "0099-a-b-c.patch", wantErr: "in no band"},
		"above the last band":        {file: "1000-a-b-c.patch", wantErr: "in no band"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseName(tc.file)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("name (-want,+got):\n%s", diff)
			}
			if (tc.wantErr != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error: want %q, got %v", tc.wantErr, err)
			}
		})
	}
}

func TestBands(t *testing.T) {
	got := map[int]string{}
	for _, number := range []int{99, 100, 299, 300, 499, 500, 699, 700, 899, 900, 999, 1000} {
		band, ok := BandOf(number)
		got[number] = fmt.Sprint(band.Classes, ok)
	}
	want := map[int]string{
		99: "[] false", 100: "[backport] true", 299: "[backport] true", 300: "[fix] true", 499: "[fix] true",
		500: "[seam] true", 699: "[seam] true", 700: "[feature] true", 899: "[feature] true",
		900: "[build test] true", 999: "[build test] true", 1000: "[] false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bands (-want,+got):\n%s", diff)
	}
}
