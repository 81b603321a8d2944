// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/sandbox/measure"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// feed knows at which version each entry of the recording changed last. A
// client that has a version gets what is newer, however long it was away or
// slow: nothing is queued for anybody.
type feed struct {
	source Source
	clock  clock.Clock
	// boot tells versions of another process apart.
	boot string

	mu      sync.Mutex
	version uint64
	taken   time.Time
	// changed is closed when there is something newer than the last snapshot.
	changed <-chan struct{}
	rec     *recording.Recording
	head    []byte
	figures []byte
	// figuresAt is the version at which the figures changed.
	figuresAt uint64
	lists     map[string][]entry
}

type entry struct {
	text    []byte
	version uint64
}

func newFeed(source Source, clock clock.Clock, boot string) *feed {
	return &feed{source: source, clock: clock, boot: boot, lists: map[string][]entry{}}
}

// refresh takes a new snapshot if there is a newer one, or if the last is as
// old as quiet. It returns the channel that is closed when there is more.
func (f *feed) refresh() (<-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.changed == nil
	if !changed {
		select {
		case <-f.changed:
			changed = true
		default:
		}
	}
	if !changed && f.clock.Since(f.taken) < quiet {
		return f.changed, nil
	}
	if changed {
		// Before the snapshot, so that a change in between is not missed.
		f.changed = f.source.Changed()
	}
	f.taken = f.clock.Now()
	return f.changed, f.take(f.source.Snapshot())
}

// take compares a snapshot with the one before.
func (f *feed) take(rec *recording.Recording) error {
	f.rec = rec
	f.version++
	// The lists go entry by entry, the rest always.
	head := *rec
	head.Nodes, head.Queues, head.Jobs, head.Workloads, head.Pods, head.Events = nil, nil, nil, nil, nil, nil
	head.Checks, head.Comparisons, head.Violations = nil, nil, nil
	var err error
	if f.head, err = json.Marshal(head); err != nil {
		return fmt.Errorf("failed to encode the recording: %w", err)
	}
	figures, err := json.Marshal(measure.Run(rec))
	if err != nil {
		return fmt.Errorf("failed to encode the figures: %w", err)
	}
	if !bytes.Equal(figures, f.figures) {
		f.figures, f.figuresAt = figures, f.version
	}
	for name, count := range lengths(rec) {
		old := f.lists[name]
		next := make([]entry, count)
		for i := range next {
			text, err := json.Marshal(at(rec, name, i))
			if err != nil {
				return fmt.Errorf("failed to encode an entry of %s: %w", name, err)
			}
			next[i] = entry{text: text, version: f.version}
			if i < len(old) && bytes.Equal(old[i].text, text) {
				next[i] = old[i]
			}
		}
		f.lists[name] = next
	}
	return nil
}

// wait is how long a client has to wait before it may refresh.
func (f *feed) wait(interval time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(0, interval-f.clock.Since(f.taken))
}

// page returns the newest snapshot and its version.
func (f *feed) page() (*recording.Recording, string) {
	if _, err := f.refresh(); err != nil {
		return f.source.Snapshot(), ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rec, f.id(f.version)
}

func (f *feed) id(version uint64) string { return f.boot + "-" + strconv.FormatUint(version, 10) }

// since reads an id; false if it is not of this feed.
func (f *feed) since(id string) (uint64, bool) {
	boot, number, found := strings.Cut(id, "-")
	version, err := strconv.ParseUint(number, 10, 64)
	f.mu.Lock()
	defer f.mu.Unlock()
	return version, found && err == nil && boot == f.boot && version <= f.version
}

// message is what is sent to a client.
type message struct {
	Recording json.RawMessage   `json:"recording"`
	Figures   json.RawMessage   `json:"figures,omitempty"`
	Lists     map[string][]item `json:"lists"`
	Lengths   map[string]int    `json:"lengths"`
}

// item is an entry with its place in the list.
type item [2]json.RawMessage

// newer returns what is newer than a version, and the version that the
// client then has.
func (f *feed) newer(version uint64) (message, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := message{Recording: f.head, Lists: map[string][]item{}, Lengths: map[string]int{}}
	if f.figuresAt > version {
		m.Figures = f.figures
	}
	for name, entries := range f.lists {
		m.Lengths[name] = len(entries)
		for i, entry := range entries {
			if entry.version > version {
				m.Lists[name] = append(m.Lists[name], item{json.RawMessage(strconv.Itoa(i)), entry.text})
			}
		}
	}
	return m, f.version
}

// lengths are the lists of a recording, by their names in JSON.
func lengths(rec *recording.Recording) map[string]int {
	return map[string]int{
		"nodes": len(rec.Nodes), "queues": len(rec.Queues), "jobs": len(rec.Jobs), "workloads": len(rec.Workloads),
		"pods": len(rec.Pods), "events": len(rec.Events), "checks": len(rec.Checks),
		"comparisons": len(rec.Comparisons), "violations": len(rec.Violations),
	}
}

func at(rec *recording.Recording, name string, i int) any {
	switch name {
	case "nodes":
		return rec.Nodes[i]
	case "queues":
		return rec.Queues[i]
	case "jobs":
		return rec.Jobs[i]
	case "workloads":
		return rec.Workloads[i]
	case "pods":
		return rec.Pods[i]
	case "events":
		return rec.Events[i]
	case "checks":
		return rec.Checks[i]
	case "comparisons":
		return rec.Comparisons[i]
	default:
		return rec.Violations[i]
	}
}
