// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Type is what Prometheus calls the type of a metric.
type Type string

// The types that are in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Definition is what a metric is, apart from its values.
type Definition struct {
	// Name is the whole name.
	Name string
	Type Type
	Help string
	// Labels are in the order of the values.
	Labels []string
	// Gate is the feature gate that it needs; empty if there is none.
	Gate string
}

// Desc is the definition in Prometheus' terms.
func (d Definition) Desc() *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
}

func (d Definition) counter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
}

func (d Definition) histogram(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets}, d.Labels)
}

// BuildInfo is always 1.
func BuildInfo() Definition {
	return Definition{
		Name: "kueue_fleet_build_info", Type: Gauge, Labels: []string{"version", "base", "patch_series"},
		Help: "Always 1; the labels tell the release, the version of Kueue that it is built from, and the patch series (number of patches and hash).",
	}
}

// ReadinessEvictions counts evictions.
func ReadinessEvictions() Definition {
	return Definition{
		Name: "kueue_fleet_readiness_evictions_total", Type: Counter, Labels: []string{"reason", "source"}, Gate: "FleetReadinessRecovery",
		Help: "Workloads evicted because their pods were not ready in time, by reason of the wait " +
			"(WaitForStart, WaitForRecovery) and source of the window (PodTemplate, Job, Cluster).",
	}
}

// ReadinessUnready is about times without readiness.
func ReadinessUnready() Definition {
	return Definition{
		Name: "kueue_fleet_readiness_unready_seconds", Type: Histogram, Labels: []string{"outcome"}, Gate: "FleetReadinessRecovery",
		Help: "How long Workloads that had been ready were not, by how it ended (Recovered, Evicted).",
	}
}

// ReadinessRecovering is about Workloads in their recovery window.
func ReadinessRecovering() Definition {
	return Definition{
		Name: "kueue_fleet_readiness_recovering_workloads", Type: Gauge, Gate: "FleetReadinessRecovery",
		Help: "Admitted Workloads that have been ready and wait for their pods to recover.",
	}
}

// FitRequests counts what the fit engine was asked for.
func FitRequests() Definition {
	return Definition{
		Name: "kueue_fleet_fit_requests_total", Type: Counter, Labels: []string{"outcome"}, Gate: "FleetElasticFit",
		Help: "The number of placements that the fit engine was asked for, by outcome: Placed, NoFit, or the reason for which Kueue's algorithm was asked instead.",
	}
}

// gateMetrics is the gate of the definitions below. This package doesn't use the
// gates' own, which need Kubernetes' libraries; a test compares the names.
const gateMetrics = "FleetMetrics"

// PackingAllocated is what pods have or were granted.
func PackingAllocated() Definition {
	return Definition{
		Name: "kueue_fleet_packing_allocated", Type: Gauge, Labels: []string{"flavor", "resource"}, Gate: gateMetrics,
		Help: "How much of a resource is taken on the flavor's nodes, by pods of any kind and by topology assignments whose pods are still to come.",
	}
}

// PackingFree is what is left.
func PackingFree() Definition {
	return Definition{
		Name: "kueue_fleet_packing_free", Type: Gauge, Labels: []string{"flavor", "resource"}, Gate: gateMetrics,
		Help: "How much of a resource is free on the flavor's nodes that are ready and schedulable.",
	}
}

// PackingLargestFree is the largest hole.
func PackingLargestFree() Definition {
	return Definition{
		Name: "kueue_fleet_packing_largest_free", Type: Gauge, Labels: []string{"flavor", "resource", "level"}, Gate: gateMetrics,
		Help: "The most of a resource that is free in one domain of the topology level.",
	}
}

// PackingUnusable is the free amount that is of no use.
func PackingUnusable() Definition {
	return Definition{
		Name: "kueue_fleet_packing_unusable", Type: Gauge, Labels: []string{"flavor", "resource", "level"}, Gate: gateMetrics,
		Help: "How much of a resource is free, but of no use to the smallest PodSet that waits for the flavor, if it has to stay in one domain " +
			"of the topology level; at the lowest level, to one of its pods. Missing while none waits.",
	}
}

// ResizeAdmission is how long a growth waits.
func ResizeAdmission() Definition {
	return Definition{
		Name: "kueue_fleet_resize_admission_seconds", Type: Histogram, Labels: []string{"cluster_queue"}, Gate: gateMetrics,
		Help: "How long it took from the creation of the slice by which an elastic job grows to its admission.",
	}
}

// WorkgroupGroups is about the groups of RayJobs.
func WorkgroupGroups() Definition {
	return Definition{
		Name: "kueue_fleet_workgroup_groups", Type: Gauge, Labels: []string{"state"}, Gate: gateMetrics + " and FleetWorkgroup",
		Help: "Groups of RayJobs that are admitted by group, by state.",
	}
}

// All lists the metrics that kueue-fleet has besides Kueue's.
func All() []Definition {
	return []Definition{
		BuildInfo(),
		ReadinessEvictions(), ReadinessUnready(), ReadinessRecovering(),
		FitRequests(),
		PackingAllocated(), PackingFree(), PackingLargestFree(), PackingUnusable(),
		ResizeAdmission(), WorkgroupGroups(),
	}
}
