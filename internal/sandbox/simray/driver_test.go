// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is a moment, in seconds of the test.
func at(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func work(phases ...Phase) Work {
	for i := range phases {
		if phases[i].Workers == 0 {
			phases[i].Workers = 1
		}
	}
	return Work{Phases: phases}
}

// step advances the driver and says what must be true afterwards.
type step struct {
	at         float64
	workers    []string
	wantDone   int
	wantDemand int
}

func TestDriver(t *testing.T) {
	ab := []string{"a", "b"}
	cases := map[string]struct {
		work  Work
		steps []step
		// wantOver says that the driver is done after the last step.
		wantOver bool
	}{
		"items wait for workers and are taken as these get free": {
			work: work(Phase{Name: "p", Items: 3, Duration: time.Second}),
			steps: []step{
				{at: 0, wantDemand: 3},
				{at: 5, workers: ab, wantDemand: 3},
				{at: 5.9, workers: ab, wantDemand: 3},
				{at: 6, workers: ab, wantDone: 2, wantDemand: 1},
				{at: 7, workers: ab, wantDone: 3},
			},
			wantOver: true,
		},
		"a phase starts when the one before is finished": {
			work: work(Phase{Name: "warm", Items: 1, Duration: time.Second}, Phase{Name: "burst", Items: 4, Duration: time.Second}),
			steps: []step{
				{at: 0, workers: ab, wantDemand: 1},
				{at: 1, workers: ab, wantDone: 1, wantDemand: 4},
				{at: 2, workers: ab, wantDone: 3, wantDemand: 2},
				{at: 3, workers: ab, wantDone: 5},
			},
			wantOver: true,
		},
		"a step of a gang needs all its workers at once": {
			work: work(Phase{Name: "p", Items: 2, Duration: time.Second, Workers: 2}),
			steps: []step{
				{at: 0, workers: []string{"a"}, wantDemand: 4},
				{at: 9, workers: []string{"a"}, wantDemand: 4},
				{at: 10, workers: ab, wantDemand: 4},
				{at: 11, workers: ab, wantDone: 1, wantDemand: 2},
				{at: 12, workers: ab, wantDone: 2},
			},
			wantOver: true,
		},
		"an item on a lost worker is done again": {
			work: work(Phase{Name: "p", Items: 2, Duration: 2 * time.Second}),
			steps: []step{
				{at: 0, workers: ab, wantDemand: 2},
				{at: 1, workers: []string{"b"}, wantDemand: 2},
				{at: 2, workers: []string{"b"}, wantDone: 1, wantDemand: 1},
				{at: 3.9, workers: []string{"b"}, wantDone: 1, wantDemand: 1},
				{at: 4, workers: []string{"b"}, wantDone: 2},
			},
			wantOver: true,
		},
		"an item that ended before its worker was lost counts": {
			work: work(Phase{Name: "p", Items: 1, Duration: time.Second}),
			steps: []step{
				{at: 0, workers: ab, wantDemand: 1},
				{at: 1, workers: nil, wantDone: 1},
			},
			wantOver: true,
		},
		"a worker works on several items at once": {
			work: Work{ItemsPerWorker: 2, Phases: []Phase{{Name: "p", Items: 5, Duration: time.Second}}},
			steps: []step{
				{at: 0, wantDemand: 3},
				{at: 1, workers: ab, wantDemand: 3},
				{at: 2, workers: ab, wantDone: 4, wantDemand: 1},
				{at: 3, workers: ab, wantDone: 5},
			},
			wantOver: true,
		},
		"both items of a lost worker are done again": {
			work: Work{ItemsPerWorker: 2, Phases: []Phase{{Name: "p", Items: 2, Duration: 2 * time.Second}}},
			steps: []step{
				{at: 0, workers: []string{"a"}, wantDemand: 1},
				{at: 1, workers: []string{"b"}, wantDemand: 1},
				{at: 2.9, workers: []string{"b"}, wantDemand: 1},
				{at: 3, workers: []string{"b"}, wantDone: 2},
			},
			wantOver: true,
		},
		"each new worker loads its model first": {
			work: Work{ModelLoad: 5 * time.Second, Phases: []Phase{{Name: "p", Items: 2, Duration: time.Second}}},
			steps: []step{
				{at: 0, workers: []string{"a"}, wantDemand: 2},
				{at: 5, workers: []string{"a"}, wantDemand: 2},
				{at: 6, workers: ab, wantDone: 1, wantDemand: 1},
				{at: 7, workers: ab, wantDone: 2},
			},
			wantOver: true,
		},
		"losing one worker of a gang's step frees the other": {
			work: work(Phase{Name: "p", Items: 1, Duration: time.Second, Workers: 2}),
			steps: []step{
				{at: 0, workers: ab, wantDemand: 2},
				{at: 0.5, workers: []string{"b"}, wantDemand: 2},
				{at: 0.6, workers: []string{"b", "c"}, wantDemand: 2},
				{at: 1.5, workers: []string{"b", "c"}, wantDemand: 2},
				{at: 1.6, workers: []string{"b", "c"}, wantDone: 1},
			},
			wantOver: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ledger := NewLedger()
			driver := NewDriver("job", tc.work, ledger)
			for i, s := range tc.steps {
				driver.Advance(at(s.at), s.workers)
				if got := ledger.Count("job"); got != s.wantDone {
					t.Errorf("step %d: %d items done, want %d", i, got, s.wantDone)
				}
				if got := driver.Demand(); got != s.wantDemand {
					t.Errorf("step %d: demand is %d, want %d", i, got, s.wantDemand)
				}
			}
			if driver.Done() != tc.wantOver {
				t.Errorf("done is %v, want %v", driver.Done(), tc.wantOver)
			}
		})
	}
}

func TestANewDriverSkipsWhatIsCommitted(t *testing.T) {
	w := work(Phase{Name: "p", Items: 1, Duration: time.Second}, Phase{Name: "q", Items: 2, Duration: time.Second})
	ledger := NewLedger()
	first := NewDriver("job", w, ledger)
	first.Advance(at(0), []string{"a"})
	first.Advance(at(1), []string{"a"})
	first.Advance(at(2), []string{"a"})

	second := NewDriver("job", w, ledger)
	if got := second.Demand(); got != 1 {
		t.Errorf("demand of the second driver is %d, want 1: two of three items are done", got)
	}
	second.Advance(at(10), []string{"z"})
	second.Advance(at(11), []string{"z"})
	if !second.Done() || ledger.Count("job") != 3 {
		t.Errorf("done %v with %d items, want all 3", second.Done(), ledger.Count("job"))
	}
	if third := NewDriver("job", w, ledger); !third.Done() {
		t.Error("a driver of a finished job has work")
	}
	if other := NewDriver("other", w, ledger); other.Demand() != 1 {
		t.Error("another job took over the ledger")
	}
}

func TestItemsThatAreStartedAgainAreCounted(t *testing.T) {
	ledger := NewLedger()
	driver := NewDriver("job", work(Phase{Name: "p", Items: 2, Duration: time.Second}), ledger)
	driver.Advance(at(0), []string{"a", "b"})
	driver.Advance(at(0.5), []string{"b"})
	driver.Advance(at(1), []string{"b"})
	driver.Advance(at(2), []string{"b"})
	if diff := cmp.Diff(Account{Done: 2, Redone: 1, Lost: 500 * time.Millisecond}, ledger.Account("job")); diff != "" {
		t.Errorf("account (-want,+got):\n%s", diff)
	}
}

func TestAnAbandonedDriverLosesWhatItWorkedOn(t *testing.T) {
	ledger := NewLedger()
	driver := NewDriver("job", work(Phase{Name: "p", Items: 2, Duration: time.Minute, Workers: 2}), ledger)
	driver.Advance(at(0), []string{"a", "b", "c"})
	driver.Abandon(at(3))
	if diff := cmp.Diff(Account{Lost: 6 * time.Second}, ledger.Account("job")); diff != "" {
		t.Errorf("account (-want,+got):\n%s", diff)
	}
}

func TestFinishCommitsWhatIsOpen(t *testing.T) {
	ledger := NewLedger()
	driver := NewDriver("job", work(Phase{Name: "p", Items: 2, Duration: time.Second}, Phase{Name: "q", Items: 3, Duration: time.Second}), ledger)
	driver.Advance(at(0), []string{"a"})
	driver.Advance(at(1), []string{"a"})
	driver.Finish()
	if diff := cmp.Diff(Account{Done: 5}, ledger.Account("job")); diff != "" || !driver.Done() {
		t.Errorf("done %v, account (-want,+got):\n%s", driver.Done(), diff)
	}
	driver.Advance(at(9), []string{"a"})
	if got := ledger.Account("job"); got.Repeated != 0 || got.Done != 5 {
		t.Errorf("later it became %+v", got)
	}
}

func TestIdleSince(t *testing.T) {
	driver := NewDriver("job", work(Phase{Name: "p", Items: 2, Duration: time.Second}, Phase{Name: "q", Items: 1, Duration: 9 * time.Second}), NewLedger())
	driver.Advance(at(0), []string{"a", "b", "c"})
	if _, idle := driver.IdleSince("a"); idle {
		t.Error("a is idle, want busy")
	}
	if since, idle := driver.IdleSince("c"); !idle || !since.Equal(at(0)) {
		t.Errorf("c: idle %v since %v, want since it came", idle, since)
	}
	// Seen late, but idle since the item ended; the worker that was idle
	// longest stays so.
	driver.Advance(at(4), []string{"a", "b", "c"})
	if _, idle := driver.IdleSince("a"); idle {
		t.Error("a is idle, want it to have the last item")
	}
	if since, idle := driver.IdleSince("b"); !idle || !since.Equal(at(1)) {
		t.Errorf("b: idle %v since %v, want since 1 s", idle, since)
	}
	if since, idle := driver.IdleSince("c"); !idle || !since.Equal(at(0)) {
		t.Errorf("c: idle %v since %v, want since 0 s", idle, since)
	}
	driver.Advance(at(5), []string{"a", "b"})
	if _, idle := driver.IdleSince("c"); idle {
		t.Error("a lost worker is idle")
	}
}

func TestLedgerCountsEachItemOnce(t *testing.T) {
	ledger := NewLedger()
	key := Key{Job: "j", Task: "p", Repetition: 3}
	if !ledger.Commit(key) || ledger.Commit(key) || !ledger.Committed(key) || ledger.Count("j") != 1 {
		t.Errorf("a second commit changed something: count %d", ledger.Count("j"))
	}
	if diff := cmp.Diff(Account{Done: 1, Repeated: 1}, ledger.Account("j")); diff != "" {
		t.Errorf("account (-want,+got):\n%s", diff)
	}
	if other := (Key{Job: "j", Task: "p", Repetition: 4}); ledger.Committed(other) || !ledger.Commit(other) || ledger.Count("j") != 2 {
		t.Error("another repetition is not an item of its own")
	}
}
