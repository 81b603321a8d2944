// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package board serves the live page of a fleet that runs: the components of
// the report on what is recorded so far, kept up to date over server-sent
// events, and, if changes are allowed, buttons that submit jobs.
//
// It is made for a browser on the same machine. It answers only requests for
// names of this machine, and takes changes only from its own page.
package board

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/web"
)

// Source is what the board shows. Its methods are called at the same time
// from several goroutines.
type Source interface {
	// Snapshot returns what is recorded so far. Nobody changes it any more.
	Snapshot() *recording.Recording
	// Changed returns a channel that is closed when a later snapshot differs.
	Changed() <-chan struct{}
}

// Defaults of Options.
const (
	// DefaultInterval is fast enough to follow by eye.
	DefaultInterval = 400 * time.Millisecond
	// DefaultMaxStreams is far more than one user has windows.
	DefaultMaxStreams = 32
)

const (
	// quiet is how long nothing is sent when nothing changes; the page's time
	// goes on at this pace.
	quiet = 2 * time.Second
	// patience is how long a client may take to read one message.
	patience = 10 * time.Second
)

// Options say what a board shows and allows.
type Options struct {
	Source Source
	// Submitter creates the jobs that the buttons stand for.
	Submitter Submitter
	// AllowChanges makes the buttons work.
	AllowChanges bool
	// Hosts are names, beside those of the loopback addresses, under which
	// the board may be asked for.
	Hosts []string
	// AllowRemote lets it be asked for under any IP address, for a board that
	// other machines may reach.
	AllowRemote bool
	// Done ends all streams when it is closed; nil is never.
	Done <-chan struct{}
	// Interval is the shortest time between two messages to a client; 0 means
	// DefaultInterval.
	Interval time.Duration
	// MaxStreams is how many clients may follow at a time; 0 means
	// DefaultMaxStreams.
	MaxStreams int
	Clock      clock.Clock
	Log        *slog.Logger
}

// Board is an http.Handler.
type Board struct {
	Options
	feed    *feed
	handler http.Handler
	token   string
	streams chan struct{}
	shapes  *shapes
}

// New returns a board.
func New(o Options) (*Board, error) {
	switch {
	case o.Source == nil:
		return nil, errors.New("failed to make the board: source is missing")
	case o.Clock == nil:
		return nil, errors.New("failed to make the board: clock is missing")
	case o.AllowChanges && o.Submitter == nil:
		return nil, errors.New("failed to make the board: changes are allowed, but submitter is missing")
	case o.Interval < 0:
		return nil, fmt.Errorf("failed to make the board: interval is %s, it must not be negative", o.Interval)
	}
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = DefaultMaxStreams
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Board{
		Options: o,
		feed:    newFeed(o.Source, o.Clock, rand.Text()),
		token:   rand.Text(),
		streams: make(chan struct{}, o.MaxStreams),
		shapes:  &shapes{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", b.servePage)
	mux.HandleFunc("GET /events", b.serveEvents)
	mux.HandleFunc("GET /recording.json", b.serveRecording)
	mux.HandleFunc("POST /actions/{name}", b.serveAction)
	b.handler = newGuard(o.Hosts, o.AllowRemote, mux)
	return b, nil
}

// ServeHTTP implements http.Handler.
func (b *Board) ServeHTTP(w http.ResponseWriter, r *http.Request) { b.handler.ServeHTTP(w, r) }

// servePage writes the page with all that is known now.
func (b *Board) servePage(w http.ResponseWriter, _ *http.Request) {
	rec, id := b.feed.page()
	page := web.Page{
		Title: rec.Title, Live: true, Since: id, Actions: Actions(),
		Runs: []web.Run{{Recording: rec, Figures: measure.Run(rec)}},
		Text: "This page shows a fleet that runs.",
	}
	if b.AllowChanges {
		page.Token = b.token
	}
	// In memory first, so that a failure is not half a page.
	var text bytes.Buffer
	if err := web.Write(&text, page); err != nil {
		b.Log.Error("failed to write the page", "error", err)
		http.Error(w, "failed to write the page", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

// serveRecording lets a user keep what was recorded, to report on it later.
func (b *Board) serveRecording(w http.ResponseWriter, _ *http.Request) {
	text, err := json.Marshal(b.Source.Snapshot())
	if err != nil {
		b.Log.Error("failed to write the recording", "error", err)
		http.Error(w, "failed to write the recording", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="recording.json"`)
	_, _ = w.Write(text)
}
