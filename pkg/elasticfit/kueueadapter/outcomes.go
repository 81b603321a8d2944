// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"fleet.ai/kueue-fleet/pkg/metrics"
)

// Outcome says what became of a request: an answer, or the reason for which it was
// left to Kueue's algorithm.
type Outcome string

// The outcomes beside the engine's reasons.
const (
	// Placed is a request whose pods got their places.
	Placed Outcome = "Placed"
	// NoFit is a request for which there is no room.
	NoFit Outcome = "NoFit"
	// InvalidSelector is a request with node labels or an affinity that can't be
	// parsed. Kueue's algorithm has the message for it.
	InvalidSelector Outcome = "InvalidSelector"
	// OtherError is an error that is none of the above; there should be none.
	OtherError Outcome = "OtherError"
)

// counts are the numbers of requests by outcome.
type counts struct {
	lock      sync.Mutex
	byOutcome map[Outcome]int64
}

func (c *counts) add(o Outcome) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.byOutcome == nil {
		c.byOutcome = make(map[Outcome]int64)
	}
	c.byOutcome[o]++
}

func (c *counts) all() map[Outcome]int64 {
	c.lock.Lock()
	defer c.lock.Unlock()
	result := make(map[Outcome]int64, len(c.byOutcome))
	for o, n := range c.byOutcome {
		result[o] = n
	}
	return result
}

var _ prometheus.Collector = (*Engines)(nil)

var requestsDesc = metrics.FitRequests().Desc()

// Describe implements prometheus.Collector.
func (e *Engines) Describe(descs chan<- *prometheus.Desc) { descs <- requestsDesc }

// Collect implements prometheus.Collector.
func (e *Engines) Collect(out chan<- prometheus.Metric) {
	for outcome, n := range e.Outcomes() {
		out <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), string(outcome))
	}
}
