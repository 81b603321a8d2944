// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// serveEvents sends what changes for as long as the client listens.
func (b *Board) serveEvents(w http.ResponseWriter, r *http.Request) {
	select {
	case b.streams <- struct{}{}:
		defer func() { <-b.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d pages follow this fleet already; close one", b.MaxStreams), http.StatusServiceUnavailable)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	out := &stream{w: w, control: http.NewResponseController(w)}
	if out.send("retry: 1000\n\n") != nil {
		return
	}
	// A browser that connects again names what it has seen; a page that has
	// just been loaded says which version it came with.
	version, known := b.feed.since(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("since")))
	for {
		changed, err := b.feed.refresh()
		if err != nil {
			b.Log.Error("failed to follow the fleet", "error", err)
			return
		}
		kind := "some"
		if !known {
			kind, version = "all", 0
		}
		m, newest := b.feed.newer(version)
		if newest > version || !known {
			if err := out.message(kind, b.feed.id(newest), m); err != nil {
				return
			}
			version, known = newest, true
		}
		select {
		case <-r.Context().Done():
			return
		case <-b.Done:
			_ = out.send("event: end\ndata: {}\n\n")
			return
		case <-changed:
		case <-b.Clock.After(quiet):
		}
		if wait := b.feed.wait(b.Interval); wait > 0 {
			select {
			case <-r.Context().Done():
				return
			case <-b.Done: // The next turn says so.
			case <-b.Clock.After(wait):
			}
		}
	}
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) message(kind, id string, m message) error {
	// JSON has no line breaks, so it is one line of data.
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("failed to encode a change: %w", err)
	}
	return s.send(fmt.Sprintf("event: %s\nid: %s\ndata: %s\n\n", kind, id, data))
}

// send gives up on a client that does not read. Where the connection has no
// deadlines, it writes without.
func (s *stream) send(text string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(patience))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("failed to send a change: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("failed to send a change: %w", err)
	}
	return nil
}
