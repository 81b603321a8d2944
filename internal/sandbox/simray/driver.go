// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"cmp"
	"slices"
	"time"
)

// Driver is the program of one job on one Ray cluster: it hands items to
// workers with a free slot and commits those that are finished. A new driver
// of the same job skips what an earlier one committed. It is not safe for
// concurrent use.
type Driver struct {
	job    string
	work   Work
	ledger *Ledger

	phase   int
	pending []int // repetitions of the phase that wait for workers
	running []*item
	workers map[string]*worker
}

type item struct {
	repetition int
	workers    []string
	start, end time.Time
}

// worker is a usable worker as the driver knows it.
type worker struct {
	name string
	// loaded is when it has its model and can take items.
	loaded time.Time
	busy   int
	// idleSince is when it had nothing to do last; it counts while busy is 0.
	idleSince time.Time
}

// NewDriver returns a driver that has not looked at any worker yet.
func NewDriver(job string, work Work, ledger *Ledger) *Driver {
	d := &Driver{job: job, work: work.withDefaults(), ledger: ledger, workers: map[string]*worker{}}
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

// Finish commits every open item: the driver ends early.
func (d *Driver) Finish() {
	for ; !d.Done(); d.phase++ {
		for repetition := range d.work.Phases[d.phase].Items {
			if key := d.key(repetition); !d.ledger.Committed(key) {
				d.ledger.Commit(key)
			}
		}
	}
	d.pending, d.running = nil, nil
}

// Done reports whether every item is committed.
func (d *Driver) Done() bool {
	return d.phase == len(d.work.Phases)
}

// Demand is how many workers could be busy now, in whole units.
func (d *Driver) Demand() int {
	if d.Done() {
		return 0
	}
	units := (len(d.pending) + len(d.running) + d.work.ItemsPerWorker - 1) / d.work.ItemsPerWorker
	return units * d.Unit()
}

// Unit is how many workers one item takes now.
func (d *Driver) Unit() int {
	if d.Done() {
		return 1
	}
	return d.work.Phases[d.phase].Workers
}

// Work is what the driver was made for.
func (d *Driver) Work() Work { return d.work }

// IdleSince says since when a worker has nothing to do; false means that it is
// busy or unknown.
func (d *Driver) IdleSince(name string) (time.Time, bool) {
	w, ok := d.workers[name]
	if !ok || w.busy > 0 {
		return time.Time{}, false
	}
	return w.idleSince, true
}

// Abandon notes that the driver has ended at a time with its work undone.
func (d *Driver) Abandon(now time.Time) {
	for _, it := range d.running {
		d.lose(it, now)
	}
	d.running = nil
}

// lose notes the time that was spent on an item in vain.
func (d *Driver) lose(it *item, now time.Time) {
	d.ledger.Lose(d.job, now.Sub(it.start)*time.Duration(len(it.workers))/time.Duration(d.slots()))
}

// slots is how many items share a worker now.
func (d *Driver) slots() int {
	if d.Unit() > 1 {
		return 1
	}
	return d.work.ItemsPerWorker
}

// fillPhase moves to the first phase with an open item and queues its items.
func (d *Driver) fillPhase() {
	for ; !d.Done(); d.phase++ {
		for repetition := range d.work.Phases[d.phase].Items {
			if !d.ledger.Committed(d.key(repetition)) {
				d.pending = append(d.pending, repetition)
			}
		}
		if len(d.pending) > 0 {
			return
		}
	}
}

// free takes an item from its workers.
func (d *Driver) free(it *item, at time.Time) {
	for _, name := range it.workers {
		if w := d.workers[name]; w != nil {
			if w.busy--; w.busy == 0 {
				w.idleSince = at
			}
		}
	}
}

func (d *Driver) finishItems(now time.Time) {
	d.running = slices.DeleteFunc(d.running, func(it *item) bool {
		if it.end.After(now) {
			return false
		}
		d.ledger.Commit(d.key(it.repetition))
		d.free(it, it.end)
		return true
	})
	if !d.Done() && len(d.pending) == 0 && len(d.running) == 0 {
		d.fillPhase()
	}
}

// syncWorkers takes in new workers and drops lost ones.
func (d *Driver) syncWorkers(now time.Time, names []string) {
	usable := map[string]bool{}
	for _, name := range names {
		usable[name] = true
	}
	d.running = slices.DeleteFunc(d.running, func(it *item) bool {
		if !slices.ContainsFunc(it.workers, func(w string) bool { return !usable[w] }) {
			return false
		}
		d.pending = append(d.pending, it.repetition)
		d.lose(it, now)
		d.free(it, now)
		return true
	})
	slices.Sort(d.pending)
	for name := range d.workers {
		if !usable[name] {
			delete(d.workers, name)
		}
	}
	for _, name := range names {
		if d.workers[name] == nil {
			d.workers[name] = &worker{name: name, loaded: now.Add(d.work.ModelLoad), idleSince: now.Add(d.work.ModelLoad)}
		}
	}
}

// startItems gives items to the busiest workers with a free slot, and then to
// those that were idle for the shortest time, so that the others reach the
// idle timeout. An item that takes several workers gets whole ones.
func (d *Driver) startItems(now time.Time) {
	if d.Done() {
		return
	}
	phase := d.work.Phases[d.phase]
	slots := d.slots()
	var open []*worker
	for _, w := range d.workers {
		if !w.loaded.After(now) && w.busy < slots {
			open = append(open, w)
		}
	}
	slices.SortFunc(open, func(a, b *worker) int {
		return cmp.Or(cmp.Compare(b.busy, a.busy), b.idleSince.Compare(a.idleSince), cmp.Compare(a.name, b.name))
	})
	for len(d.pending) > 0 && len(open) >= phase.Workers {
		it := &item{repetition: d.pending[0], start: now, end: now.Add(phase.Duration)}
		for _, w := range open[:phase.Workers] {
			w.busy++
			it.workers = append(it.workers, w.name)
		}
		d.pending = d.pending[1:]
		d.ledger.Start(d.key(it.repetition))
		d.running = append(d.running, it)
		open = slices.DeleteFunc(open, func(w *worker) bool { return w.busy >= slots })
	}
}

func (d *Driver) key(repetition int) Key {
	return Key{Job: d.job, Task: d.work.Phases[d.phase].Name, Repetition: repetition}
}
