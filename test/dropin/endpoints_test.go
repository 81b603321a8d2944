// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// answer is the short form of an HTTP answer: status and body.
func answer(client *http.Client, req *http.Request) (string, error) {
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSpace(string(body))), nil
}

func (l *live) get(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := answer(l.http, req)
	if err != nil {
		return "no answer"
	}
	return got
}

func (l *live) waitProbe(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	l.waitUntil(ctx, t, path, func(ctx context.Context) (bool, error) {
		return strings.HasPrefix(l.get(ctx, t, l.health+path), "200 "), nil
	})
}

func (l *live) probes(ctx context.Context, t *testing.T, when string, facts Facts) {
	t.Helper()
	for _, path := range []string{
		"/healthz", "/healthz?verbose", "/healthz/healthz", "/healthz/ping", "/healthz/unknown",
		"/readyz", "/readyz?verbose", "/readyz/readyz", "/readyz/unknown", "/livez", "/metrics", "/",
	} {
		facts["GET "+path+" "+when] = l.get(ctx, t, l.health+path)
	}
}

// metricsClient trusts any certificate: the metrics server signs its own.
func metricsClient() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}}
}

func (l *live) metricsRequest(ctx context.Context, t *testing.T, token string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

// metricsAccess notes who may read the metrics.
func (l *live) metricsAccess(ctx context.Context, t *testing.T, facts Facts) {
	t.Helper()
	// The manager may be ready a moment before its metrics server is.
	l.waitUntil(ctx, t, "the metrics server", func(ctx context.Context) (bool, error) {
		_, err := answer(metricsClient(), l.metricsRequest(ctx, t, ""))
		return err == nil, nil
	})
	for who, token := range map[string]string{
		"by the role for it":     l.plane.MetricsToken,
		"by a user without role": l.plane.OtherToken,
		"by nobody":              "",
		"by a made-up token":     "made-up",
	} {
		got, err := answer(metricsClient(), l.metricsRequest(ctx, t, token))
		if err != nil {
			t.Fatal(err)
		}
		status, body, _ := strings.Cut(got, " ")
		if status == "200" {
			body = "metrics"
		}
		facts["GET metrics "+who] = status + " " + body
	}
	facts["GET metrics without TLS"] = l.get(ctx, t, "http://"+l.metrics+"/metrics")
}

func (l *live) families(ctx context.Context, t *testing.T) Facts {
	t.Helper()
	resp, err := metricsClient().Do(l.metricsRequest(ctx, t, l.plane.MetricsToken))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("failed to read the metrics of %s: %v", l.program.name, err)
	}
	facts := Facts{}
	for name, family := range families {
		facts[name] = fmt.Sprintf("%s, labels %s: %s", strings.ToLower(family.GetType().String()), labelNames(family), family.GetHelp())
	}
	return facts
}

// labelNames are the names of all labels in a family.
func labelNames(family *dto.MetricFamily) []string {
	names := map[string]bool{}
	for _, metric := range family.GetMetric() {
		for _, label := range metric.GetLabel() {
			names[label.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// expectedFamilies are some that only the scenario brings up; they show that it
// did what it is there for.
var expectedFamilies = []string{
	"kueue_admitted_workloads_total", "kueue_evicted_workloads_total", "kueue_quota_reserved_workloads_total",
	"kueue_cluster_queue_resource_usage", "kueue_pending_workloads",
	"workqueue_depth", "controller_runtime_reconcile_total",
}

// scrape returns the families of metrics. They come up as things happen, some a
// moment after what caused them, so it asks again until the known ones are there
// and nothing has been new for a while.
func (l *live) scrape(ctx context.Context, t *testing.T, known Facts) Facts {
	t.Helper()
	const quiet = 2 * time.Second
	var facts Facts
	var missing []string
	deadline := time.Now().Add(30 * time.Second)
	changed := time.Now()
	l.waitUntil(ctx, t, "the metrics", func(ctx context.Context) (bool, error) {
		now := l.families(ctx, t)
		if len(now) != len(facts) {
			changed = time.Now()
		}
		facts, missing = now, nil
		for _, name := range slices.Concat(expectedFamilies, slices.Collect(maps.Keys(known))) {
			if _, found := now[name]; !found {
				missing = append(missing, name)
			}
		}
		// What is missing for good is for the comparison to say.
		return len(missing) == 0 && time.Since(changed) > quiet || time.Now().After(deadline), nil
	})
	for _, name := range expectedFamilies {
		if slices.Contains(missing, name) {
			t.Errorf("%s has no metric %s", l.program.name, name)
		}
	}
	return facts
}
