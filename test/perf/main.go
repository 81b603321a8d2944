// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command perf measures how long Kueue's algorithm and the fit engine take to place
// pods: the same requests on the same clusters, in one process, in turn. It prints
// lines that benchstat reads, and a table of medians in Markdown.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/features"
)

func main() {
	testing.Init()
	sizes := flag.String("nodes", "24,640,2500,10000", "sizes of clusters, in nodes")
	only := flag.String("scenarios", "", "scenarios to run, all if not set")
	rounds := flag.Int("rounds", 6, "how often each operation is measured, in turn with the others")
	each := flag.Duration("each", 50*time.Millisecond, "how long each measurement is to take")
	profile := flag.String("cpuprofile", "", "the file to write a CPU profile to")
	without := flag.String("without", "", "an arm to leave out: upstream, fleet or engine")
	flag.Parse()
	s := settings{sizes: *sizes, only: *only, without: arm(*without), rounds: *rounds, each: *each}
	if err := profiled(*profile, func() error { return run(s) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	sizes, only string
	without     arm
	rounds      int
	each        time.Duration
}

func run(s settings) error {
	ctrl.SetLogger(logr.Discard())
	if err := flag.Set("test.benchtime", s.each.String()); err != nil {
		return fmt.Errorf("failed to set the time of a measurement: %w", err)
	}
	if err := speedGates(); err != nil {
		return err
	}
	var table []row
	for size := range strings.SplitSeq(s.sizes, ",") {
		nodes, err := strconv.Atoi(size)
		if err != nil || nodes <= keptNodes {
			return fmt.Errorf("-nodes: %q is not a number of nodes above %d", size, keptNodes)
		}
		rows, err := measure(nodes, s)
		if err != nil {
			return err
		}
		table = append(table, rows...)
	}
	fmt.Println()
	printTable(table)
	return nil
}

// profiled calls f and writes what the processor did meanwhile to a file, if it has
// a name.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("failed to create the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return fmt.Errorf("failed to start the profile: %w", err)
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}

// speedGates turns on what makes Kueue's algorithm fast and is not on by default.
func speedGates() error {
	on := fmt.Sprintf("%s=true,%s=true,%s=true", features.TASCacheTopologyTree,
		features.ElasticJobsViaWorkloadSlices, features.ElasticJobsViaWorkloadSlicesWithTAS)
	if err := utilfeature.DefaultMutableFeatureGate.Set(on); err != nil {
		return fmt.Errorf("failed to turn on %s: %w", on, err)
	}
	return nil
}

// row is what was measured of one scenario: a list of results for each arm.
type row struct {
	scenario string
	nodes    int
	results  map[arm][]testing.BenchmarkResult
}

func measure(nodes int, set settings) ([]row, error) {
	clusters := make(map[arm]*cluster)
	for _, a := range []arm{upstream, fleet} {
		c, bytes, err := weighed(nodes, a == fleet)
		if err != nil {
			return nil, err
		}
		clusters[a] = c
		fmt.Printf("# nodes=%d arm=%s: %d KiB of memory for the cache, a snapshot, and what finding places leaves behind\n", nodes, a, bytes>>10)
	}
	var table []row
	for _, s := range scenarios {
		if set.only != "" && !slices.Contains(strings.Split(set.only, ","), s.name) {
			continue
		}
		operations, err := prepare(s, clusters)
		if err != nil {
			return nil, fmt.Errorf("scenario %s, %d nodes: %w", s.name, nodes, err)
		}
		r := row{scenario: s.name, nodes: nodes, results: make(map[arm][]testing.BenchmarkResult)}
		for range set.rounds {
			for _, a := range []arm{upstream, fleet, engineAlone} {
				operation, found := operations[a]
				if !found || a == set.without {
					continue
				}
				result := benchmark(operation, s.before, clusters[a])
				if result.N == 0 {
					return nil, fmt.Errorf("scenario %s, %d nodes, arm %s failed", s.name, nodes, a)
				}
				fmt.Printf("BenchmarkFit/scenario=%s/nodes=%d/arm=%s %s\t%s\n", s.name, nodes, a, result.String(), result.MemString())
				r.results[a] = append(r.results[a], result)
			}
		}
		table = append(table, r)
	}
	return table, nil
}

// benchmark measures an operation. Besides the time it takes the processor's, which
// other programs on the machine change less.
func benchmark(operation func() error, before func(*cluster) error, c *cluster) testing.BenchmarkResult {
	return testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		var spent time.Duration
		began := processorTime()
		for b.Loop() {
			if before != nil {
				b.StopTimer()
				if err := before(c); err != nil {
					b.Fatal(err)
				}
				began = processorTime()
				b.StartTimer()
			}
			if err := operation(); err != nil {
				b.Fatal(err)
			}
			if before != nil {
				spent += processorTime() - began
			}
		}
		if before == nil {
			spent = processorTime() - began
		}
		b.ReportMetric(float64(spent)/float64(b.N), processorUnit)
	})
}

// processorTime is what this process has used so far, garbage collection included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// weighed returns a cluster, and how much memory it takes with a snapshot in which
// places were found.
func weighed(nodes int, engine bool) (*cluster, uint64, error) {
	before := heap()
	c, err := newCluster(nodes, engine)
	if err != nil {
		return nil, 0, err
	}
	q, err := c.queue()
	if err != nil {
		return nil, 0, err
	}
	for _, s := range []*kueue.PodSetTopologyRequest{{Unconstrained: new(true)}, {Required: new(rackLabel)}} {
		if err := failure(find(q, request("workers", 2, s))); err != nil {
			return nil, 0, err
		}
	}
	bytes := heap() - before
	runtime.KeepAlive(q)
	return c, bytes, nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func prepare(s scenario, clusters map[arm]*cluster) (map[arm]func() error, error) {
	operations := make(map[arm]func() error)
	for a, c := range clusters {
		operation, err := s.prepare(c)
		if err == nil {
			err = operation()
		}
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", a, err)
		}
		operations[a] = operation
	}
	if s.name == "growth" {
		operation, err := growthOfEngine(clusters[fleet])
		if err != nil {
			return nil, err
		}
		operations[engineAlone] = operation
	}
	return operations, nil
}
