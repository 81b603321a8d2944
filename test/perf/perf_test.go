// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"k8s.io/component-base/featuregate"

	"sigs.k8s.io/kueue/pkg/features"
)

// TestScenarios keeps every scenario runnable, on a small cluster. It measures no
// time.
func TestScenarios(t *testing.T) {
	for _, gate := range []featuregate.Feature{
		features.TASCacheTopologyTree, features.ElasticJobsViaWorkloadSlices, features.ElasticJobsViaWorkloadSlicesWithTAS,
	} {
		features.SetFeatureGateDuringTest(t, gate, true)
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			clusters := make(map[arm]*cluster)
			for _, a := range []arm{upstream, fleet} {
				c, err := newCluster(40, a == fleet)
				if err != nil {
					t.Fatalf("Failed to make a cluster: %v", err)
				}
				clusters[a] = c
			}
			operations, err := prepare(s, clusters)
			if err != nil {
				t.Fatalf("Failed to prepare: %v", err)
			}
			for a, operation := range operations {
				for range 3 {
					if err := operation(); err != nil {
						t.Errorf("Unexpected error of arm %s: %v", a, err)
					}
				}
			}
		})
	}
}
