// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const probePeriod = 50 * time.Millisecond

// WaitHTTP polls url until it answers 200 or ctx is done. token and tlsConfig
// may be empty.
func WaitHTTP(ctx context.Context, url, token string, tlsConfig *tls.Config) error {
	client := &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true},
	}
	for {
		last := probe(ctx, client, url, token)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("failed to wait for %s, its last answer: %w: %w", url, last, context.Cause(ctx))
		case <-time.After(probePeriod):
		}
	}
}

func probe(ctx context.Context, client *http.Client, url, token string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}
