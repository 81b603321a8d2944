// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestOutcomesAreCounted(t *testing.T) {
	e := New()
	e.counts.add(Placed)
	e.counts.add(Placed)
	e.counts.add(InvalidSelector)
	want := `
# HELP kueue_fleet_fit_requests_total The number of placements that the fit engine was asked for, by outcome: Placed, NoFit, or the reason for which Kueue's algorithm was asked instead.
# TYPE kueue_fleet_fit_requests_total counter
kueue_fleet_fit_requests_total{outcome="InvalidSelector"} 1
kueue_fleet_fit_requests_total{outcome="Placed"} 2
`
	if err := testutil.CollectAndCompare(e, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
