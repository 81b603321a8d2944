// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Resize is the metric of growing jobs.
type Resize struct {
	admission *prometheus.HistogramVec
}

// NewResize registers the metric with r, or uses the one that is registered.
func NewResize(r prometheus.Registerer) (*Resize, error) {
	// From the second that the API server's times have, to an hour and more.
	m := &Resize{admission: ResizeAdmission().histogram(prometheus.ExponentialBuckets(1, 2, 13))}
	return m, register(r, &m.admission)
}

// Admitted records how long a growth waited.
func (m *Resize) Admitted(clusterQueue string, d time.Duration) {
	m.admission.WithLabelValues(clusterQueue).Observe(d.Seconds())
}
