// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// clone copies all that the recorder changes later. What is behind a pointer
// or in a map is never changed once it is set.
func clone(rec *recording.Recording) *recording.Recording {
	c := *rec
	c.Nodes = slices.Clone(rec.Nodes)
	for i := range c.Nodes {
		c.Nodes[i].Away = slices.Clone(c.Nodes[i].Away)
	}
	c.Queues = slices.Clone(rec.Queues)
	c.Jobs = slices.Clone(rec.Jobs)
	for i := range c.Jobs {
		c.Jobs[i].Progress = slices.Clone(c.Jobs[i].Progress)
	}
	c.Workloads = slices.Clone(rec.Workloads)
	for i := range c.Workloads {
		c.Workloads[i].Spans = slices.Clone(c.Workloads[i].Spans)
	}
	c.Pods = slices.Clone(rec.Pods)
	for i := range c.Pods {
		c.Pods[i].Unready = slices.Clone(c.Pods[i].Unready)
	}
	c.Events = slices.Clone(rec.Events)
	c.Checks = slices.Clone(rec.Checks)
	c.Comparisons = slices.Clone(rec.Comparisons)
	c.Violations = slices.Clone(rec.Violations)
	c.Warnings = slices.Clone(rec.Warnings)
	return &c
}
