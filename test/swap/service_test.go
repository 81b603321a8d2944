// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
)

// service does for the webhooks what the Service does in a cluster: a connection goes
// to a manager that listens.
type service struct {
	mu    sync.Mutex
	ports []int
}

// listen serves on the port until the test ends.
func (s *service) listen(t *testing.T, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			incoming, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go s.forward(incoming)
		}
	}()
}

// set names the managers' ports, the preferred one first.
func (s *service) set(ports ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports = ports
}

func (s *service) forward(incoming net.Conn) {
	defer func() { _ = incoming.Close() }()
	s.mu.Lock()
	ports := s.ports
	s.mu.Unlock()
	for _, port := range ports {
		backend, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = backend.Close() }()
		done := make(chan struct{}, 2)
		for _, way := range [][2]net.Conn{{incoming, backend}, {backend, incoming}} {
			go func() {
				_, _ = io.Copy(way[1], way[0])
				done <- struct{}{}
			}()
		}
		// One way's end is the connection's.
		<-done
		return
	}
}
