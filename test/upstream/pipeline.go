// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// runSuites compiles the suites one after the other and runs up to atOnce of the
// compiled ones side by side. Results come in the order of the suites.
func (r *runner) runSuites(ctx context.Context, cfg Config, suites []Suite, atOnce int) []Result {
	results := make([]Result, len(suites))
	type job struct {
		index   int
		bin     string
		compile time.Duration
	}
	// Unbuffered: compiling runs one suite ahead of the workers, so that it takes
	// little from the specs' processor time.
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for j := range jobs {
				s := suites[j.index]
				result := r.runSuite(ctx, s, j.bin, cfg.flakesOf(s.Path))
				result.Compile = j.compile
				results[j.index] = result
				r.logf("%s: %d passed, %d failed, %d skipped in %s (compiled in %s) %s", s.Path, result.Passed,
					result.Failed, result.Skipped, seconds(result.Run), seconds(result.Compile), note(result))
			}
		})
	}
	for i, s := range suites {
		start := time.Now()
		bin, err := r.compile(ctx, s)
		if ctx.Err() != nil {
			results[i] = Result{Suite: s.Path, Problem: "not run: interrupted"}
			continue
		}
		if err != nil {
			results[i] = Result{Suite: s.Path, Compile: time.Since(start), Problem: fmt.Sprintf("failed to compile: %v", err)}
			r.logf("%s: failed to compile", s.Path)
			continue
		}
		jobs <- job{index: i, bin: bin, compile: time.Since(start)}
	}
	close(jobs)
	workers.Wait()
	return results
}
