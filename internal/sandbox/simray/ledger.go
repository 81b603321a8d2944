// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"sync"
	"time"
)

// Key names one work item for good.
type Key struct {
	// Job is the UID of the RayJob, so that a new job of the same name starts
	// from nothing.
	Job        string
	Task       string
	Repetition int
}

// Account is what the ledger says of a job.
type Account struct {
	// Done is how many items are committed.
	Done int
	// Redone is how many starts of an item were not its first.
	Redone int
	// Repeated is how many commits were refused because the item was
	// committed already.
	Repeated int
	// Lost is the time that workers spent on starts of items that came to
	// nothing, summed over the workers.
	Lost time.Duration
}

// Ledger remembers the finished items. It stands for storage outside the Ray
// cluster, so it outlives drivers and clusters. It is safe for concurrent
// use.
type Ledger struct {
	mu        sync.Mutex
	committed map[Key]bool
	started   map[Key]bool
	perJob    map[string]Account
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{committed: map[Key]bool{}, started: map[Key]bool{}, perJob: map[string]Account{}}
}

// Start notes that somebody works on an item.
func (l *Ledger) Start(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started[key] {
		account := l.perJob[key.Job]
		account.Redone++
		l.perJob[key.Job] = account
	}
	l.started[key] = true
}

// Lose notes that workers spent so much time on an item in vain.
func (l *Ledger) Lose(job string, spent time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	account := l.perJob[job]
	account.Lost += spent
	l.perJob[job] = account
}

// Commit records an item as finished. It reports false for an item that is
// committed already; that one is not counted again.
func (l *Ledger) Commit(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	account := l.perJob[key.Job]
	first := !l.committed[key]
	if first {
		l.committed[key] = true
		account.Done++
	} else {
		account.Repeated++
	}
	l.perJob[key.Job] = account
	return first
}

// Committed reports whether an item is finished.
func (l *Ledger) Committed(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.committed[key]
}

// Count is the number of finished items of a job.
func (l *Ledger) Count(job string) int {
	return l.Account(job).Done
}

// Account is what is known about a job's items.
func (l *Ledger) Account(job string) Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.perJob[job]
}
