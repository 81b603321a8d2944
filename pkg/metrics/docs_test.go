// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/pkg/features"
)

var update = flag.Bool("update", false, "write the table in docs/metrics.md")

// The lines of the page between which the table stands.
const (
	tableBegin = "<!-- Written by go test ./pkg/metrics -update. -->\n"
	tableEnd   = "<!-- End of what the test writes. -->\n"
)

func table() string {
	var out strings.Builder
	out.WriteString("| Metric | Type | Labels | Gate | |\n|---|---|---|---|---|\n")
	for _, d := range All() {
		labels, gate := "–", "–"
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		if d.Gate != "" {
			gate = "`" + strings.ReplaceAll(d.Gate, " and ", "`, `") + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Type, labels, gate, d.Help)
	}
	return out.String()
}

func TestPageHasTheTable(t *testing.T) {
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", "metrics.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(data), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s has not the lines between which the table goes", path)
	}
	want := before + tableBegin + table() + tableEnd + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("docs/metrics.md is not what the definitions say; run go test ./pkg/metrics -update (-want,+got):\n%s", diff)
	}
}

func TestDefinitionsAreWellFormed(t *testing.T) {
	gates := map[string]bool{"": true}
	for gate := range features.Gates() {
		gates[string(gate)] = true
	}
	seen := map[string]bool{}
	for _, d := range All() {
		if seen[d.Name] {
			t.Errorf("%s is defined twice", d.Name)
		}
		seen[d.Name] = true
		for gate := range strings.SplitSeq(d.Gate, " and ") {
			if !gates[gate] {
				t.Errorf("%s needs the gate %q, which there is not", d.Name, gate)
			}
		}
		kind, known := map[Type]dto.MetricType{
			Counter: dto.MetricType_COUNTER, Gauge: dto.MetricType_GAUGE, Histogram: dto.MetricType_HISTOGRAM,
		}[d.Type]
		if !known {
			t.Errorf("%s has the type %q", d.Name, d.Type)
		}
		problems, err := promlint.NewWithMetricFamilies([]*dto.MetricFamily{{Name: &d.Name, Help: &d.Help, Type: &kind}}).Lint()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s is not named as Prometheus wants it: %v %v", d.Name, err, problems)
		}
	}
}

func TestBuildInfo(t *testing.T) {
	registry := prometheus.NewRegistry()
	if err := RegisterBuildInfo(registry, "v0.19.2-fleet.1", "v0.19.2", "2@0123456789ab"); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, label := range families[0].GetMetric()[0].GetLabel() {
		got[label.GetName()] = label.GetValue()
	}
	want := map[string]string{}
	for i, value := range []string{"v0.19.2-fleet.1", "v0.19.2", "2@0123456789ab"} {
		want[BuildInfo().Labels[i]] = value
	}
	if diff := cmp.Diff(want, got); diff != "" || families[0].GetName() != BuildInfo().Name {
		t.Errorf("%s has unexpected labels (-want,+got):\n%s", families[0].GetName(), diff)
	}
}
