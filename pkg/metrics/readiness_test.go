// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestReadiness(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, err := NewReadiness(registry, func() float64 { return 2 })
	if err != nil {
		t.Fatalf("NewReadiness() error = %v", err)
	}
	// A second one, as tests make it, counts on the same counters.
	second, err := NewReadiness(registry, func() float64 { return 7 })
	if err != nil {
		t.Fatalf("NewReadiness() on the same registry, error = %v", err)
	}
	first.Evicted("WaitForRecovery", "PodTemplate")
	second.Evicted("WaitForRecovery", "PodTemplate")
	second.Unready(OutcomeRecovered, 3*time.Second)

	const want = `
# HELP kueue_fleet_readiness_evictions_total Workloads evicted because their pods were not ready in time, by reason of the wait (WaitForStart, WaitForRecovery) and source of the window (PodTemplate, Job, Cluster).
# TYPE kueue_fleet_readiness_evictions_total counter
kueue_fleet_readiness_evictions_total{reason="WaitForRecovery",source="PodTemplate"} 2
# HELP kueue_fleet_readiness_recovering_workloads Admitted Workloads that have been ready and wait for their pods to recover.
# TYPE kueue_fleet_readiness_recovering_workloads gauge
kueue_fleet_readiness_recovering_workloads 2
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"kueue_fleet_readiness_evictions_total", "kueue_fleet_readiness_recovering_workloads"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(registry, "kueue_fleet_readiness_unready_seconds"); n != 1 {
		t.Errorf("the histogram is reported %d times, want once", n)
	}
}

// A step of the clock must not take away from the sum, which is a counter.
func TestUnreadyIsNeverNegative(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewReadiness(registry, func() float64 { return 0 })
	if err != nil {
		t.Fatalf("NewReadiness() error = %v", err)
	}
	m.Unready(OutcomeRecovered, 3*time.Second)
	m.Unready(OutcomeRecovered, -time.Hour)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "kueue_fleet_readiness_unready_seconds" {
			continue
		}
		if h := family.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 2 || h.GetSampleSum() != 3 {
			t.Errorf("got %d times of %v s in all, want 2 of 3 s", h.GetSampleCount(), h.GetSampleSum())
		}
		return
	}
	t.Error("the histogram isn't reported")
}

func TestReadinessOfForeignName(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "kueue_fleet_readiness_evictions_total", Help: "another"}))
	if _, err := NewReadiness(registry, func() float64 { return 0 }); err == nil {
		t.Error("NewReadiness() accepts a name that something else has")
	}
}
