// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recordingtest

import (
	"fmt"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// start binds a new pod of a job to a node.
func (s *sim) start(job *simJob, node int) {
	s.uids++
	s.free[node] -= job.PodGPUs
	at := func(after float64) *float64 {
		moment := s.now + after
		if moment > s.Duration {
			return nil
		}
		return &moment
	}
	s.rec.Pods = append(s.rec.Pods, recording.Pod{
		Name: fmt.Sprintf("%s-worker-%05x", job.Name, s.uids*104729), UID: fmt.Sprintf("pod-%d", s.uids),
		Namespace: "fleet-train-jobs", Job: job.Name, Group: "workers", GPUs: job.PodGPUs, Node: s.rec.Nodes[node].Name,
		Created: s.now, Released: at(0), Bound: at(bindTime), Ready: at(startTime),
	})
	job.pods = append(job.pods, len(s.rec.Pods)-1)
}

// stop asks all pods of a job to stop.
func (s *sim) stop(job *simJob) {
	for i, pod := range job.pods {
		stopping := s.now
		// One after the other, as they would.
		gone := min(s.now+stopTime+float64(i%4)*tick, s.Duration)
		s.rec.Pods[pod].Stopping, s.rec.Pods[pod].Gone = &stopping, &gone
	}
}

// clearNodes frees the nodes of pods that are gone.
func (s *sim) clearNodes() {
	for _, job := range s.jobs {
		kept := job.pods[:0]
		for _, index := range job.pods {
			pod := s.rec.Pods[index]
			if pod.Gone == nil || *pod.Gone > s.now {
				kept = append(kept, index)
				continue
			}
			if node := s.nodeOf(pod.Node); len(s.rec.Nodes[node].Away) == 0 {
				s.free[node] += pod.GPUs
			}
		}
		job.pods = kept
	}
}

func (s *sim) nodeOf(name string) int {
	for i, node := range s.rec.Nodes {
		if node.Name == name {
			return i
		}
	}
	panic("recordingtest: no node " + name)
}
