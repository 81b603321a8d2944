// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recordingtest

import (
	"fmt"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// queue adds a pending Workload and returns its position.
func (s *sim) queue(job *simJob, pods int, replaces string) int {
	s.uids++
	name := fmt.Sprintf("rayjob-%s-%05x", job.Name, s.uids*7919)
	s.rec.Workloads = append(s.rec.Workloads, recording.Workload{
		Name: name, UID: fmt.Sprintf("wl-%d", s.uids), Job: job.Name, Priority: job.Priority, Replaces: replaces,
	})
	wl := len(s.rec.Workloads) - 1
	s.span(wl, recording.Pending, pods, job.PodGPUs, "Pending", "")
	return wl
}

// span ends the Workload's span and starts another.
func (s *sim) span(wl int, state recording.State, pods, gpus int, reason, message string) {
	w := &s.rec.Workloads[wl]
	if last := len(w.Spans) - 1; last >= 0 {
		now := s.now
		w.Spans[last].To = &now
		if w.Spans[last].From == now {
			w.Spans = w.Spans[:last]
		}
	}
	w.Spans = append(w.Spans, recording.Span{
		From: s.now, State: state, Counts: map[string]int{"head": 1, "workers": pods}, GPUs: pods * gpus,
		Reason: reason, Message: message,
	})
}

// close ends a Workload for good.
func (s *sim) close(wl int, reason string) {
	s.span(wl, recording.Done, 0, 0, reason, "")
}

// admit admits a whole job if its pods fit, if need be by eviction of what
// is less important.
func (s *sim) admit(job *simJob) {
	nodes := s.place(s.free, job.Pods, job.PodGPUs)
	if nodes == nil {
		s.wait(job.wl, job.Pods, job.PodGPUs)
		s.kept = s.kept || s.preempt(job)
		return
	}
	s.span(job.wl, recording.Admitted, job.Pods, job.PodGPUs, "Admitted", "")
	s.event(job.Name, "admitted", fmt.Sprintf("holds %d GPUs", job.Pods*job.PodGPUs))
	for _, node := range nodes {
		s.start(job, node)
	}
}

// wait gives the reason why a Workload waits, once.
func (s *sim) wait(wl, pods, gpus int) {
	message := fmt.Sprintf("topology \"fleet\" doesn't allow to fit any of %d pod(s). Total nodes: %d; excluded: resource \"nvidia.com/gpu\": %d", pods, s.Nodes, s.Nodes)
	spans := s.rec.Workloads[wl].Spans
	if spans[len(spans)-1].Message != message {
		s.span(wl, recording.Pending, pods, gpus, "Pending", message)
	}
}

// preempt evicts jobs of lower priority, the least important and youngest
// first, until the job would fit on what they leave. It reports whether room
// is on its way.
func (s *sim) preempt(job *simJob) bool {
	left := append([]int(nil), s.free...)
	for _, other := range s.jobs {
		if other.draining || other.done {
			s.giveBack(left, other)
		}
	}
	var victims []*simJob
	for i := len(s.jobs) - 1; i >= 0 && s.place(left, job.Pods, job.PodGPUs) == nil; i-- {
		if other := s.jobs[i]; other.Priority > job.Priority && len(other.pods) > 0 && !other.draining && !other.done {
			s.giveBack(left, other)
			victims = append(victims, other)
		}
	}
	if s.place(left, job.Pods, job.PodGPUs) == nil {
		return false
	}
	for _, victim := range victims {
		victim.draining = true
		s.rec.Jobs[victim.index].ItemsRedone += len(victim.pods)
		s.span(victim.wl, recording.Draining, len(victim.pods), victim.PodGPUs, "Preempted",
			"Preempted to accommodate a workload (JobUID: "+job.Name+") of higher priority")
		if victim.slice >= 0 {
			s.close(victim.slice, "JobFinished")
			victim.slice = -1
		}
		s.event(victim.Name, "evicted", "Preempted for "+job.Name)
		s.stop(victim)
	}
	return true
}

func (s *sim) giveBack(left []int, job *simJob) {
	for _, pod := range job.pods {
		left[s.nodeOf(s.rec.Pods[pod].Node)] += job.PodGPUs
	}
}

// grow asks for one more pod, or lets the slice that asks for it in.
func (s *sim) grow(job *simJob) {
	if job.slice < 0 {
		if len(job.pods) < job.MaxPods && job.left > 1 {
			job.slice = s.queue(job, len(job.pods)+1, s.rec.Workloads[job.wl].Name)
		}
		return
	}
	nodes := s.place(s.free, 1, job.PodGPUs)
	if s.StickAt > 0 && len(job.pods) >= s.StickAt {
		nodes = nil
	}
	if nodes == nil {
		s.wait(job.slice, len(job.pods)+1, job.PodGPUs)
		return
	}
	s.close(job.wl, "WorkloadSliceReplaced")
	job.wl, job.slice = job.slice, -1
	s.start(job, nodes[0])
	s.span(job.wl, recording.Admitted, len(job.pods), job.PodGPUs, "Admitted", "")
	s.event(job.Name, "grown", fmt.Sprintf("to %d GPUs", len(job.pods)*job.PodGPUs))
}

// place finds a node for each pod, first fit; nil if they do not all fit.
func (s *sim) place(free []int, pods, gpus int) []int {
	left := append([]int(nil), free...)
	var nodes []int
	for i := 0; i < len(left) && len(nodes) < pods; {
		if left[i] < gpus {
			i++
			continue
		}
		left[i] -= gpus
		nodes = append(nodes, i)
	}
	if len(nodes) < pods {
		return nil
	}
	return nodes
}

func (s *sim) event(job, what, text string) {
	s.rec.Events = append(s.rec.Events, recording.Event{At: s.now, Job: job, What: what, Text: text})
}
