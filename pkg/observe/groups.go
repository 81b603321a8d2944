// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/pkg/metrics"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

// groupCollector counts the groups of RayJobs as the jobs come, change and go, so
// that a scrape looks at no job.
type groupCollector struct {
	leads func() bool

	mu     sync.Mutex
	states map[types.UID][]workgroup.State
}

var _ prometheus.Collector = (*groupCollector)(nil)

func newGroupCollector(leads func() bool) *groupCollector {
	return &groupCollector{leads: leads, states: map[types.UID][]workgroup.State{}}
}

// Describe implements prometheus.Collector.
func (c *groupCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- metrics.WorkgroupGroups().Desc()
}

// Collect implements prometheus.Collector. Every state is there, also without a
// group in it.
func (c *groupCollector) Collect(out chan<- prometheus.Metric) {
	if !c.leads() {
		return
	}
	for state, n := range c.count() {
		out <- prometheus.MustNewConstMetric(metrics.WorkgroupGroups().Desc(), prometheus.GaugeValue, float64(n), string(state))
	}
}

func (c *groupCollector) count() map[workgroup.State]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[workgroup.State]int{}
	for _, state := range workgroup.States() {
		out[state] = 0
	}
	for job := range maps.Values(c.states) {
		for _, state := range job {
			out[state]++
		}
	}
	return out
}

func (c *groupCollector) set(obj any) {
	job, isObject := obj.(client.Object)
	if !isObject {
		return
	}
	states := workgroup.StatesIn(job.GetAnnotations()[workgroup.StatusAnnotation])
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(states) == 0 {
		delete(c.states, job.GetUID())
		return
	}
	c.states[job.GetUID()] = states
}

func (c *groupCollector) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    c.set,
		UpdateFunc: func(_, after any) { c.set(after) },
		DeleteFunc: func(obj any) {
			if unknown, isUnknown := obj.(cache.DeletedFinalStateUnknown); isUnknown {
				obj = unknown.Obj
			}
			if job, isObject := obj.(client.Object); isObject {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.states, job.GetUID())
			}
		},
	}
}
