// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"fleet.ai/kueue-fleet/internal/sandbox/cluster"
	"fleet.ai/kueue-fleet/internal/sandbox/manager"
	"fleet.ai/kueue-fleet/internal/sandbox/process"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/simruntime"
	"fleet.ai/kueue-fleet/internal/sandbox/state"
)

const (
	procRoot  = "/proc"
	userAgent = "fleet-sandbox"
	// stopWait bounds the wait for killed children.
	stopWait = 20 * time.Second
)

// Sandbox is a fleet that is coming up, runs, or goes down.
type Sandbox struct {
	opts    Options
	dir     *state.Dir
	started time.Time
	proc    process.ProcFS
	sup     *process.Supervisor
	logFile io.Closer

	// ctx ends with the sandbox; its cause is why.
	ctx    context.Context
	cancel context.CancelCauseFunc

	cluster   *cluster.Cluster
	manager   *manager.Manager
	rest      *rest.Config
	ray       ctrlmanager.Manager
	rayDone   chan struct{}
	ledger    *simray.Ledger
	runtime   *simruntime.Runtime
	gates     map[string]bool
	isFleet   bool
	readyTime time.Duration
}

// Up starts a sandbox and returns it when jobs can be submitted. When it
// fails, nothing is left of it but the logs. The sandbox ends with ctx.
func Up(ctx context.Context, opts Options) (*Sandbox, error) {
	started := opts.Clock.Now()
	found, err := opts.prepare(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	proc := process.NewProcFS(procRoot)
	registry, err := state.Open(opts.StateRoot, proc)
	if err != nil {
		return nil, err
	}
	swept, err := registry.Sweep()
	if err != nil {
		return nil, err
	}
	for _, s := range swept {
		opts.logf("cleaned up after sandbox %s, which did not end properly%s", s.ID, killedText(s.Killed))
	}
	self, err := proc.Identify(os.Getpid())
	if err != nil {
		return nil, err
	}
	dir, err := registry.Create(state.Record{ID: "sandbox-" + strconv.Itoa(self.PID), Owner: self, StartedAt: started}, opts.choosePorts)
	if err != nil {
		return nil, err
	}

	s := &Sandbox{
		opts: opts, dir: dir, started: started, proc: proc,
		sup:     process.NewSupervisor(dir.Logs(), proc, dir.RecordChild),
		ledger:  simray.NewLedger(),
		rayDone: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	go s.watchChildren()
	if err := s.up(found); err != nil {
		return nil, s.fail(err)
	}
	return s, nil
}

// watchChildren ends the sandbox when a child ends by itself.
func (s *Sandbox) watchChildren() {
	select {
	case exit := <-s.sup.Failed():
		s.cancel(exit)
	case <-s.ctx.Done():
	}
}

// fail takes the sandbox down after err and returns what there is to say.
func (s *Sandbox) fail(err error) error {
	// What ended the sandbox explains more than the step it interrupted.
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	}
	// Ctrl-C is not a failure that somebody wants to look into.
	keepLogs := !errors.Is(err, context.Canceled) && !errors.As(err, new(Interrupted))
	return errors.Join(err, s.down(keepLogs))
}

// Interrupted is the cause with which a caller ends the context on a signal.
type Interrupted struct {
	Signal os.Signal
}

// Error names the signal.
func (i Interrupted) Error() string {
	return "interrupted by signal: " + i.Signal.String()
}

// ID is the name of the sandbox.
func (s *Sandbox) ID() string {
	return s.dir.Record.ID
}

// Kubeconfig is the path of an administrator's kubeconfig.
func (s *Sandbox) Kubeconfig() string {
	return s.cluster.AdminKubeconfig()
}

// Context ends with the sandbox.
func (s *Sandbox) Context() context.Context {
	return s.ctx
}

// Done is closed when the sandbox ends; Cause says why.
func (s *Sandbox) Done() <-chan struct{} {
	return s.ctx.Done()
}

// Cause is why the sandbox has ended; nil while it runs.
func (s *Sandbox) Cause() error {
	return context.Cause(s.ctx)
}

// Down ends everything the sandbox started and removes its folder. After a
// failure the logs are kept elsewhere.
func (s *Sandbox) Down(failed bool) error {
	return s.down(failed)
}

func (s *Sandbox) down(keepLogs bool) error {
	s.cancel(context.Canceled)
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	// The reconcilers first, or they complain about a lost API server.
	if s.ray != nil {
		select {
		case <-s.rayDone:
		case <-ctx.Done():
		}
	}
	errs := []error{s.sup.StopAll(ctx)}
	if s.logFile != nil {
		s.opts.Log.turn(io.Discard)
		errs = append(errs, s.logFile.Close())
	}
	if keepLogs {
		kept, err := s.dir.KeepLogs()
		if err == nil {
			s.opts.logf("logs are kept in %s", kept)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.dir.Remove())...)
}

// openLog sends what the libraries in this process log to a file.
func (s *Sandbox) openLog() error {
	f, err := os.Create(s.sup.LogPath("kuberay"))
	if err != nil {
		return fmt.Errorf("failed to create the log of the reconcilers: %w", err)
	}
	s.logFile = f
	s.opts.Log.turn(f)
	return nil
}

func (s *Sandbox) step(format string, args ...any) {
	s.opts.logf("%9.3fs  %s", s.opts.Clock.Since(s.started).Seconds(), fmt.Sprintf(format, args...))
}

func killedText(killed []string) string {
	if len(killed) == 0 {
		return ""
	}
	return "; ended its " + strings.Join(killed, ", ")
}
