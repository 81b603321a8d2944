// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Scrape reads the manager's metrics as the user does whom upstream's role allows it.
func (i *Installed) Scrape(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+i.metrics+"/metrics", nil)
	if err != nil {
		return "", fmt.Errorf("failed to ask for the metrics: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+i.Plane.MetricsToken)
	// The metrics server signs its own certificate.
	trusting := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
	response, err := trusting.Do(request)
	if err != nil {
		return "", fmt.Errorf("failed to read the metrics: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("failed to read the metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("failed to read the metrics: %s: %s", response.Status, body)
	}
	return string(body), nil
}
