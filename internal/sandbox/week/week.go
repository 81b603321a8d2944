// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package week writes the scenario of a week: training that comes and goes as
// it did on a measured cluster of 192 GPUs, and evals that fill what it leaves.
//
// What was measured are means: the GPUs that training held on each of seven
// days, and how often it held how many. The levels here are whole nodes over
// six hours with the same daily means; when in a day which level came was not
// measured.
package week

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

const (
	gpusPerNode = 8
	segment     = 6 * time.Hour
	// TimeScale lets the week take some minutes. What the control plane takes
	// is real: one second of it is 20 minutes of the story.
	TimeScale = 1200
	// aloneTimeScale is for training by itself: its waits are what the control
	// plane takes, whatever the scale.
	aloneTimeScale = 4800
	// lag is what a job takes to start and to be seen to have ended, in real
	// time: placed pods are released in batches of a second, and KubeRay asks
	// for a job's state every three. Training is shorter by it, so that it
	// holds its GPUs about as long as it should.
	lag = 3 * time.Second
)

// Levels are the GPUs that training holds in each quarter of each day.
func Levels() [][]int {
	return [][]int{
		{144, 152, 152, 160},
		{144, 128, 120, 112},
		{104, 112, 128, 144},
		{152, 144, 136, 120},
		{104, 112, 120, 176},
		{168, 144, 128, 112},
		{112, 128, 144, 144},
	}
}

// MeasuredMeans are the GPUs that training held on each of the seven days, on
// average.
func MeasuredMeans() []float64 {
	return []float64{151.5, 126.6, 122.4, 138.7, 127.0, 138.3, 132.7}
}

// Job is a training job over whole nodes.
type Job struct {
	Nodes      int
	Start, End time.Duration
}

// Jobs are training jobs that together hold the levels.
func Jobs(levels [][]int) []Job {
	var done, active []Job
	held := 0
	at := time.Duration(0)
	end := func(nodes int) {
		for _, i := range choose(active, nodes) {
			active[i].End = at
			held -= active[i].Nodes
		}
		active = slices.DeleteFunc(active, func(j Job) bool {
			if j.End > 0 {
				done = append(done, j)
			}
			return j.End > 0
		})
	}
	for _, day := range levels {
		for _, level := range day {
			nodes := level / gpusPerNode
			if nodes < held {
				end(held - nodes)
			}
			for _, size := range sizes(nodes - held) {
				active = append(active, Job{Nodes: size, Start: at})
				held += size
			}
			at += segment
		}
	}
	end(held)
	slices.SortStableFunc(done, func(a, b Job) int { return cmp.Compare(a.Start, b.Start) })
	return done
}

// sizes cuts an increase into jobs of usual sizes.
func sizes(nodes int) []int {
	var list []int
	for _, size := range []int{4, 2, 1} {
		for nodes >= size && (len(list) < 3 || size < 4) {
			list, nodes = append(list, size), nodes-size
		}
	}
	return list
}

// choose picks jobs that together have exactly so many nodes, the oldest
// first if there is a choice; if there are none, the fewest that have more.
func choose(jobs []Job, nodes int) []int {
	best := map[int][]int{0: {}}
	for i, job := range jobs {
		for _, sum := range sortedSums(best) {
			if _, known := best[sum+job.Nodes]; !known {
				best[sum+job.Nodes] = append(slices.Clone(best[sum]), i)
			}
		}
	}
	for _, sum := range sortedSums(best) {
		if sum >= nodes {
			return best[sum]
		}
	}
	return nil
}

func sortedSums(best map[int][]int) []int {
	sums := make([]int, 0, len(best))
	for sum := range best {
		sums = append(sums, sum)
	}
	slices.Sort(sums)
	return sums
}

// Write writes the scenario, with or without evals.
func Write(w io.Writer, evals bool) error {
	var b strings.Builder
	title, extra := "A week of training on 192 GPUs, with evals in all that it leaves", evalJobs
	scale := TimeScale
	if !evals {
		title, extra, scale = "The same week of training without evals, to compare its waiting time", "", aloneTimeScale
	}
	fmt.Fprintf(&b, header, title, scale/60, scale, time.Duration(len(Levels()))*24*time.Hour)
	for i, j := range Jobs(Levels()) {
		length := j.End - j.Start - lag*time.Duration(scale)
		fmt.Fprintf(&b, "  - {name: training-%02d, file: ../examples/training-nodes.yaml, class: training, at: %s, workers: %d, work: {phases: [{items: 1, duration: %s, workers: %d}]}}\n",
			i+1, j.Start, j.Nodes, length, j.Nodes)
	}
	b.WriteString(extra)
	b.WriteString("checks:\n  - name: training is never evicted\n    evictions: {class: training, are: 0}\n")
	if evals {
		b.WriteString("  - name: evals fill at least 90 % of what training leaves\n    filled: {atLeast: 0.9}\n" + references)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("failed to write the week: %w", err)
	}
	return nil
}

const header = `# Written by package week from the measured week; run its test with
# UPDATE_SCENARIOS=1 to write it anew.
title: %s
description: >
  Training at q1 holds what it held on a measured cluster, day by day, in levels
  of six hours. A second of the run stands for %d minutes.
long: true
timeScale: %d
timeout: 12m
filling: {class: evals, until: %s}
# Pods start in real time, so these would be over before they can.
manager: {startWindow: 500h, recoveryWindow: 500h}
jobs:
`

// references are of the measured week, which had fewer evals than room.
const references = `reference:
  - {measure: GPUs held by all but evals, value: 134 of 192 (70 %), metric: {name: mean-gpus-of-others}}
  - {measure: GPUs held, value: 154 of 192 (80 %), metric: {name: mean-gpus}}
  - {measure: "more than 90 % of the GPUs held", value: 29.3 % of the time, metric: {name: nearly-full}}
  - {measure: spare capacity that evals filled, value: 35 %, metric: {name: filled}}
  - {measure: left free, value: "6311 GPU-hours", metric: {name: unallocated}}
`

const evalJobs = `  # More work than a week has GPUs for. They grow by four GPUs at a time: each
  # step takes the control plane about a second, 20 minutes of the story.
  - name: eval
    file: ../examples/elastic-eval.yaml
    class: evals
    copies: 12
    at: 0s
    expect: whatever
    set:
      spec.rayClusterSpec.workerGroupSpecs[0].replicas: 2
      spec.rayClusterSpec.workerGroupSpecs[0].minReplicas: 0
      spec.rayClusterSpec.workerGroupSpecs[0].maxReplicas: 16
    work:
      upscale: 4
      modelLoad: 2m
      phases: [{name: rollout, items: 100000, duration: 20m}]
`
