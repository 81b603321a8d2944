// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// goodbye is how long open requests may take when the board ends.
const goodbye = 2 * time.Second

// Serve answers requests until the context ends. Streams end in good order if
// the same context's Done was given to New.
func (b *Board) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 16}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		// The context is over; what is under way gets a moment.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("failed to serve the board: %w", err)
	}
	<-ended
	return nil
}
