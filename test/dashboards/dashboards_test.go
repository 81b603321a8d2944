// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboards runs every query of the dashboards and the alerts by
// Prometheus' own parser and engine, on what the built manager told.
package dashboards

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

// query is one of a dashboard or an alert.
type query struct{ where, expr string }

const root = "../.."

// queries reads all of them. Grafana fills in its variables; here they match
// everything.
func queries(t *testing.T) []query {
	t.Helper()
	var out []query
	variables := strings.NewReplacer("$__rate_interval", "5m", "$flavor", ".*", "$resource", ".*", "$cluster_queue", ".*")
	for _, path := range glob(t, "dashboards/*.json") {
		var dashboard struct {
			Panels []struct {
				Title   string
				Type    string
				Targets []struct{ Expr string }
			}
			Templating struct {
				List []struct {
					Name, Type string
					Query      any
				}
			}
		}
		if err := json.Unmarshal(read(t, path), &dashboard); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, panel := range dashboard.Panels {
			if len(panel.Targets) == 0 && panel.Type != "row" {
				t.Errorf("%s: the panel %q has no query", path, panel.Title)
			}
			for _, target := range panel.Targets {
				out = append(out, query{panel.Title, variables.Replace(target.Expr)})
			}
		}
		for _, variable := range dashboard.Templating.List {
			if variable.Type != "query" {
				continue
			}
			fields, _ := variable.Query.(map[string]any)
			text := fmt.Sprint(fields["query"])
			values := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(text)
			if values == nil {
				t.Errorf("%s: the variable %s has the query %q, want label_values(METRIC, LABEL)", path, variable.Name, text)
				continue
			}
			out = append(out, query{"variable " + variable.Name, fmt.Sprintf("count by (%s) (%s) > 0", values[2], values[1])})
		}
	}
	for _, path := range glob(t, "dashboards/alerts/*.yaml") {
		groups, errs := rulefmt.Parse(read(t, path), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatalf("%s: Prometheus doesn't take the rules: %v", path, errs)
		}
		for _, group := range groups.Groups {
			for _, rule := range group.Rules {
				out = append(out, query{"alert " + rule.Alert, rule.Expr})
			}
		}
	}
	if len(out) < 25 {
		t.Fatalf("there are %d queries, want those of all panels and alerts", len(out))
	}
	return out
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no %s (%v)", pattern, err)
	}
	return paths
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// series maps each series to its values in the scrapes, the name first.
func series(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for i := range 2 {
		path := filepath.Join(root, "artifacts", "metrics", fmt.Sprintf("%d.txt", i+1))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("there is no scrape of the manager: make it with `make test-metrics`: %v", err)
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			at := strings.LastIndex(line, " ")
			name, value := line[:at], line[at+1:]
			// A series that comes up later was not there before.
			for len(out[name]) < i {
				out[name] = append(out[name], "_")
			}
			out[name] = append(out[name], value)
		}
	}
	return out
}

// load puts the scrapes five minutes apart, each read for that long.
func load(t *testing.T, scrapes map[string][]string) storage.Storage {
	t.Helper()
	var text strings.Builder
	text.WriteString("load 1m\n")
	for name, values := range scrapes {
		for len(values) < 2 {
			values = append(values, "_")
		}
		fmt.Fprintf(&text, "  %s%s%s\n", name, strings.Repeat(" "+values[0], 5), strings.Repeat(" "+values[1], 5))
	}
	return promqltest.LoadedStorage(t, text.String())
}

func TestEveryQueryRuns(t *testing.T) {
	scrapes := series(t)
	names := map[string]bool{}
	for name := range scrapes {
		name, _, _ = strings.Cut(name, "{")
		names[name] = true
	}
	db := load(t, scrapes)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	var empty []string
	all := queries(t)
	for _, q := range all {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(q.expr)
		if err != nil {
			t.Errorf("%s: Prometheus doesn't parse it: %v", q.where, err)
			continue
		}
		told := true
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			if selector, ok := node.(*parser.VectorSelector); ok && !names[selector.Name] {
				told = false
				if !slices.Contains(happensLater, selector.Name) {
					t.Errorf("%s: the manager doesn't tell %s", q.where, selector.Name)
				}
			}
			return nil
		})
		prepared, err := engine.NewInstantQuery(t.Context(), db, nil, q.expr, time.Unix(0, 0).Add(9*time.Minute))
		if err != nil {
			t.Errorf("%s: %v", q.where, err)
			continue
		}
		result := prepared.Exec(t.Context())
		if result.Err != nil {
			t.Errorf("%s: %v", q.where, result.Err)
			continue
		}
		if len(result.Warnings) > 0 {
			t.Errorf("%s: Prometheus warns: %v", q.where, result.Warnings)
		}
		rows, isVector := result.Value.(promql.Vector)
		switch {
		case !isVector:
			t.Errorf("%s: the result is a %s, want a vector", q.where, result.Value.Type())
		case len(rows) == 0 && told && !strings.HasPrefix(q.where, "alert "):
			t.Errorf("%s: all metrics are there and the query finds nothing: %s", q.where, q.expr)
		case len(rows) == 0:
			empty = append(empty, q.where)
		}
		prepared.Close()
	}
	t.Logf("%d queries ran on %d series; nothing to show: %s", len(all), len(scrapes), strings.Join(empty, ", "))
}

// happensLater are metrics that a manager tells only once such a thing has happened,
// which it doesn't in the test that reads them.
var happensLater = []string{
	"kueue_fleet_readiness_evictions_total", "kueue_fleet_readiness_unready_seconds_bucket", "kueue_evicted_workloads_total",
}
