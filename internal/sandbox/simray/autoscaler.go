// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"slices"
	"strings"
	"time"
)

// Group is an autoscaled group of workers.
type Group struct {
	Min, Max int
	// Replicas is how many workers were asked for last.
	Replicas int
	Workers  []Worker
}

// Worker is a worker of a group that is not being deleted.
type Worker struct {
	Name  string
	Ready bool
	// IdleSince is when it ran out of work; zero while it is busy.
	IdleSince time.Time
}

// Scaling is what the autoscaler asks for.
type Scaling struct {
	Replicas int
	// Remove names the workers to delete when Replicas goes down.
	Remove []string
}

// Scale decides the next size of a group, as Ray's autoscaler would: demand
// within the bounds decides growth, the idle timeout decides shrinking. It
// grows by one worker at a time and only when all workers asked for before are
// ready, so growth that waits for admission is never piled up. It reports
// false when nothing is to be changed.
func Scale(now time.Time, group Group, demand int, idleTimeout time.Duration) (Scaling, bool) {
	wanted := min(max(demand, group.Min), group.Max)
	ready := 0
	for _, worker := range group.Workers {
		if worker.Ready {
			ready++
		}
	}
	if wanted > group.Replicas {
		if ready < group.Replicas {
			return Scaling{}, false
		}
		return Scaling{Replicas: group.Replicas + 1}, true
	}

	var expired []Worker
	for _, worker := range group.Workers {
		if worker.Ready && !worker.IdleSince.IsZero() && now.Sub(worker.IdleSince) >= idleTimeout {
			expired = append(expired, worker)
		}
	}
	slices.SortFunc(expired, func(a, b Worker) int {
		if c := a.IdleSince.Compare(b.IdleSince); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	// Never below the minimum, and never below what there is work for.
	removable := min(len(expired), group.Replicas-wanted)
	if removable <= 0 {
		return Scaling{}, false
	}
	scaling := Scaling{Replicas: group.Replicas - removable}
	for _, worker := range expired[:removable] {
		scaling.Remove = append(scaling.Remove, worker.Name)
	}
	return scaling, true
}
