// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
)

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b, err := New(Options{Source: newSource(recordingtest.Small()[0]), Clock: clock.RealClock{}, Done: ctx.Done()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- b.Serve(ctx, listener) }()
	server := &httptest.Server{URL: "http://" + listener.Addr().String()}
	if status, _, _ := ask(t, http.MethodGet, server.URL, nil); status != http.StatusOK {
		t.Errorf("got %d, want %d", status, http.StatusOK)
	}
	client := follow(t, server, "")
	if !client.next() {
		t.Fatal("there is no first message")
	}
	cancel()
	for client.next() {
	}
	if client.kind != "end" {
		t.Errorf("the last message is %q, want end", client.kind)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServeSaysWhyItCannot(t *testing.T) {
	b, err := New(Options{Source: newSource(recordingtest.Small()[0]), Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := b.Serve(t.Context(), listener); err == nil {
		t.Error("a closed listener is no error")
	}
}
