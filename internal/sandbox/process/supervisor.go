// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts the sandbox's child processes and makes sure that
// none outlives it: each has a process group of its own, dies with its
// parent, is waited for, and can be identified beyond doubt later on.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// ErrStopped is returned by Start after StopAll.
var ErrStopped = errors.New("supervisor is stopped")

// Spec describes a child process.
type Spec struct {
	// Name is what messages and the log file call it.
	Name string
	Path string
	Args []string
	// Env is added to the parent's environment.
	Env []string
}

// Exit tells that a child ended although nobody asked it to.
type Exit struct {
	Name    string
	Err     error
	LogPath string
}

// Error makes an Exit an error: what ended, how, and its last log lines.
func (e *Exit) Error() string {
	how := "exited with status 0"
	if e.Err != nil {
		how = "ended: " + e.Err.Error()
	}
	return fmt.Sprintf("%s %s; the end of its log %s:\n%s", e.Name, how, e.LogPath, logTail(e.LogPath, 12))
}

// Supervisor starts children and ends them.
type Supervisor struct {
	logDir string
	record func(name string, id Identity) error
	proc   ProcFS

	spawn  chan spawnRequest
	closed chan struct{}
	failed chan *Exit

	mu       sync.Mutex
	stopping bool
	children []*child
}

type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	// killed says that its end was asked for; guarded by Supervisor.mu.
	killed bool
}

type spawnRequest struct {
	cmd *exec.Cmd
	err chan error
}

// NewSupervisor returns a supervisor that writes each child's output to
// logDir/<name>.log. record is called for every child right after its start,
// so that a later run can find what a crashed one left behind.
func NewSupervisor(logDir string, proc ProcFS, record func(name string, id Identity) error) *Supervisor {
	s := &Supervisor{
		logDir: logDir,
		record: record,
		proc:   proc,
		spawn:  make(chan spawnRequest),
		closed: make(chan struct{}),
		failed: make(chan *Exit, 1),
	}
	go s.spawnLoop()
	return s
}

// spawnLoop starts all children from one locked thread. The kernel sends the
// parent-death signal when the thread that forked ends, not the process; Go
// ends threads at will, this one only with StopAll.
func (s *Supervisor) spawnLoop() {
	runtime.LockOSThread()
	for {
		select {
		case req := <-s.spawn:
			req.err <- req.cmd.Start()
		case <-s.closed:
			return
		}
	}
}

// Start starts a child. It returns when the process exists, not when it is
// ready.
func (s *Supervisor) Start(spec Spec) error {
	// A child that is started again goes on with its log.
	logFile, err := os.OpenFile(s.LogPath(spec.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("failed to create the log of %s: %w", spec.Name, err)
	}
	defer func() { _ = logFile.Close() }() // The child has its own.

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return fmt.Errorf("failed to start %s: %w", spec.Name, ErrStopped)
	}
	req := spawnRequest{cmd: cmd, err: make(chan error, 1)}
	s.spawn <- req
	if err := <-req.err; err != nil {
		return fmt.Errorf("failed to start %s: %w", spec.Name, err)
	}
	c := &child{name: spec.Name, cmd: cmd, done: make(chan struct{})}
	s.children = append(s.children, c)
	// The child is not reaped before wait runs, so its id is still its own.
	id, identifyErr := s.proc.Identify(cmd.Process.Pid)
	go s.wait(c)
	if errors.Is(identifyErr, ErrGone) {
		return nil // It ended at once; wait reports how.
	}
	if identifyErr != nil {
		return identifyErr
	}
	return s.record(spec.Name, id)
}

func (s *Supervisor) wait(c *child) {
	err := c.cmd.Wait()
	close(c.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || c.killed {
		return
	}
	select {
	case s.failed <- &Exit{Name: c.name, Err: err, LogPath: s.LogPath(c.name)}:
	default: // The first failure is the cause; the rest follow from it.
	}
}

// Kill ends the child called name at once, with its process group, and waits
// until it is reaped. Its end is no failure, and it can be started again.
func (s *Supervisor) Kill(ctx context.Context, name string) error {
	s.mu.Lock()
	var target *child
	for _, c := range s.children {
		if c.name == name && !c.killed {
			target = c
		}
	}
	if target == nil {
		s.mu.Unlock()
		return fmt.Errorf("failed to kill %s: it does not run", name)
	}
	target.killed = true
	s.mu.Unlock()
	if err := syscall.Kill(-target.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("failed to kill %s: %w", name, err)
	}
	select {
	case <-target.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("failed to wait for the end of %s: %w", name, context.Cause(ctx))
	}
}

// Failed delivers the first child that ended by itself.
func (s *Supervisor) Failed() <-chan *Exit {
	return s.failed
}

// PIDs returns the ids of the children that still run, by name.
func (s *Supervisor) PIDs() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := map[string]int{}
	for _, c := range s.children {
		select {
		case <-c.done:
		default:
			pids[c.name] = c.cmd.Process.Pid
		}
	}
	return pids
}

// LogPath is where the output of the child called name goes.
func (s *Supervisor) LogPath(name string) string {
	return filepath.Join(s.logDir, name+".log")
}

// StopAll kills every child with its process group and waits until all are
// reaped or ctx is done. What the children hold is disposable, so there is
// no gentle phase. No child can be started afterwards.
func (s *Supervisor) StopAll(ctx context.Context) error {
	s.mu.Lock()
	first := !s.stopping
	s.stopping = true
	children := append([]*child(nil), s.children...)
	s.mu.Unlock()
	if first {
		defer close(s.closed)
	}

	for _, c := range children {
		select {
		case <-c.done:
			continue
		default:
		}
		// Not reaped yet, so the group id still belongs to the child.
		if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("failed to kill %s: %w", c.name, err)
		}
	}
	for _, c := range children {
		select {
		case <-c.done:
		case <-ctx.Done():
			return fmt.Errorf("failed to wait for the end of %s: %w", c.name, ctx.Err())
		}
	}
	return nil
}

func logTail(path string, lines int) string {
	const window = 16 << 10
	f, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	from := max(0, info.Size()-window)
	buf := make([]byte, info.Size()-from)
	n, _ := f.ReadAt(buf, from)
	all := strings.Split(strings.TrimRight(string(buf[:n]), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
