// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/component-base/featuregate"

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
)

func sortedGates() []featuregate.Feature { return slices.Sorted(maps.Keys(gates)) }

// describe tells of requests what a person needs to see why answers differ.
func describe(byFlavor schdcache.WorkloadTASRequests) string {
	var text strings.Builder
	for flavor, requests := range byFlavor {
		for _, tr := range requests {
			topology, err := json.Marshal(tr.PodSet.TopologyRequest)
			if err != nil {
				return err.Error()
			}
			fmt.Fprintf(&text, "\n%s %s: %d pods, %v each, implied %v, topology %s, group %v, previous %v", flavor, tr.PodSet.Name, tr.Count,
				tr.SinglePodRequests, tr.Implied, topology, tr.PodSetGroupName != nil, tr.PreviousAssignment != nil)
		}
	}
	return text.String()
}
