// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managertest starts a manager program against a real API server and
// records what it does: its log, the requests it sends, the answers it gives.
// It knows nothing of the code inside the program, so that two programs can be
// compared from the outside.
package managertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// maxLogLine is the longest log line that is kept whole, in bytes. The line with
// the loaded configuration has a few kilobytes.
const maxLogLine = 1 << 20

// Process is a started manager.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	lines   []string
	ended   bool
}

// Start runs the program at path. It inherits nothing but the given environment,
// and its standard output and error are read together, in order.
func Start(path string, args, env []string) (*Process, error) {
	p := &Process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	p.cmd.Env = env
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("failed to make the log pipe of %s: %w", path, err)
	}
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	err = p.cmd.Start()
	writer.Close()
	if err != nil {
		reader.Close()
		return nil, fmt.Errorf("failed to start %s: %w", path, err)
	}
	go p.collect(reader)
	return p, nil
}

// collect reads the log to its end, then reaps the process. The order matters:
// whoever sees the process gone sees its whole log.
func (p *Process) collect(log io.ReadCloser) {
	defer log.Close()
	scanner := bufio.NewScanner(log)
	scanner.Buffer(make([]byte, 64*1024), maxLogLine)
	for scanner.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		p.mu.Unlock()
		p.changed.Broadcast()
	}
	// A line above the limit ends the scan; the pipe has to be drained all the
	// same, or the process would block on it.
	_, _ = io.Copy(io.Discard, log)
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.changed.Broadcast()
	close(p.done)
}

// Lines returns the log so far, one element a line.
func (p *Process) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// WaitLine returns when a line of the log matches or the process has ended, and
// says whether a line matched. It fails when ctx ends first.
func (p *Process) WaitLine(ctx context.Context, match func(Line) bool) (bool, error) {
	// The lock makes sure that the wake-up doesn't fall between the check of ctx
	// and the wait below.
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for next := 0; ; {
		for ; next < len(p.lines); next++ {
			if match(ParseLine(p.lines[next])) {
				return true, nil
			}
		}
		if p.ended {
			return false, nil
		}
		if ctx.Err() != nil {
			return false, fmt.Errorf("failed to see the awaited line in the log: %w; the last lines are:\n%s",
				context.Cause(ctx), strings.Join(p.lines[max(0, len(p.lines)-10):], "\n"))
		}
		p.changed.Wait()
	}
}

// Done is closed when the process has ended and its log is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns the exit code. A process that a signal ended has the code -1.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("failed to wait for the end of %s: %w", p.cmd.Path, context.Cause(ctx))
	}
}

// Signal sends sig to the process.
func (p *Process) Signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("failed to send %s to %s: %w", sig, p.cmd.Path, err)
	}
	return nil
}

// Kill ends the process at once and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Until polls until the condition holds. It is an error when that takes longer than
// timeout, or when the process ends first.
func (p *Process) Until(ctx context.Context, timeout time.Duration, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.Done():
			return false, errors.New("the manager has ended")
		default:
			return condition(ctx)
		}
	})
}
