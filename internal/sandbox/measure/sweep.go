// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure computes figures from recordings: who held how many GPUs
// and for how long, what was idle, what was lost and how long jobs waited.
//
// A GPU counts as held from the binding of its pod until the pod is gone.
// Functions take the times of a recording, in seconds of the run; figures in
// hours, and waits, are of the scenario's story: seconds of the run times
// the time scale.
package measure

import (
	"cmp"
	"slices"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// Level is who held GPUs during a time in which nothing changed.
type Level struct {
	// From and To are in seconds of the run.
	From, To float64
	// Held are the GPUs held by key, without zeros. It is only valid during
	// the call that it was given to.
	Held map[string]int
	// Total is the sum of Held.
	Total int
	// Away are free GPUs on nodes that took no new pods.
	Away int
}

// change is a step of one pod or one node.
type change struct {
	at   float64
	key  string
	node string
	gpus int
	// away is +1 when the node goes away and -1 when it is back.
	away int
}

// Sweep calls visit for each level of the run, in the order of time and
// without gaps. The key of a pod is what by returns for it.
func Sweep(rec *recording.Recording, by func(recording.Pod) string, visit func(Level)) {
	changes := changesOf(rec, by)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })

	capacity, onNode, away := map[string]int{}, map[string]int{}, map[string]int{}
	for _, node := range rec.Nodes {
		capacity[node.Name] = node.GPUs
	}
	freeAway := func(node string) int {
		if away[node] == 0 {
			return 0
		}
		return max(0, capacity[node]-onNode[node])
	}
	level := Level{Held: map[string]int{}}
	for _, c := range changes {
		if c.at > level.From {
			level.To = c.at
			visit(level)
			level.From = c.at
		}
		level.Away -= freeAway(c.node)
		onNode[c.node] += c.gpus
		away[c.node] += c.away
		level.Away += freeAway(c.node)
		level.Total += c.gpus
		if level.Held[c.key] += c.gpus; level.Held[c.key] == 0 {
			delete(level.Held, c.key)
		}
	}
	if rec.Duration > level.From {
		level.To = rec.Duration
		visit(level)
	}
}

func changesOf(rec *recording.Recording, by func(recording.Pod) string) []change {
	var changes []change
	within := func(at float64) float64 { return min(max(at, 0), rec.Duration) }
	for _, pod := range rec.Pods {
		from, to, ok := holds(rec, pod)
		if !ok || pod.GPUs == 0 || to <= from {
			continue
		}
		key := by(pod)
		changes = append(changes,
			change{at: within(from), key: key, node: pod.Node, gpus: pod.GPUs},
			change{at: within(to), key: key, node: pod.Node, gpus: -pod.GPUs})
	}
	for _, node := range rec.Nodes {
		for _, away := range node.Away {
			changes = append(changes, change{at: within(away.From), node: node.Name, away: 1})
			if away.To != nil {
				changes = append(changes, change{at: within(*away.To), node: node.Name, away: -1})
			}
		}
	}
	return changes
}

// holds is the time during which a pod held its node's GPUs.
func holds(rec *recording.Recording, pod recording.Pod) (from, to float64, ok bool) {
	if pod.Bound == nil {
		return 0, 0, false
	}
	return *pod.Bound, orEnd(rec, pod.Gone), true
}

// orEnd is a time, or the end of the run if it has not come.
func orEnd(rec *recording.Recording, at *float64) float64 {
	if at == nil {
		return rec.Duration
	}
	return *at
}

// Capacity is the number of GPUs of all nodes.
func Capacity(rec *recording.Recording) int {
	total := 0
	for _, node := range rec.Nodes {
		total += node.GPUs
	}
	return total
}

// Keys of pods that belong to no job, and of jobs without a class or
// priority.
const (
	// Outside is the key of pods outside the queue.
	Outside = "outside the queue"
	// None is the key of jobs that have no class or priority.
	None = "none"
)

// ByJob returns the job of a pod.
func ByJob(pod recording.Pod) string {
	return cmp.Or(pod.Job, Outside)
}

// ByClass returns a function that gives the class of a pod's job.
func ByClass(rec *recording.Recording) func(recording.Pod) string {
	return byJobs(rec, func(job recording.Job) string { return job.Class })
}

// ByPriority returns a function that gives the priority of a pod: that of
// its group's Workload if it has one of its own, else its job's.
func ByPriority(rec *recording.Recording) func(recording.Pod) string {
	type group struct{ job, group string }
	groups := map[group]string{}
	for _, wl := range rec.Workloads {
		if wl.Group != "" {
			groups[group{wl.Job, wl.Group}] = wl.Priority
		}
	}
	ofJob := byJobs(rec, func(job recording.Job) string { return job.Priority })
	return func(pod recording.Pod) string {
		if priority := groups[group{pod.Job, pod.Group}]; priority != "" {
			return priority
		}
		return ofJob(pod)
	}
}

func byJobs(rec *recording.Recording, of func(recording.Job) string) func(recording.Pod) string {
	keys := map[string]string{}
	for _, job := range rec.Jobs {
		keys[job.Name] = cmp.Or(of(job), None)
	}
	return func(pod recording.Pod) string {
		if pod.Job == "" {
			return Outside
		}
		return cmp.Or(keys[pod.Job], None)
	}
}
