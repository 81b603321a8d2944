// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/process"
)

var proc = process.NewProcFS("/proc")

func open(t *testing.T) *Registry {
	t.Helper()
	r, err := Open(filepath.Join(t.TempDir(), "state"), proc)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func create(t *testing.T, r *Registry, id string, owner process.Identity, set ports.Set) *Dir {
	t.Helper()
	dir, err := r.Create(Record{ID: id, Owner: owner}, func([]int) (ports.Set, error) { return set, nil })
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func self(t *testing.T) process.Identity {
	t.Helper()
	id, err := proc.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// dead is an identity that no running process has: of this one's id, but of
// an earlier start.
func dead(t *testing.T) process.Identity {
	t.Helper()
	id := self(t)
	id.StartTicks--
	return id
}

func startSleep(t *testing.T) process.Identity {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := proc.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	// A crashed run's children are reaped by init; here by this test.
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return id
}

func alive(t *testing.T, id process.Identity) bool {
	t.Helper()
	alive, err := proc.Alive(id)
	if err != nil {
		t.Fatal(err)
	}
	return alive
}

func TestSweepEndsChildrenOfACrashedRunAndNobodyElse(t *testing.T) {
	r := open(t)
	child, stranger, spared := startSleep(t), startSleep(t), startSleep(t)

	crashed := create(t, r, "crashed", dead(t), nil)
	// The id of this child has been taken over by a stranger since.
	gone := stranger
	gone.StartTicks -= 5
	for name, id := range map[string]process.Identity{"etcd": child, "kwok": gone} {
		if err := crashed.RecordChild(name, id); err != nil {
			t.Fatal(err)
		}
	}
	running := create(t, r, "running", self(t), nil)
	if err := running.RecordChild("etcd", spared); err != nil {
		t.Fatal(err)
	}
	// Two runs that crashed while they made and removed their folders.
	for _, half := range []string{".tmp-x", ".tmp-gone-y"} {
		if err := os.MkdirAll(filepath.Join(r.Root(), half, "logs"), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	swept, err := r.Sweep()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Swept{{ID: "crashed", Killed: []string{"etcd"}}}, swept); diff != "" {
		t.Errorf("swept (-want,+got):\n%s", diff)
	}
	if alive(t, child) {
		t.Error("the child of the crashed run still runs")
	}
	if !alive(t, stranger) {
		t.Error("a process that only has the id of a former child was killed")
	}
	if !alive(t, spared) {
		t.Error("the child of a running sandbox was killed")
	}
	if diff := cmp.Diff([]string{"lock", "running"}, entries(t, r.Root())); diff != "" {
		t.Errorf("left in the state folder (-want,+got):\n%s", diff)
	}
	if swept, err = r.Sweep(); err != nil || len(swept) != 0 {
		t.Errorf("a second sweep gave %v, %v", swept, err)
	}
}

func TestCreateTellsPortsOfOtherSandboxes(t *testing.T) {
	r := open(t)
	create(t, r, "first", self(t), ports.Set{ports.Kwok: 20001})
	_, err := r.Create(Record{ID: "second", Owner: self(t)}, func(taken []int) (ports.Set, error) {
		if diff := cmp.Diff([]int{20001}, taken); diff != "" {
			t.Errorf("taken ports (-want,+got):\n%s", diff)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Create(Record{ID: "second", Owner: self(t)}, func([]int) (ports.Set, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second sandbox of one name gave %v", err)
	}
}

func TestLiveLeavesOutCrashedRuns(t *testing.T) {
	r := open(t)
	create(t, r, "crashed", dead(t), nil)
	create(t, r, "running", self(t), nil)
	live, err := r.Live()
	if err != nil || len(live) != 1 || live[0].ID != "running" {
		t.Errorf("got %v, %v", live, err)
	}
}

func TestRemoveLeavesNothingButKeptLogs(t *testing.T) {
	r := open(t)
	for range 2 { // The second failure replaces the logs of the first.
		dir := create(t, r, "failed", self(t), nil)
		if err := os.WriteFile(filepath.Join(dir.Logs(), "etcd.log"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		kept, err := dir.KeepLogs()
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.Remove(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"etcd.log"}, entries(t, kept)); diff != "" {
			t.Errorf("kept logs (-want,+got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"last-failure", "lock"}, entries(t, r.Root())); diff != "" {
		t.Errorf("left in the state folder (-want,+got):\n%s", diff)
	}
}

func TestABrokenRecordIsReportedNotDeleted(t *testing.T) {
	r := open(t)
	dir := create(t, r, "odd", dead(t), nil)
	if err := os.WriteFile(dir.Path(recordFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Sweep(); err == nil || !strings.Contains(err.Error(), dir.Path(recordFile)) {
		t.Errorf("got %v, want an error that names the file", err)
	}
	if _, err := os.Stat(dir.Path()); err != nil {
		t.Error(err)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}
