// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

func pageOf(recs ...*recording.Recording) Page {
	page := Page{Title: recs[0].Title, Text: "text"}
	for _, rec := range recs {
		page.Runs = append(page.Runs, Run{Recording: rec, Figures: measure.Run(rec)})
	}
	return page
}

func write(t testing.TB, page Page) string {
	t.Helper()
	var out strings.Builder
	if err := Write(&out, page); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// tag matches what a browser may take for the start or end of an element or
// of a comment.
var tag = regexp.MustCompile(`<[!/a-zA-Z][^>]*>`)

// skeleton are the tags of a page without those that its own script has in
// its text.
func skeleton(t testing.TB, page string) []string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "<style>")
	if !ok {
		t.Fatal("the page has no style")
	}
	_, after, ok := strings.Cut(rest, "</style>")
	if !ok {
		t.Fatal("the style does not end")
	}
	body, _, ok := strings.Cut(after, "<script>")
	if !ok {
		t.Fatal("the page has no script")
	}
	return tag.FindAllString(before+body, -1)
}

// data is what a page's script gets to read: up to the first end of the
// element, as a browser reads it.
func data(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	if !ok {
		t.Fatal("the page has no data")
	}
	text, _, ok := strings.Cut(rest, "</script>")
	if !ok {
		t.Fatal("the data does not end")
	}
	return text
}

// FuzzWrite puts texts where a cluster's objects can put them: they must
// come out as they were and not change the page.
func FuzzWrite(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "</script><script>alert(1)</script>", "<!--", "-->", "]]>", "<script", "</title><h1>", `"><img src=x onerror=alert(1)>`,
		"{{.Data}}", "\u2028\u2029", "a\x00b", "&lt;&amp;", "</pre></noscript><b>", "\xff\xfe", "${x}", "</style>",
	} {
		f.Add(seed)
	}
	want := skeleton(f, write(f, pageOf(&recording.Recording{Title: "plain"})))
	f.Fuzz(func(t *testing.T, text string) {
		rec := &recording.Recording{
			Title: text, Description: text, Scenario: text, Manager: recording.Manager{Name: text},
			Jobs:      []recording.Job{{Name: text, Class: text}},
			Nodes:     []recording.Node{{Name: text, Rack: text}},
			Workloads: []recording.Workload{{Name: text, Job: text, Spans: []recording.Span{{State: recording.State(text), Message: text, Counts: map[string]int{text: 1}}}}},
			Checks:    []recording.Check{{Name: text, Evidence: []string{text}}},
		}
		page := pageOf(rec)
		page.Text = text
		out := write(t, page)
		if diff := cmp.Diff(want, skeleton(t, out)); diff != "" {
			t.Errorf("the page's elements changed (-want,+got):\n%s", diff)
		}
		var got Page
		if err := json.Unmarshal([]byte(data(t, out)), &got); err != nil {
			t.Fatalf("the data cannot be read: %v", err)
		}
		// JSON has no bytes that are no text.
		if utf8.ValidString(text) && got.Runs[0].Recording.Workloads[0].Spans[0].Message != text {
			t.Errorf("got %q, want %q", got.Runs[0].Recording.Workloads[0].Spans[0].Message, text)
		}
	})
}

func TestPageCarriesTheRecording(t *testing.T) {
	page := pageOf(recordingtest.Small()...)
	var got Page
	if err := json.Unmarshal([]byte(data(t, write(t, page))), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.Runs, got.Runs); diff != "" {
		t.Errorf("runs (-want,+got):\n%s", diff)
	}
}

// The page must not ask anybody for anything.
func TestPageIsSelfContained(t *testing.T) {
	out := write(t, pageOf(recordingtest.Small()...))
	for _, forbidden := range []string{"https://", "src=", "@import", "url(", "<iframe", "<link rel=\"stylesheet"} {
		if strings.Contains(out, forbidden) {
			t.Errorf("the page contains %s", forbidden)
		}
	}
	// A name of a language, not an address that is asked.
	if n := strings.Count(out, "http://"); n != strings.Count(out, "'http://www.w3.org/2000/svg'") {
		t.Errorf("the page has %d addresses", n)
	}
	if !strings.Contains(out, "connect-src 'none'") {
		t.Error("the page may talk to servers")
	}
	live := pageOf(recordingtest.Small()...)
	live.Live = true
	if !strings.Contains(write(t, live), "connect-src 'self'") {
		t.Error("the live page may not talk to its server")
	}
}

// The policy names the script and the style by what they are, so a page with
// a changed one does not run.
func TestPolicyKnowsTheParts(t *testing.T) {
	style, script, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	out := write(t, pageOf(recordingtest.Small()...))
	if !strings.Contains(out, "<script>"+script+"</script>") || !strings.Contains(out, "<style>"+style+"</style>") {
		t.Error("the page's script or style is not the one that the policy was made for")
	}
	if !strings.Contains(out, policy(style, script, false)) {
		t.Error("the page does not have the policy")
	}
	if policy(style, script+" ", false) == policy(style, script, false) {
		t.Error("the policy does not depend on the script")
	}
	if strings.Contains(script, "</script") || strings.Contains(style, "</style") {
		t.Error("the script or the style ends its own element")
	}
}

// Every asset is part of the page, and none of them turns text into markup
// or into code.
func TestAssets(t *testing.T) {
	files, err := fs.ReadDir(assets, "assets")
	if err != nil {
		t.Fatal(err)
	}
	used := append(append([]string{"page.html"}, styles...), scripts...)
	for _, file := range files {
		if !slices.Contains(used, file.Name()) {
			t.Errorf("%s is not used", file.Name())
		}
		text, err := fs.ReadFile(assets, "assets/"+file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "setAttribute('style'", "createContextualFragment", "localStorage", "document.cookie"} {
			if strings.Contains(string(text), forbidden) {
				t.Errorf("%s uses %s", file.Name(), forbidden)
			}
		}
	}
	if len(files) != len(used) {
		t.Errorf("there are %d assets, want %d", len(files), len(used))
	}
}
