// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/kueue/pkg/features"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

var (
	sequences  = flag.Int("sequences", 200, "how many random sequences to run")
	firstSeed  = flag.Uint64("seed", 1, "the seed of the first sequence; the others follow it")
	workers    = flag.Int("workers", 2, "how many sequences run at a time")
	verbose    = flag.Bool("trace", false, "print each step and the Workloads after each scheduling cycle")
	shrinking  = flag.Bool("shrink", true, "shrink the failing sequences before they are printed")
	strict     = flag.Bool("strict", false, "ask also that what is freed wakes queues outside the cohort and is found with several flavors")
	elasticFit = flag.Bool("elastic-fit", false, "let the fit engine place the pods")
	keepGoing  = flag.Int("failures", 1, "how many failing seeds to report before the run ends")
)

func prepare(t *testing.T) (context.Context, *runtime.Scheme) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	features.SetFeatureGateDuringTest(t, features.ElasticJobsViaWorkloadSlices, true)
	features.SetFeatureGateDuringTest(t, features.ElasticJobsViaWorkloadSlicesWithTAS, true)
	return ctrl.LoggerInto(context.Background(), logr.Discard()), newScheme()
}

func TestModel(t *testing.T) {
	ctx, scheme := prepare(t)
	// The sequences make much garbage and keep little.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	start := time.Now()
	var next, failed atomic.Int64
	var total stats
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range *workers {
		wg.Go(func() {
			var st stats
			for {
				i := next.Add(1) - 1
				if i >= int64(*sequences) || failed.Load() >= int64(*keepGoing) {
					break
				}
				seed := *firstSeed + uint64(i)
				q := newSequence(seed)
				q.setup.elasticFit = *elasticFit
				var trace func(string, ...any)
				if *verbose {
					trace = t.Logf
					t.Logf("seed %d: %+v", seed, q.setup)
				}
				if found := play(ctx, scheme, q, &st, *strict, trace); len(found) > 0 {
					failed.Add(1)
					mu.Lock()
					t.Error(explain(seed, q, found[0].Rule, func(q sequence, trace func(string, ...any)) []invariant.Violation {
						return play(ctx, scheme, q, &stats{}, *strict, trace)
					}))
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(st)
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	t.Logf("%d sequences in %.1f s (%.0f per second): %d steps, %d scheduling cycles, %d admissions, %d preemptions, %d checks, at rest %d times",
		min(next.Load(), int64(*sequences)), seconds, float64(*sequences)/seconds, total.steps, total.cycles, total.admissions, total.evictions, total.checks, total.settled)
	if *sequences >= 100 && (total.admissions == 0 || total.cycles == 0 || total.settled == 0) {
		t.Error("the sequences did nothing")
	}
}

// A seed must tell the same story each time, or it is of no use.
func TestSequencesAreDeterministic(t *testing.T) {
	ctx, scheme := prepare(t)
	for seed := uint64(1); seed <= 25; seed++ {
		tell := func() string {
			var story strings.Builder
			play(ctx, scheme, newSequence(seed), &stats{}, false, func(format string, args ...any) { fmt.Fprintf(&story, format+"\n", args...) })
			return story.String()
		}
		if diff := cmp.Diff(tell(), tell()); diff != "" {
			t.Errorf("seed %d differs from run to run:\n%s", seed, diff)
		}
	}
}

// The parts of the model that judge need to be able to say no.
func TestShrinkKeepsWhatMatters(t *testing.T) {
	ops := make([]op, 9)
	for i := range ops {
		ops[i] = op{kind: opDrain, value: i, rounds: 3}
	}
	ops[2].kind, ops[6].kind = opSubmit, opResize
	ops[2].groups = []groupSpec{{2, 1}, {1, 1}}
	// The failure needs a submission before a resize, and nothing else.
	again := func(q sequence) []invariant.Violation {
		submitted := false
		for _, o := range q.ops {
			submitted = submitted || o.kind == opSubmit
			if submitted && o.kind == opResize {
				return []invariant.Violation{{Rule: "Wanted"}}
			}
		}
		return []invariant.Violation{{Rule: "Other"}}
	}
	got := shrink(sequence{ops: ops}, "Wanted", again)
	want := []op{
		{kind: opSubmit, value: 2, rounds: -1, groups: []groupSpec{{1, 1}}},
		{kind: opResize, value: 6, rounds: -1},
	}
	if diff := cmp.Diff(want, got.ops, cmp.AllowUnexported(op{}, groupSpec{})); diff != "" {
		t.Errorf("shrunk steps (-want,+got):\n%s", diff)
	}
}

func (s *stats) add(o stats) {
	s.steps += o.steps
	s.cycles += o.cycles
	s.checks += o.checks
	s.admissions += o.admissions
	s.evictions += o.evictions
	s.settled += o.settled
}

// explain shrinks a failing sequence and tells its story.
func explain(seed uint64, q sequence, rule invariant.Rule, again func(sequence, func(string, ...any)) []invariant.Violation) string {
	short := q
	if *shrinking {
		short = shrink(q, rule, func(q sequence) []invariant.Violation { return again(q, nil) })
	}
	var story strings.Builder
	found := again(short, func(format string, args ...any) { fmt.Fprintf(&story, "  "+format+"\n", args...) })
	var out strings.Builder
	fmt.Fprintf(&out, "FAILED seed=%d rule=%s steps=%d shrunk=%d\n", seed, rule, len(q.ops), len(short.ops))
	fmt.Fprintf(&out, "replay with: go test ./test/model -run TestModel -sequences 1 -seed %d -elastic-fit=%t\n", seed, q.setup.elasticFit)
	fmt.Fprintf(&out, "cluster: %+v\n%s", short.setup, story.String())
	for _, v := range found {
		fmt.Fprintf(&out, "  violation: %s\n", v)
	}
	if len(found) == 0 {
		out.WriteString("  the shrunk sequence doesn't fail again: the model isn't deterministic\n")
	}
	return out.String()
}
