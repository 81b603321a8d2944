// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics declares the metrics that kueue-fleet has besides Kueue's.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The ends that a time without readiness can have.
const (
	OutcomeRecovered = "Recovered"
	OutcomeEvicted   = "Evicted"
)

// Readiness are the metrics of readiness recovery.
type Readiness struct {
	evictions *prometheus.CounterVec
	unready   *prometheus.HistogramVec
}

// NewReadiness registers the metrics with r. recovering returns how many Workloads
// wait for their pods to recover; it is called at each collection. Where the metrics
// are registered already, those are used, and recovering is not.
func NewReadiness(r prometheus.Registerer, recovering func() float64) (*Readiness, error) {
	m := &Readiness{
		evictions: ReadinessEvictions().counter(),
		// From a restarted container to the longest window that is allowed by default.
		unready: ReadinessUnready().histogram(prometheus.ExponentialBuckets(1, 2, 14)),
	}
	if err := register(r, &m.evictions); err != nil {
		return nil, err
	}
	if err := register(r, &m.unready); err != nil {
		return nil, err
	}
	gauge := prometheus.Collector(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: ReadinessRecovering().Name, Help: ReadinessRecovering().Help,
	}, recovering))
	if err := register(r, &gauge); err != nil {
		return nil, err
	}
	return m, nil
}

// Evicted counts an eviction.
func (m *Readiness) Evicted(reason, source string) {
	m.evictions.WithLabelValues(reason, source).Inc()
}

// Unready records the end of a time without readiness. A time that the clock has
// made negative, by a step back, counts as none.
func (m *Readiness) Unready(outcome string, d time.Duration) {
	m.unready.WithLabelValues(outcome).Observe(max(d, 0).Seconds())
}

func register[C prometheus.Collector](r prometheus.Registerer, c *C) error {
	err := r.Register(*c)
	var known prometheus.AlreadyRegisteredError
	if errors.As(err, &known) {
		if existing, same := known.ExistingCollector.(C); same {
			*c = existing
			return nil
		}
	}
	return err
}
