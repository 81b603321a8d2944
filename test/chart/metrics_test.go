// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/pkg/metrics"
)

// TestMetricsTellWhatHappens runs the manager as the chart does with the gates of all
// metrics on, on two half-used nodes of 8 GPUs, and reads its metrics: a job that
// grows, one that waits for a whole node, and a RayJob by groups. What was read is
// left for the test of the dashboards.
func TestMetricsTellWhatHappens(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	ctx := t.Context()
	c := newCharts(t)
	values := file(t, `
fleet:
  image: {repository: `+ourImage+`}
  featureGates: {FleetMetrics: true, FleetWorkgroup: true, FleetReadinessRecovery: true, FleetElasticFit: true}
  readiness: {enabled: true}
controllerManager:
  featureGates:
  - {name: ElasticJobsViaWorkloadSlices, enabled: true}
  - {name: ElasticJobsViaWorkloadSlicesWithTAS, enabled: true}
`)
	objects, err := managertest.ReadFolder(filepath.Join("testdata", "metrics"))
	if err != nil {
		t.Fatal(err)
	}
	manager := c.startOurs(ctx, t, "--values", values)
	for _, object := range objects {
		create(t, manager.Plane.Admin, object)
	}

	const gpu = `flavor="b300",resource="nvidia.com/gpu"`
	want(ctx, t, manager, map[string]float64{
		// The eval has 1 of the 8 that the others left, and the RayJob's head has 1.
		`kueue_fleet_packing_allocated{` + gpu + `}`:                                                           10,
		`kueue_fleet_packing_free{` + gpu + `}`:                                                                6,
		`kueue_fleet_packing_unusable{flavor="b300",level="kubernetes.io/hostname",resource="nvidia.com/gpu"}`: 6,
		`kueue_fleet_packing_largest_free{flavor="b300",level="example.com/rack",resource="nvidia.com/gpu"}`:   6,
		`kueue_fleet_workgroup_groups{state="Starting"}`:                                                       1,
	})
	first := scrape(ctx, t, manager)
	grow := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"parallelism":3}}`))
	job := &unstructured.Unstructured{}
	job.SetAPIVersion("batch/v1")
	job.SetKind("Job")
	job.SetNamespace("default")
	job.SetName("eval")
	if err := manager.Plane.Admin.Patch(ctx, job, grow); err != nil {
		t.Fatal(err)
	}
	want(ctx, t, manager, map[string]float64{
		`kueue_fleet_packing_allocated{` + gpu + `}`:                           12,
		`kueue_fleet_packing_free{` + gpu + `}`:                                4,
		`kueue_fleet_resize_admission_seconds_count{cluster_queue="training"}`: 1,
		`kueue_fleet_readiness_recovering_workloads`:                           0,
	})
	last := scrape(ctx, t, manager)
	if denied := manager.Denied(); len(denied) > 0 {
		t.Errorf("the API server denied %v", denied)
	}
	compareDefinitions(t, last)
	keep(t, c.root, first, last)
}

// program is the built manager.
func program(t *testing.T, root string) string {
	t.Helper()
	path := os.Getenv("KUEUE_FLEET_BIN")
	if path == "" {
		path = filepath.Join(root, "bin", "kueue-fleet")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("our manager is missing: build it with `make build`, or set KUEUE_FLEET_BIN to where it is: %v", err)
	}
	return path
}

// create makes an object with its status, and a node without the taint that only the
// node controller would take away.
func create(t *testing.T, admin client.Client, object *unstructured.Unstructured) {
	t.Helper()
	status, hasStatus := object.Object["status"]
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatalf("failed to create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	if !hasStatus {
		return
	}
	object.Object["status"] = status
	if err := admin.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(object.Object, "spec", "taints")
	if err := admin.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func scrape(ctx context.Context, t *testing.T, manager *managertest.Installed) string {
	t.Helper()
	text, err := manager.Scrape(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// want waits until the samples have the values.
func want(ctx context.Context, t *testing.T, manager *managertest.Installed, wanted map[string]float64) {
	t.Helper()
	got := map[string]string{}
	err := manager.Until(ctx, "the metrics", func(ctx context.Context) (bool, error) {
		text, err := manager.Scrape(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // it doesn't listen yet
		}
		clear(got)
		for line := range strings.Lines(text) {
			series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
			if strings.Contains(line, "{") {
				series += "}"
			} else {
				series, value, _ = strings.Cut(strings.TrimSpace(line), " ")
			}
			if _, asked := wanted[series]; asked {
				got[series] = value
			}
		}
		for series, value := range wanted {
			if got[series] != fmt.Sprint(value) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("want %v, got %v: %v", wanted, got, err)
	}
}

// compareDefinitions holds the metrics of ours in a scrape against their definitions.
func compareDefinitions(t *testing.T, text string) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defined := map[string]metrics.Definition{}
	for _, d := range metrics.All() {
		defined[d.Name] = d
	}
	seen := 0
	for name, family := range families {
		if !strings.HasPrefix(name, "kueue_fleet_") {
			continue
		}
		seen++
		got := metrics.Definition{
			Name: name, Type: metrics.Type(strings.ToLower(family.GetType().String())), Help: family.GetHelp(),
			Labels: labels(family), Gate: defined[name].Gate,
		}
		d := defined[name]
		slices.Sort(d.Labels)
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("the metric is not as it is defined (-defined,+told):\n%s", diff)
		}
	}
	if seen < 7 {
		t.Errorf("the manager tells %d metrics of ours, want those of build, fit, packing, resize and groups at least", seen)
	}
}

func labels(family *dto.MetricFamily) []string {
	var out []string
	for _, label := range family.GetMetric()[0].GetLabel() {
		out = append(out, label.GetName())
	}
	slices.Sort(out)
	return out
}

// keep writes what was read for the test of the dashboards.
func keep(t *testing.T, root string, scrapes ...string) {
	t.Helper()
	dir := filepath.Join(root, "artifacts", "metrics")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range scrapes {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.txt", i+1)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
