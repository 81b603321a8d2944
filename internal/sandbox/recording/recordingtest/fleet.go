// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recordingtest makes up recordings for tests and for looking at
// reports. A few rules stand in for the scheduler; nothing in such a
// recording was measured.
package recordingtest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Job is a job to make up. It is a fixed gang if MaxPods is zero.
type Job struct {
	Name, Class string
	// Priority is "q0" and so on; a lower number is served first.
	Priority string
	At       float64
	// Pods of PodGPUs GPUs each is what a gang needs and an elastic job
	// starts with.
	Pods, PodGPUs int
	// MaxPods is how far an elastic job grows, a pod at a time.
	MaxPods int
	// Work is how many seconds the job takes with Pods pods; more pods make
	// it faster.
	Work float64
}

// Options say what to make up.
type Options struct {
	Scenario, Title, Description string
	Manager                      string
	Nodes, GPUsPerNode, Racks    int
	Duration, TimeScale          float64
	Jobs                         []Job
	// StickAt is the number of pods beyond which no growth is let in; 0 means
	// that all that fits is.
	StickAt int
	// Lost is the node, from 1, that is lost in the middle of the run; 0 for
	// none.
	Lost int
}

// Times of the made-up fleet, in seconds of the run.
const (
	tick     = 0.05
	bindTime = 0.05
	// The pods are ready after startTime and gone after stopTime.
	startTime = 0.4
	stopTime  = 0.3
)

// sim is the made-up fleet at a time.
type sim struct {
	Options
	rec  *recording.Recording
	free []int
	jobs []*simJob
	now  float64
	uids int
	// kept says that what is free is kept for a job that waits.
	kept bool
}

// simJob is a job at a time.
type simJob struct {
	Job
	// index and wl are positions in the recording; slice is that of a growth
	// that waits, or -1.
	index, wl, slice int
	pods             []int
	left             float64
	arrived, done    bool
	draining         bool
}

// New makes up a recording. The same options give the same recording.
func New(o Options) *recording.Recording {
	s := &sim{Options: o, rec: &recording.Recording{
		Version: recording.Version, Scenario: o.Scenario, Title: o.Title, Description: o.Description,
		Manager: recording.Manager{Name: o.Manager, Version: "made up"},
		Started: time.Date(2026, 9, 10, 0, 0, 0, 0, time.UTC), Duration: o.Duration, TimeScale: o.TimeScale,
		Queues: []recording.Queue{{Name: "training", GPUs: o.Nodes * o.GPUsPerNode}},
	}}
	for i := range o.Nodes {
		rack := i * o.Racks / o.Nodes
		s.rec.Nodes = append(s.rec.Nodes, recording.Node{
			Name: fmt.Sprintf("gpu-%02d", i+1), GPUs: o.GPUsPerNode,
			Rack: fmt.Sprintf("rack-%d", rack+1), Block: fmt.Sprintf("block-%d", rack/2+1),
		})
		s.free = append(s.free, o.GPUsPerNode)
	}
	s.rec.Nodes = append(s.rec.Nodes, recording.Node{Name: "cpu-1"})
	for i, job := range o.Jobs {
		s.jobs = append(s.jobs, &simJob{Job: job, index: i, wl: -1, slice: -1, left: job.Work})
		s.rec.Jobs = append(s.rec.Jobs, recording.Job{
			Name: job.Name, Namespace: "fleet-train-jobs", Kind: "RayJob", Queue: "training-lq",
			Priority: job.Priority, Class: job.Class, Submitted: job.At, ItemsTotal: int(job.Work),
		})
	}
	// Served by priority, then in order of arrival.
	slices.SortStableFunc(s.jobs, func(a, b *simJob) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.At, b.At))
	})
	for step := 0; float64(step)*tick < o.Duration; step++ {
		s.now = float64(step) * tick
		s.step(step)
	}
	return s.rec
}

func (s *sim) step(step int) {
	s.clearNodes()
	if s.Lost > 0 && step == int(s.Duration/2/tick) {
		s.rec.Nodes[s.Lost-1].Away = []recording.Away{{From: s.now, Why: "lost"}}
		s.free[s.Lost-1] = 0
		s.event("", "node", s.rec.Nodes[s.Lost-1].Name+" is lost")
	}
	for _, job := range s.jobs {
		switch {
		case job.done || s.now < job.At:
		case !job.arrived:
			job.arrived = true
			s.event(job.Name, "submitted", fmt.Sprintf("asks for %d × %d GPUs", job.Pods, job.PodGPUs))
			job.wl = s.queue(job, job.Pods, "")
		case job.draining:
			if len(job.pods) == 0 {
				job.draining = false
				s.span(job.wl, recording.Pending, job.Pods, job.PodGPUs, "Pending", "waits for its turn after the eviction")
			}
		case len(job.pods) > 0:
			s.work(job)
		}
	}
	s.kept = false
	for _, job := range s.jobs {
		if job.arrived && !job.done && !job.draining && !s.kept && len(job.pods) == 0 {
			s.admit(job)
		}
	}
	// An autoscaler takes a step now and then.
	if step%5 == 0 && !s.kept {
		for _, job := range s.jobs {
			if job.MaxPods > 0 && len(job.pods) > 0 && !job.draining && !job.done {
				s.grow(job)
			}
		}
	}
}

// work lets a job get on, and ends it when nothing is left.
func (s *sim) work(job *simJob) {
	job.left -= tick * float64(len(job.pods)) / float64(job.Pods)
	r := &s.rec.Jobs[job.index]
	r.ItemsDone = min(r.ItemsTotal, int(job.Work-max(0, job.left)))
	if job.left > 0 {
		return
	}
	job.done = true
	finished := s.now
	r.Finished, r.Result, r.ItemsDone = &finished, "Succeeded", r.ItemsTotal
	s.stop(job)
	s.close(job.wl, "JobFinished")
	if job.slice >= 0 {
		s.close(job.slice, "JobFinished")
	}
	s.event(job.Name, "finished", "succeeded")
}
