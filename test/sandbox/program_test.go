// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fleet.ai/kueue-fleet/internal/repo"
)

// hung is when a wait is given up. Nothing is expected to take that long, on
// whatever machine; no test is about speed.
const hung = 4 * time.Minute

// programs are the files under test. The Makefile names them; without it they
// are where it puts them.
type programs struct {
	root, sandbox, manager string
	// extra are flags for every run.
	extra []string
}

func findPrograms(t *testing.T) programs {
	t.Helper()
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	orDefault := func(variable, name string) string {
		if path := os.Getenv(variable); path != "" {
			return path
		}
		return filepath.Join(root, "bin", name)
	}
	p := programs{
		root:    root,
		sandbox: orDefault("FLEET_SANDBOX_BIN", "fleet-sandbox"),
		manager: orDefault("KUEUE_FLEET_BIN", "kueue-fleet"),
	}
	for _, path := range []string{p.sandbox, p.manager} {
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v; build it with make build, or set FLEET_SANDBOX_BIN and KUEUE_FLEET_BIN", err)
		}
	}
	if source := os.Getenv("KUEUE_FLEET_KUEUE_SRC"); source != "" {
		p.extra = append(p.extra, "--kueue-src", source)
	}
	return p
}

// command is fleet-sandbox with the given arguments.
func (p programs) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.sandbox, args...)
	cmd.Dir = p.root
	return cmd
}

// run is fleet-sandbox run, with its state in stateDir.
func (p programs) run(stateDir string, args ...string) *exec.Cmd {
	all := append([]string{"run", "--kueue-bin", p.manager, "--state-dir", stateDir}, p.extra...)
	return p.command(append(all, args...)...)
}

// running is a started fleet-sandbox.
type running struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}

	mu     sync.Mutex
	out    bytes.Buffer
	change chan struct{}
}

// start starts a command. It is killed if the test ends before it does.
func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	r := &running{t: t, cmd: cmd, done: make(chan struct{}), change: make(chan struct{}, 1)}
	go func() {
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			r.mu.Lock()
			r.out.Write(append(lines.Bytes(), '\n'))
			r.mu.Unlock()
			r.signal()
		}
		_ = cmd.Wait()
		close(r.done)
		r.signal()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-r.done
		if t.Failed() {
			t.Logf("output of %s:\n%s", strings.Join(cmd.Args, " "), r.text())
		}
	})
	return r
}

func (r *running) signal() {
	select {
	case r.change <- struct{}{}:
	default:
	}
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// waitFor waits until the output has a text.
func (r *running) waitFor(text string) {
	r.t.Helper()
	deadline := time.After(hung)
	for !strings.Contains(r.text(), text) {
		select {
		case <-r.done:
			if !strings.Contains(r.text(), text) {
				r.t.Fatalf("it ended without saying %q", text)
			}
		case <-r.change:
		case <-deadline:
			r.t.Fatalf("it never said %q", text)
		}
	}
}

// wait waits for the end and returns the exit code.
func (r *running) wait() int {
	r.t.Helper()
	select {
	case <-r.done:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(hung):
		r.t.Fatal("it never ended")
		return -1
	}
}

func (r *running) send(sig syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// processesOf lists the running programs with an argument below dir, by name.
// All that a sandbox starts have one.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	cmdlines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range cmdlines {
		data, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(data, []byte(dir+"/")) {
			continue // It has ended meanwhile, or is somebody else's.
		}
		name, _, _ := strings.Cut(string(data), "\x00")
		names = append(names, filepath.Base(name))
	}
	slices.Sort(names)
	return names
}

// wantNothingLeft waits until no process of the state folder runs, and checks
// what is left in it.
func wantNothingLeft(t *testing.T, stateDir string, wantEntries ...string) {
	t.Helper()
	deadline := time.Now().Add(hung)
	for names := processesOf(t, stateDir); len(names) > 0; names = processesOf(t, stateDir) {
		if time.Now().After(deadline) {
			t.Fatalf("still running: %v", names)
		}
		time.Sleep(50 * time.Millisecond)
	}
	entries, err := os.ReadDir(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if !slices.Equal(names, wantEntries) {
		t.Errorf("left in the state folder: %v, want %v", names, wantEntries)
	}
}
