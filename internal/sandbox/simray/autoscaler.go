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
	// UnreadySince is when it ceased to be ready; zero if it is ready or has
	// never been.
	UnreadySince time.Time
}

// Rules are the settings of the autoscaler.
type Rules struct {
	// IdleTimeout is when an idle worker goes.
	IdleTimeout time.Duration
	// RemoveUnready is when a worker goes that ceased to be ready; 0 is never.
	RemoveUnready time.Duration
	// Upscale is how many workers more it asks for in one step, at least 1.
	Upscale int
	// Unit is how many workers only make sense together, at least 1.
	Unit int
}

// Scaling is what the autoscaler asks for.
type Scaling struct {
	Replicas int
	// Remove names the workers to delete when Replicas goes down.
	Remove []string
}

// Scale decides the next size of a group, as Ray's autoscaler would: demand
// within the bounds decides growth, the idle timeout decides shrinking, and a
// worker that is lost is given up. It grows only when all workers asked for
// before are ready, so growth that waits for admission is never piled up. It
// reports false when nothing is to be changed.
func Scale(now time.Time, group Group, demand int, rules Rules) (Scaling, bool) {
	if scaling, ok := giveUp(now, group, rules); ok {
		return scaling, true
	}
	unit := max(rules.Unit, 1)
	highest := group.Max
	if demand >= unit && highest >= unit {
		highest -= highest % unit
	}
	wanted := min(max(demand, group.Min), max(highest, group.Min))
	if wanted > group.Replicas {
		ready := 0
		for _, worker := range group.Workers {
			if worker.Ready {
				ready++
			}
		}
		if ready < group.Replicas {
			return Scaling{}, false
		}
		// Up to a whole number of units.
		step := max(rules.Upscale-(group.Replicas+rules.Upscale)%unit, unit-group.Replicas%unit)
		return Scaling{Replicas: min(group.Replicas+step, wanted)}, true
	}
	return shrink(now, group, wanted, unit, rules.IdleTimeout)
}

// giveUp removes workers that have been unready for too long. The minimum
// does not protect them: Ray counts a dead node no more.
func giveUp(now time.Time, group Group, rules Rules) (Scaling, bool) {
	if rules.RemoveUnready <= 0 {
		return Scaling{}, false
	}
	var lost []string
	for _, worker := range group.Workers {
		if !worker.UnreadySince.IsZero() && now.Sub(worker.UnreadySince) >= rules.RemoveUnready {
			lost = append(lost, worker.Name)
		}
	}
	if len(lost) == 0 {
		return Scaling{}, false
	}
	slices.Sort(lost)
	return Scaling{Replicas: max(group.Replicas-len(lost), 0), Remove: lost}, true
}

func shrink(now time.Time, group Group, wanted, unit int, idleTimeout time.Duration) (Scaling, bool) {
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
	if whole := group.Replicas % unit; removable > whole {
		// A unit goes as a whole.
		removable -= (removable - whole) % unit
	}
	if removable <= 0 {
		return Scaling{}, false
	}
	scaling := Scaling{Replicas: group.Replicas - removable}
	for _, worker := range expired[:removable] {
		scaling.Remove = append(scaling.Remove, worker.Name)
	}
	return scaling, true
}
