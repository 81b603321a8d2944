// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"slices"
	"strings"
	"time"
)

// Driver is the program of one job on one Ray cluster: it hands items to idle
// workers and commits those that are finished. A new driver of the same job
// skips what an earlier one committed. It is not safe for concurrent use.
type Driver struct {
	job    string
	work   Work
	ledger *Ledger

	phase   int
	pending []int // repetitions of the phase that wait for workers
	running []*item
	idle    map[string]time.Time // idle worker -> since when
}

type item struct {
	repetition int
	workers    []string
	end        time.Time
}

// NewDriver returns a driver that has not looked at any worker yet.
func NewDriver(job string, work Work, ledger *Ledger) *Driver {
	d := &Driver{job: job, work: work, ledger: ledger, idle: map[string]time.Time{}}
	d.fillPhase()
	return d
}

// Advance brings the driver to the time now, at which exactly these workers
// are usable. Items on lost workers go back into the queue.
func (d *Driver) Advance(now time.Time, workers []string) {
	// What ended in time counts, even if its worker is lost by now.
	d.finishItems(now)
	d.syncWorkers(now, workers)
	d.startItems(now)
}

// Done reports whether every item is committed.
func (d *Driver) Done() bool {
	return d.phase == len(d.work)
}

// Demand is how many workers could be busy now.
func (d *Driver) Demand() int {
	if d.Done() {
		return 0
	}
	return (len(d.pending) + len(d.running)) * d.work[d.phase].Workers
}

// IdleSince says since when a worker has nothing to do; false means that it is
// busy or unknown.
func (d *Driver) IdleSince(worker string) (time.Time, bool) {
	since, ok := d.idle[worker]
	return since, ok
}

// fillPhase moves to the first phase with an open item and queues its items.
func (d *Driver) fillPhase() {
	for ; !d.Done(); d.phase++ {
		for repetition := range d.work[d.phase].Items {
			if !d.ledger.Committed(d.key(repetition)) {
				d.pending = append(d.pending, repetition)
			}
		}
		if len(d.pending) > 0 {
			return
		}
	}
}

func (d *Driver) finishItems(now time.Time) {
	d.running = slices.DeleteFunc(d.running, func(it *item) bool {
		if it.end.After(now) {
			return false
		}
		d.ledger.Commit(d.key(it.repetition))
		for _, worker := range it.workers {
			d.idle[worker] = it.end
		}
		return true
	})
	if !d.Done() && len(d.pending) == 0 && len(d.running) == 0 {
		d.fillPhase()
	}
}

// syncWorkers takes in new workers and drops lost ones.
func (d *Driver) syncWorkers(now time.Time, workers []string) {
	usable := map[string]bool{}
	for _, worker := range workers {
		usable[worker] = true
	}
	d.running = slices.DeleteFunc(d.running, func(it *item) bool {
		if !slices.ContainsFunc(it.workers, func(w string) bool { return !usable[w] }) {
			return false
		}
		d.pending = append(d.pending, it.repetition)
		for _, worker := range it.workers {
			d.idle[worker] = now
		}
		return true
	})
	slices.Sort(d.pending)
	for worker := range d.idle {
		if !usable[worker] {
			delete(d.idle, worker)
		}
	}
	busy := map[string]bool{}
	for _, it := range d.running {
		for _, worker := range it.workers {
			busy[worker] = true
		}
	}
	for _, worker := range workers {
		if _, idle := d.idle[worker]; !idle && !busy[worker] {
			d.idle[worker] = now
		}
	}
}

// startItems gives items to the workers that were idle for the shortest time,
// so that the others reach the idle timeout.
func (d *Driver) startItems(now time.Time) {
	if d.Done() {
		return
	}
	phase := d.work[d.phase]
	free := make([]string, 0, len(d.idle))
	for worker := range d.idle {
		free = append(free, worker)
	}
	slices.SortFunc(free, func(a, b string) int {
		if c := d.idle[b].Compare(d.idle[a]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	for len(d.pending) > 0 && len(free) >= phase.Workers {
		it := &item{repetition: d.pending[0], workers: slices.Clone(free[:phase.Workers]), end: now.Add(phase.Duration)}
		d.pending, free = d.pending[1:], free[phase.Workers:]
		for _, worker := range it.workers {
			delete(d.idle, worker)
		}
		d.running = append(d.running, it)
	}
}

func (d *Driver) key(repetition int) Key {
	return Key{Job: d.job, Task: d.work[d.phase].Name, Repetition: repetition}
}
