// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// apiServers is how many API servers a run of the suite starts: one for each
// cluster of each process. They are what running suites side by side costs.
func (s Suite) apiServers(procs int) int64 {
	if procs == 0 {
		procs = s.Procs
	}
	return int64(procs * max(1, s.Clusters))
}

// runSuites compiles the suites one after the other and runs the compiled ones side
// by side, as many as maxServers API servers allow; a suite that needs more runs
// alone. Results come in the order of the suites.
func (r *runner) runSuites(ctx context.Context, cfg Config, suites []Suite, maxServers int64) []Result {
	results := make([]Result, len(suites))
	servers := semaphore.NewWeighted(maxServers)
	var running sync.WaitGroup
	for i, s := range suites {
		start := time.Now()
		bin, err := r.compile(ctx, s)
		compile := time.Since(start)
		if err != nil && ctx.Err() == nil {
			results[i] = Result{Suite: s.Path, Compile: compile, Problem: fmt.Sprintf("failed to compile: %v", err)}
			r.logf("%s: failed to compile", s.Path)
			continue
		}
		need := min(s.apiServers(r.procs), maxServers)
		// Waiting here keeps compilation one suite ahead, so that it takes little of
		// the specs' processor time.
		if err := servers.Acquire(ctx, need); err != nil || ctx.Err() != nil {
			results[i] = Result{Suite: s.Path, Problem: "not run: interrupted"}
			continue
		}
		running.Go(func() {
			defer servers.Release(need)
			result := r.runSuite(ctx, s, bin, cfg.flakesOf(s.Path))
			result.Compile = compile
			results[i] = result
			r.logf("%s: %d passed, %d failed, %d skipped in %s (compiled in %s) %s", s.Path, result.Passed,
				result.Failed, result.Skipped, seconds(result.Run), seconds(result.Compile), firstLine(note(result)))
		})
	}
	running.Wait()
	return results
}
