// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// RegisterBuildInfo tells which kueue-fleet this is: its release, the version of
// Kueue below it, and the patch series.
func RegisterBuildInfo(r prometheus.Registerer, release, base, series string) error {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: BuildInfo().Name, Help: BuildInfo().Help,
		ConstLabels: prometheus.Labels{"version": release, "base": base, "patch_series": series},
	})
	info.Set(1)
	return r.Register(info)
}
