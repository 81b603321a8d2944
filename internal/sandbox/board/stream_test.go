// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

// follower is a client that keeps a recording up to date, as the page does.
type follower struct {
	t      *testing.T
	lines  *bufio.Reader
	cancel context.CancelFunc

	// kind and id are of the last message, sent counts its entries by list.
	kind, id string
	sent     map[string]int
	head     map[string]json.RawMessage
	lists    map[string][]json.RawMessage
}

// follow opens the stream, from a version if since is not empty.
func follow(t *testing.T, server *httptest.Server, since string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if since != "" {
		request.Header.Set("Last-Event-ID", since)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the stream is %s with status %d", got, response.StatusCode)
	}
	return &follower{t: t, lines: bufio.NewReader(response.Body), cancel: cancel, lists: map[string][]json.RawMessage{}}
}

// next takes in one message; false when the stream has ended.
func (f *follower) next() bool {
	f.t.Helper()
	f.kind = ""
	data := ""
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event":
			f.kind = value
		case name == "id":
			f.id = value
		case name == "data":
			data = value
		case line == "" && f.kind == "end":
			return false
		case line == "" && f.kind != "":
			f.take(data)
			return true
		}
	}
}

func (f *follower) take(data string) {
	f.t.Helper()
	var m struct {
		Recording map[string]json.RawMessage      `json:"recording"`
		Lists     map[string][][2]json.RawMessage `json:"lists"`
		Lengths   map[string]int                  `json:"lengths"`
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		f.t.Fatalf("a message cannot be read: %v", err)
	}
	if f.kind == "all" {
		f.lists = map[string][]json.RawMessage{}
	}
	f.head, f.sent = m.Recording, map[string]int{}
	for name, length := range m.Lengths {
		list := f.lists[name]
		for len(list) < length {
			list = append(list, nil)
		}
		f.lists[name] = list[:length]
	}
	for name, items := range m.Lists {
		f.sent[name] = len(items)
		for _, item := range items {
			var place int
			if err := json.Unmarshal(item[0], &place); err != nil {
				f.t.Fatal(err)
			}
			f.lists[name][place] = item[1]
		}
	}
}

// recording is what the follower knows.
func (f *follower) recording() *recording.Recording {
	f.t.Helper()
	whole := map[string]any{}
	for name, value := range f.head {
		whole[name] = value
	}
	for name, list := range f.lists {
		whole[name] = list
	}
	text, err := json.Marshal(whole)
	if err != nil {
		f.t.Fatal(err)
	}
	var rec recording.Recording
	if err := json.Unmarshal(text, &rec); err != nil {
		f.t.Fatal(err)
	}
	return &rec
}

func (f *follower) mustKnow(want *recording.Recording) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.recording(), cmpopts.EquateEmpty()); diff != "" {
		f.t.Errorf("what the client knows (-want,+got):\n%s", diff)
	}
}

// until reads messages until the client knows of a time.
func (f *follower) until(duration float64) {
	f.t.Helper()
	for f.duration() < duration {
		if !f.next() {
			f.t.Fatalf("the stream ended before %g s", duration)
		}
	}
}

// duration is how much of the run the client knows; -1 if nothing.
func (f *follower) duration() float64 {
	f.t.Helper()
	if f.head == nil {
		return -1
	}
	var duration float64
	if err := json.Unmarshal(f.head["duration"], &duration); err != nil {
		f.t.Fatal(err)
	}
	return duration
}

func TestStreamFollowsARun(t *testing.T) {
	whole := recordingtest.Small()[1]
	source := newSource(recordingtest.Until(whole, 0))
	client := follow(t, newServer(t, Options{Source: source}), "")
	if !client.next() || client.kind != "all" {
		t.Fatalf("the first message is %q, want all", client.kind)
	}
	client.mustKnow(source.Snapshot())
	for at := 0.5; at <= whole.Duration; at += 0.5 {
		now := recordingtest.Until(whole, at)
		source.set(now)
		client.until(at)
		if client.kind != "some" {
			t.Fatalf("a later message is %q, want some", client.kind)
		}
		client.mustKnow(now)
	}
	if client.sent["nodes"] > 1 || client.sent["pods"] == len(whole.Pods) {
		t.Errorf("the last message repeats what has not changed: %v", client.sent)
	}
}

func TestStreamSendsOnlyWhatChanged(t *testing.T) {
	rec := recordingtest.Small()[1]
	source := newSource(rec)
	client := follow(t, newServer(t, Options{Source: source}), "")
	if !client.next() {
		t.Fatal("there is no first message")
	}
	changed := *rec
	changed.Pods = append([]recording.Pod{}, rec.Pods...)
	changed.Pods[3].Node = "elsewhere"
	changed.Events = rec.Events[:len(rec.Events)-2]
	changed.Duration++
	source.set(&changed)
	client.until(changed.Duration)
	if diff := cmp.Diff(map[string]int{"pods": 1}, client.sent); diff != "" {
		t.Errorf("entries sent (-want,+got):\n%s", diff)
	}
	client.mustKnow(&changed)
}

func TestStreamGoesOnWhereAClientWas(t *testing.T) {
	whole := recordingtest.Small()[1]
	source := newSource(recordingtest.Until(whole, 10))
	server := newServer(t, Options{Source: source})
	cases := map[string]struct {
		since    func(id string) string
		wantKind string
	}{
		"it gets what it lacks":                       {since: func(id string) string { return id }, wantKind: "some"},
		"a version of another fleet is worth nothing": {since: func(id string) string { return "other" + id }, wantKind: "all"},
		"nor is one from the future":                  {since: func(id string) string { return id + "99" }, wantKind: "all"},
		"nor is what is no version":                   {since: func(string) string { return "-" }, wantKind: "all"},
		"nor is the number alone":                     {since: func(id string) string { return id[strings.LastIndex(id, "-"):] }, wantKind: "all"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source.set(recordingtest.Until(whole, 10))
			first := follow(t, server, "")
			if !first.next() {
				t.Fatal("there is no first message")
			}
			first.until(10)
			first.cancel()
			source.set(recordingtest.Until(whole, 20))

			again := follow(t, server, tc.since(first.id))
			again.lists, again.head = first.lists, first.head
			if !again.next() || again.kind != tc.wantKind {
				t.Fatalf("the first message is %q, want %q", again.kind, tc.wantKind)
			}
			again.mustKnow(source.Snapshot())
		})
	}
}

// Nothing is queued for a client that does not read: when it does, one
// message brings it up to date.
func TestSlowClientIsNotBehind(t *testing.T) {
	whole := recordingtest.Small()[1]
	source := newSource(recordingtest.Until(whole, 0))
	f := newFeed(source, clock.RealClock{}, "boot")
	if _, err := f.refresh(); err != nil {
		t.Fatal(err)
	}
	_, seen := f.newer(0)
	for at := 1.0; at <= 30; at++ {
		source.set(recordingtest.Until(whole, at))
		if _, err := f.refresh(); err != nil {
			t.Fatal(err)
		}
	}
	m, newest := f.newer(seen)
	if newest != seen+30 {
		t.Errorf("the client has version %d after one message, want %d", newest, seen+30)
	}
	for name, length := range m.Lengths {
		if len(m.Lists[name]) > length {
			t.Errorf("%d entries of %s are sent, there are only %d", len(m.Lists[name]), name, length)
		}
	}
	if again, _ := f.newer(newest); len(again.Lists) != 0 || again.Figures != nil {
		t.Errorf("something is sent twice: %v", again.Lists)
	}
}

func TestStreamEndsWithTheFleet(t *testing.T) {
	done := make(chan struct{})
	client := follow(t, newServer(t, Options{Done: done}), "")
	if !client.next() {
		t.Fatal("there is no first message")
	}
	close(done)
	for client.next() {
	}
	if client.kind != "end" {
		t.Errorf("the last message is %q, want end", client.kind)
	}
}

func TestStreamsAreCounted(t *testing.T) {
	server := newServer(t, Options{MaxStreams: 1})
	first := follow(t, server, "")
	if !first.next() {
		t.Fatal("there is no first message")
	}
	status, body, header := ask(t, http.MethodGet, server.URL+"/events", nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "1 pages follow this fleet already") || header.Get("Retry-After") == "" {
		t.Errorf("got %d %q, want %d", status, body, http.StatusServiceUnavailable)
	}
}

// Many clients at once, each of which must end up with the same.
func TestManyClients(t *testing.T) {
	whole := recordingtest.Small()[1]
	source := newSource(recordingtest.Until(whole, 0))
	server := newServer(t, Options{Source: source})
	var group sync.WaitGroup
	for i := range 6 {
		client := follow(t, server, "")
		group.Go(func() {
			client.until(whole.Duration)
			if diff := cmp.Diff(whole.Pods, client.recording().Pods); diff != "" {
				t.Errorf("client %d (-want,+got):\n%s", i, diff)
			}
		})
	}
	for at := 1.0; at <= whole.Duration; at++ {
		source.set(recordingtest.Until(whole, at))
	}
	group.Wait()
}

func TestPageAndStreamFit(t *testing.T) {
	whole := recordingtest.Small()[1]
	source := newSource(recordingtest.Until(whole, 10))
	server := newServer(t, Options{Source: source})
	_, page, _ := ask(t, http.MethodGet, server.URL, nil)
	_, rest, _ := strings.Cut(page, `"since":"`)
	since, _, _ := strings.Cut(rest, `"`)
	later := recordingtest.Until(whole, 12)
	source.set(later)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/events?since=%s", server.URL, since), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	client := &follower{t: t, lines: bufio.NewReader(response.Body), lists: map[string][]json.RawMessage{}}
	if !client.next() || client.kind != "some" {
		t.Errorf("the first message after the page is %q, want some", client.kind)
	}
	if client.sent["nodes"] != 0 {
		t.Error("the stream repeats the nodes that the page has")
	}
}
