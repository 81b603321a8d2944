// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// processorUnit is the unit of the processor's time in the lines for benchstat.
const processorUnit = "cpu-ns/op"

// median returns the median of the processor's time and of the allocations of an
// operation.
func median(results []testing.BenchmarkResult) (time.Duration, int64) {
	if len(results) == 0 {
		return 0, 0
	}
	times, allocs := make([]float64, 0, len(results)), make([]int64, 0, len(results))
	for _, r := range results {
		times = append(times, r.Extra[processorUnit])
		allocs = append(allocs, r.AllocsPerOp())
	}
	slices.Sort(times)
	slices.Sort(allocs)
	return time.Duration(times[len(times)/2]), allocs[len(allocs)/2]
}

// printTable prints the medians of the processor's time, and how many times faster than Kueue's algorithm the
// others are.
func printTable(table []row) {
	fmt.Println("| Scenario | Nodes | Kueue | allocs | fleet | allocs | ratio | engine alone | allocs | ratio |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, r := range table {
		base, baseAllocs := median(r.results[upstream])
		var line strings.Builder
		fmt.Fprintf(&line, "| %s | %d | %s | %d |", r.scenario, r.nodes, base, baseAllocs)
		for _, a := range []arm{fleet, engineAlone} {
			if len(r.results[a]) == 0 {
				line.WriteString(" | | |")
				continue
			}
			t, allocs := median(r.results[a])
			fmt.Fprintf(&line, " %s | %d | %.1f |", t, allocs, float64(base)/float64(t))
		}
		fmt.Println(line.String())
	}
}
