// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
	"fleet.ai/kueue-fleet/internal/sandbox/report"
	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
)

// ErrJobsFailed says that the sandbox worked but not every job ended well.
var ErrJobsFailed = errors.New("not every job finished with all its work done")

// Run submits jobs, prints what happens to them, and ends with a report when
// all have ended and their pods are gone, or when timeout is over.
func (s *Sandbox) Run(jobs []Job, timeout time.Duration) error {
	recorder := newRecorder(s)
	if err := recorder.watch(); err != nil {
		return s.explain(err)
	}
	applier, err := manifests.NewApplier(s.rest)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, timeout, fmt.Errorf("the jobs did not end within %s", timeout))
	defer cancel()
	uids := make([]string, len(jobs))
	for i, job := range jobs {
		created, err := applier.CreateRetrying(ctx, job.object.DeepCopy())
		if err != nil {
			return s.explain(err)
		}
		uids[i] = string(created.GetUID())
	}
	waitErr := recorder.waitReleased(ctx, jobs)
	if s.ctx.Err() != nil {
		return s.explain(waitErr)
	}

	rows := make([]report.Job, len(jobs))
	failed := waitErr != nil
	for i, job := range jobs {
		rows[i] = report.Job{Summary: recorder.summary(job), ItemsDone: s.ledger.Count(uids[i]), Items: job.work.Items()}
		failed = failed || !rows[i].OK()
	}
	s.opts.logf("")
	if err := report.Write(s.opts.Out, s.started, rows); err != nil {
		return err
	}
	s.opts.logf("ready after %.1f s, all over after %.1f s; %s", s.readyTime.Seconds(), s.opts.Clock.Since(s.started).Seconds(), s.memory())
	if failed {
		report.WriteReasons(s.opts.Out, rows)
		return errors.Join(ErrJobsFailed, waitErr)
	}
	return nil
}

// explain prefers the reason for the sandbox's end over what it interrupted.
func (s *Sandbox) explain(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	return err
}

// memory tells how much memory all processes hold, by process.
func (s *Sandbox) memory() string {
	pids := s.sup.PIDs()
	pids["fleet-sandbox with KubeRay"] = os.Getpid()
	var parts []string
	var total int64
	for _, name := range slices.Sorted(maps.Keys(pids)) {
		bytes, err := s.proc.ResidentBytes(pids[name])
		if err != nil {
			continue // It has just ended; watchChildren tells.
		}
		total += bytes
		parts = append(parts, fmt.Sprintf("%s %d", name, bytes>>20))
	}
	return fmt.Sprintf("%d MiB of memory (%s)", total>>20, strings.Join(parts, ", "))
}

// recorder feeds a tracker from watches and prints its events.
type recorder struct {
	sandbox *Sandbox
	printer *timeline.Printer
	changed chan struct{}

	mu      sync.Mutex
	tracker *timeline.Tracker
}

func newRecorder(s *Sandbox) *recorder {
	return &recorder{
		sandbox: s,
		printer: timeline.NewPrinter(s.opts.Out, s.started),
		changed: make(chan struct{}, 1),
		tracker: timeline.NewTracker(fleet.GPUResource),
	}
}

// watch starts watching. It returns when the watches run, so that nothing
// that happens later is missed.
func (r *recorder) watch() error {
	for _, kind := range []client.Object{&rayv1.RayJob{}, &rayv1.RayCluster{}, &kueue.Workload{}, &corev1.Pod{}} {
		informer, err := r.sandbox.ray.GetCache().GetInformer(r.sandbox.ctx, kind)
		if err != nil {
			return fmt.Errorf("failed to watch %T: %w", kind, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { r.observe(object, false) },
			UpdateFunc: func(_, object any) { r.observe(object, false) },
			DeleteFunc: func(object any) {
				if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
					object = unknown.Obj
				}
				r.observe(object, true)
			},
		})
		if err != nil {
			return fmt.Errorf("failed to watch %T: %w", kind, err)
		}
		if !toolscache.WaitForCacheSync(r.sandbox.ctx.Done(), registration.HasSynced) {
			return fmt.Errorf("failed to watch %T: %w", kind, context.Cause(r.sandbox.ctx))
		}
	}
	return nil
}

func (r *recorder) observe(object any, deleted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	obs := timeline.Observation{At: r.sandbox.opts.Clock.Now(), Object: object.(client.Object), Deleted: deleted}
	for _, event := range r.tracker.Observe(obs) {
		r.printer.Print(event)
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *recorder) summary(job Job) timeline.Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	summary, ok := r.tracker.Summary(job.name, r.sandbox.opts.Clock.Now())
	if !ok {
		return timeline.Summary{Job: job.name.Name}
	}
	return summary
}

// waitReleased waits until every job has ended and holds nothing any more.
func (r *recorder) waitReleased(ctx context.Context, jobs []Job) error {
	for {
		if !slices.ContainsFunc(jobs, func(job Job) bool { return !r.summary(job).Released }) {
			return nil
		}
		select {
		case <-r.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
