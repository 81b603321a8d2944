// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import "sync"

// Key names one work item for good.
type Key struct {
	// Job is the UID of the RayJob, so that a new job of the same name starts
	// from nothing.
	Job        string
	Task       string
	Repetition int
}

// Ledger remembers the finished items. It stands for storage outside the Ray
// cluster, so it outlives drivers and clusters. It is safe for concurrent
// use.
type Ledger struct {
	mu        sync.Mutex
	committed map[Key]bool
	perJob    map[string]int
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{committed: map[Key]bool{}, perJob: map[string]int{}}
}

// Commit records an item as finished. It reports false for an item that is
// committed already; that one is not counted again.
func (l *Ledger) Commit(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.committed[key] {
		return false
	}
	l.committed[key] = true
	l.perJob[key.Job]++
	return true
}

// Committed reports whether an item is finished.
func (l *Ledger) Committed(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.committed[key]
}

// Count is the number of finished items of a job.
func (l *Ledger) Count(job string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.perJob[job]
}
