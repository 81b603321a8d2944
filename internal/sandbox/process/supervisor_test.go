// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds waits for things that happen at once unless something is
// broken.
const patience = 30 * time.Second

type records map[string]Identity

func newTestSupervisor(t *testing.T) (*Supervisor, records) {
	t.Helper()
	recorded := records{}
	s := NewSupervisor(t.TempDir(), NewProcFS("/proc"), func(name string, id Identity) error {
		recorded[name] = id
		return nil
	})
	t.Cleanup(func() { stopAll(t, s) })
	return s, recorded
}

func stopAll(t *testing.T, s *Supervisor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.StopAll(ctx); err != nil {
		t.Error(err)
	}
}

func shell(name, script string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: []string{"-c", script}}
}

func TestStopAllEndsTheWholeProcessGroup(t *testing.T) {
	s, recorded := newTestSupervisor(t)
	pidFile := filepath.Join(t.TempDir(), "grandchild")
	if err := s.Start(shell("parent", "sleep 1000 & echo $! > "+pidFile+".tmp; mv "+pidFile+".tmp "+pidFile+"; trap '' TERM; wait")); err != nil {
		t.Fatal(err)
	}
	grandchild := identifyFrom(t, s.proc, pidFile)
	child := recorded["parent"]
	if child.PID == 0 || s.PIDs()["parent"] != child.PID {
		t.Fatalf("recorded %+v, running %v", child, s.PIDs())
	}

	stopAll(t, s)

	if len(s.PIDs()) != 0 {
		t.Errorf("still running: %v", s.PIDs())
	}
	if alive, err := s.proc.Alive(child); alive || err != nil {
		t.Errorf("child: alive %v, %v", alive, err)
	}
	// It is reaped by init, some time after its death.
	waitGone(t, s.proc, grandchild)
	if err := s.Start(shell("late", "true")); !errors.Is(err, ErrStopped) {
		t.Errorf("start after the stop gave %v, want ErrStopped", err)
	}
}

func TestFailedTellsWhatEndedAndItsLastWords(t *testing.T) {
	s, _ := newTestSupervisor(t)
	if err := s.Start(shell("etcd", "echo no space left >&2; exit 7")); err != nil {
		t.Fatal(err)
	}
	select {
	case exit := <-s.Failed():
		for _, want := range []string{"etcd ended", "exit status 7", "no space left", s.LogPath("etcd")} {
			if !strings.Contains(exit.Error(), want) {
				t.Errorf("%q lacks %q", exit.Error(), want)
			}
		}
	case <-time.After(patience):
		t.Fatal("the end of the child was not reported")
	}
}

func TestStopAllIsNoFailure(t *testing.T) {
	s, _ := newTestSupervisor(t)
	if err := s.Start(shell("etcd", "sleep 1000")); err != nil {
		t.Fatal(err)
	}
	stopAll(t, s)
	select {
	case exit := <-s.Failed():
		t.Errorf("got %v", exit)
	default:
	}
}

func TestStartNamesAProgramThatDoesNotStart(t *testing.T) {
	s, _ := newTestSupervisor(t)
	err := s.Start(Spec{Name: "etcd", Path: filepath.Join(t.TempDir(), "missing")})
	if err == nil || !strings.Contains(err.Error(), "failed to start etcd") {
		t.Errorf("got %v", err)
	}
}

func identifyFrom(t *testing.T, proc ProcFS, pidFile string) Identity {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(pidFile)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		id, err := proc.Identify(pid)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	t.Fatal("the grandchild did not start")
	return Identity{}
}

func waitGone(t *testing.T, proc ProcFS, id Identity) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		alive, err := proc.Alive(id)
		if err != nil {
			t.Fatal(err)
		}
		if !alive {
			return
		}
	}
	t.Errorf("process %d is still there", id.PID)
}

func TestAKilledChildIsNoFailureAndCanBeStartedAgain(t *testing.T) {
	s, _ := newTestSupervisor(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Kill(ctx, "child"); err == nil || !strings.Contains(err.Error(), "it does not run") {
		t.Errorf("killing what was never started gave %v", err)
	}
	for round := range 2 {
		if err := s.Start(shell("child", "echo started; sleep 1000")); err != nil {
			t.Fatal(err)
		}
		for {
			// Its log goes on where the first one ended.
			text, err := os.ReadFile(s.LogPath("child"))
			if err == nil && strings.Count(string(text), "started\n") == round+1 {
				break
			}
			if ctx.Err() != nil {
				t.Fatal("it never started")
			}
			time.Sleep(time.Millisecond)
		}
		if err := s.Kill(ctx, "child"); err != nil {
			t.Fatal(err)
		}
		if pids := s.PIDs(); len(pids) != 0 {
			t.Errorf("still running: %v", pids)
		}
	}
	select {
	case exit := <-s.Failed():
		t.Errorf("a failure was told: %v", exit)
	default:
	}
	text, err := os.ReadFile(s.LogPath("child"))
	if err != nil || strings.Count(string(text), "started") != 2 {
		t.Errorf("the log is %q, %v, want both starts", text, err)
	}
}
