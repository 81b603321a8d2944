// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/workload"

	"fleet.ai/kueue-fleet/pkg/metrics"
)

// keepFor is how long a measurement serves: several Prometheus servers may come at
// once, and they scrape every 15 s or less often.
const keepFor = 5 * time.Second

// nodeUsage is Kueue's cache, where it tells what lies on the nodes.
type nodeUsage interface {
	TASDomainUsages() map[kueue.ResourceFlavorReference]schdcache.FlavorDomains
	ClusterQueuesUsingFlavor(kueue.ResourceFlavorReference) []kueue.ClusterQueueReference
}

// waiting is Kueue's queue manager, where it tells what waits.
type waiting interface {
	PendingWorkloadsInfo(kueue.ClusterQueueReference) []*workload.Info
}

// packingCollector measures packing when it is scraped, from what Kueue has in
// memory.
type packingCollector struct {
	usage  nodeUsage
	queues waiting
	leads  func() bool
	clock  clock.PassiveClock

	mu       sync.Mutex
	at       time.Time
	measured []measurement
}

type measurement struct {
	flavor   string
	resource string
	levels   []string
	packing  Packing
	// waits tells whether there was a shape to measure with.
	waits bool
}

var _ prometheus.Collector = (*packingCollector)(nil)

func packingDefinitions() []metrics.Definition {
	return []metrics.Definition{metrics.PackingAllocated(), metrics.PackingFree(), metrics.PackingLargestFree(), metrics.PackingUnusable()}
}

// Describe implements prometheus.Collector.
func (c *packingCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, definition := range packingDefinitions() {
		descs <- definition.Desc()
	}
}

// Collect implements prometheus.Collector. Only the manager that leads tells
// something, so that sums over the replicas are right.
func (c *packingCollector) Collect(out chan<- prometheus.Metric) {
	if !c.leads() {
		return
	}
	send := func(d metrics.Definition, value int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d.Desc(), prometheus.GaugeValue, float64(value), labels...)
	}
	for _, m := range c.measure() {
		send(metrics.PackingAllocated(), m.packing.Allocated, m.flavor, m.resource)
		send(metrics.PackingFree(), m.packing.Free, m.flavor, m.resource)
		for i, level := range m.packing.Levels {
			send(metrics.PackingLargestFree(), level.LargestFree, m.flavor, m.resource, m.levels[i])
			if m.waits {
				send(metrics.PackingUnusable(), level.Unusable, m.flavor, m.resource, m.levels[i])
			}
		}
	}
}

func (c *packingCollector) measure() []measurement {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if !c.at.IsZero() && now.Sub(c.at) < keepFor {
		return c.measured
	}
	c.at, c.measured = now, nil
	pending := map[kueue.ClusterQueueReference][]*workload.Info{}
	for flavor, domains := range c.usage.TASDomainUsages() {
		shapes := c.smallest(flavor, pending)
		for resource, leaves := range leavesOf(domains) {
			m := measurement{flavor: string(flavor), resource: string(resource), levels: domains.Levels}
			shape, waits := shapes[resource]
			if m.waits = waits; waits {
				m.packing = Pack(len(domains.Levels), leaves, &shape)
			} else {
				m.packing = Pack(len(domains.Levels), leaves, nil)
			}
			c.measured = append(c.measured, m)
		}
	}
	return c.measured
}

// isDevice tells devices, which come in whole pieces, from processors, memory and
// the like: their names have a domain.
func isDevice(resource corev1.ResourceName) bool { return strings.Contains(string(resource), "/") }

// leavesOf are a flavor's domains by device. A domain without any of a device is
// left out of its leaves.
func leavesOf(domains schdcache.FlavorDomains) map[corev1.ResourceName][]Leaf {
	out := map[corev1.ResourceName][]Leaf{}
	for _, d := range domains.Domains {
		for resource, capacity := range d.Capacity {
			if isDevice(resource) && capacity > 0 {
				out[resource] = append(out[resource], Leaf{Values: d.LevelValues, Capacity: capacity, Usage: d.Usage[resource]})
			}
		}
	}
	return out
}

// smallest finds, by device, the smallest PodSet that waits in a queue that has the
// flavor. It fills pending, so that no queue is read twice.
func (c *packingCollector) smallest(flavor kueue.ResourceFlavorReference, pending map[kueue.ClusterQueueReference][]*workload.Info) map[corev1.ResourceName]Shape {
	out := map[corev1.ResourceName]Shape{}
	for _, queue := range c.usage.ClusterQueuesUsingFlavor(flavor) {
		if _, read := pending[queue]; !read {
			pending[queue] = c.queues.PendingWorkloadsInfo(queue)
		}
		for _, info := range pending[queue] {
			for i := range info.TotalRequests {
				for resource, shape := range shapesOf(info.Obj, &info.TotalRequests[i]) {
					if known, found := out[resource]; !found || shape.smaller(known) {
						out[resource] = shape
					}
				}
			}
		}
	}
	return out
}

// shapesOf is what a PodSet asks for, by device. A growing job's is taken as one
// pod: the others run already.
func shapesOf(wl *kueue.Workload, podSet *workload.PodSetResources) map[corev1.ResourceName]Shape {
	out := map[corev1.ResourceName]Shape{}
	if podSet.Count <= 0 || podSet.Requests == nil {
		return out
	}
	pods := int64(podSet.Count)
	if isGrowth(wl) {
		pods = 1
	}
	podSet.SinglePodRequests().ForEach(func(resource corev1.ResourceName, each int64) {
		if isDevice(resource) && each > 0 {
			out[resource] = Shape{Pods: pods, Each: each}
		}
	})
	return out
}
