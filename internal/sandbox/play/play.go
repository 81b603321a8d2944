// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package play makes a scenario happen on a cluster: it submits the jobs,
// causes the events, records what is seen, checks the invariants all the time,
// and judges the checks.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/guard"
	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
	"fleet.ai/kueue-fleet/internal/sandbox/recorder"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/simruntime"
	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
	"fleet.ai/kueue-fleet/internal/sandbox/verdict"
	"fleet.ai/kueue-fleet/pkg/invariant"
)

const (
	// beat is how often triggers are looked at when nothing changes.
	beat = 100 * time.Millisecond
	// lateChecks is how long a check may come true after the last job is gone.
	lateChecks = 3 * time.Second
	// lateCleanUp is the same where a check looks for what is left.
	lateCleanUp = 20 * time.Second
)

// ErrTimeout says that a scenario did not come to its end.
var ErrTimeout = errors.New("the scenario did not end in time")

// Cluster is what a scenario is played on.
type Cluster struct {
	// Client reads from the API server.
	Client  client.Client
	Cache   cache.Cache
	Applier *manifests.Applier
	Runtime *simruntime.Runtime
	Ledger  *simray.Ledger
	// RestartManager ends the queue manager and starts it again after a while.
	RestartManager func(ctx context.Context, downFor time.Duration) error
	Manager        recording.Manager
	Clock          clock.WithTicker
	// Out gets the story, line by line.
	Out io.Writer
}

// Player plays one scenario.
type Player struct {
	Cluster
	scenario *scenario.Scenario
	start    time.Time
	recorder *recorder.Recorder
	steps    []*step
	jobs     map[string]types.NamespacedName
	// away gets the errors of what goes on in the background.
	away    chan error
	pending int
	// deleted are the jobs that an event deleted.
	deleted map[string]bool
}

// step is something that happens once.
type step struct {
	trigger scenario.Trigger
	due     time.Time
	done    bool
	do      func(ctx context.Context) error
}

// New returns a Player for submissions, which are those of s.
func New(c Cluster, s *scenario.Scenario, submissions []scenario.Submission) *Player {
	p := &Player{
		Cluster: c, scenario: s, start: c.Clock.Now(), away: make(chan error, 1),
		jobs: map[string]types.NamespacedName{}, deleted: map[string]bool{},
	}
	plan := map[string]recorder.Job{}
	for i := range submissions {
		sub := &submissions[i]
		name := types.NamespacedName{Namespace: sub.Object.GetNamespace(), Name: sub.Object.GetName()}
		p.jobs[name.Name] = name
		plan[name.Name] = recorder.Job{Class: sub.Job.Class, Items: sub.Work.Items()}
		c.Runtime.SetWork(name, sub.Work)
		p.steps = append(p.steps, &step{trigger: sub.Job.Trigger, do: func(ctx context.Context) error { return p.submit(ctx, sub) }})
	}
	for i := range s.Events {
		event := &s.Events[i]
		p.steps = append(p.steps, &step{trigger: event.Trigger, do: func(ctx context.Context) error { return p.cause(ctx, event) }})
	}
	rec := recording.Recording{
		Scenario: s.Name, Title: s.Title, Description: s.Description, Manager: c.Manager,
		Started: p.start, TimeScale: s.TimeScale,
	}
	if s.Filling != nil {
		rec.Filling = &recording.Filling{Class: s.Filling.Class, Until: s.Filling.Until.D().Seconds()}
	}
	shape := s.Fleet.Shape()
	for _, q := range s.FleetQueues() {
		rec.Queues = append(rec.Queues, recording.Queue{Name: q.Name, Cohort: q.Cohort, GPUs: q.GPUQuota(shape)})
	}
	printer := timeline.NewPrinter(c.Out, p.start)
	p.recorder = recorder.New(rec, plan, c.Ledger, fleet.GPUResource, printer.Print)
	return p
}

// Recorder is what records the run.
func (p *Player) Recorder() *recorder.Recorder { return p.recorder }

// Play plays the scenario to its end and returns what was recorded, complete
// as far as it came even if there is an error. An error says that the scenario
// could not be played; checks that fail are in the recording.
func (p *Player) Play(parent context.Context) (*recording.Recording, error) {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	p.Runtime.SetTimeScale(p.scenario.TimeScale)
	if err := p.watch(ctx); err != nil {
		return nil, err
	}
	guarded := p.guard(ctx, stop)
	err := p.prepare(ctx)
	if err == nil {
		limit, cancel := context.WithTimeoutCause(ctx, p.scenario.Timeout.D(), fmt.Errorf("%w: %s", ErrTimeout, p.scenario.Timeout.D()))
		err = p.loop(limit)
		cancel()
	}
	stop(nil)
	<-guarded
	p.recorder.Tick(p.Clock.Now())
	rec := p.recorder.Snapshot()
	rec.Checks = append(p.expectations(rec), verdict.Checks(rec, p.scenario)...)
	rec.Comparisons = verdict.Comparisons(rec, p.scenario)
	if err != nil && !errors.Is(err, ErrTimeout) {
		return rec, err
	}
	if err != nil {
		rec.Checks = append(rec.Checks, recording.Check{Name: "the scenario comes to its end", Want: "an end within " + p.scenario.Timeout.D().String(), Got: p.unfinished(rec)})
	}
	return rec, nil
}

// Passed reports whether all checks hold and no invariant was broken.
func Passed(rec *recording.Recording) bool {
	return len(rec.Violations) == 0 && !slices.ContainsFunc(rec.Checks, func(c recording.Check) bool { return !c.Passed })
}

// watch starts recording. It returns when the watches run, so that nothing
// that happens later is missed.
func (p *Player) watch(ctx context.Context) error {
	kinds := []client.Object{&corev1.Node{}, &rayv1.RayJob{}, &rayv1.RayCluster{}, &kueue.Workload{}, &corev1.Pod{}}
	// There are many events, and few scenarios are about them.
	if slices.ContainsFunc(p.scenario.Checks, func(c scenario.Check) bool { return c.Warnings != nil }) {
		kinds = append(kinds, &eventsv1.Event{})
	}
	for _, kind := range kinds {
		informer, err := p.Cache.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("failed to watch %T: %w", kind, err)
		}
		observe := func(object any, deleted bool) {
			p.recorder.Observe(timeline.Observation{At: p.Clock.Now(), Object: object.(client.Object), Deleted: deleted})
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { observe(object, false) },
			UpdateFunc: func(_, object any) { observe(object, false) },
			DeleteFunc: func(object any) {
				if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
					object = unknown.Obj
				}
				observe(object, true)
			},
		})
		if err != nil {
			return fmt.Errorf("failed to watch %T: %w", kind, err)
		}
		if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			return fmt.Errorf("failed to watch %T: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// guard checks the invariants until ctx is done; then the channel is closed.
func (p *Player) guard(ctx context.Context, stop context.CancelCauseFunc) <-chan struct{} {
	g := guard.New(p.Cache, p.Client, p.Clock, func(at time.Time, v invariant.Violation) {
		p.recorder.Violated(at, string(v.Rule), v.Subject+": "+v.Evidence)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, _, err := g.Run(ctx); err != nil {
			stop(err)
		}
	}()
	return done
}

// loop lets everything happen in its time.
func (p *Player) loop(ctx context.Context) error {
	var over time.Time
	ticker := p.Clock.NewTicker(beat)
	defer ticker.Stop()
	for {
		changed := p.recorder.Changed()
		now := p.Clock.Now()
		p.recorder.Tick(now)
		if err := p.fire(ctx, now); err != nil {
			return err
		}
		switch ended := p.ended(now); {
		case ended && over.IsZero():
			over = now
			fallthrough
		case ended:
			if p.checksPass() || now.Sub(over) >= p.patience() && !p.openEnd() {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-p.away:
			if p.pending--; err != nil {
				return err
			}
		case <-ticker.C():
			continue
		case <-changed:
		}
		// Not more often than a beat: a burst of changes is one.
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C():
		}
	}
}

// fire does what is due.
func (p *Player) fire(ctx context.Context, now time.Time) error {
	for _, s := range p.steps {
		if s.done {
			continue
		}
		if s.due.IsZero() {
			s.due = p.dueTime(s.trigger, now)
		}
		if s.due.IsZero() || now.Before(s.due) {
			continue
		}
		s.done = true
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// dueTime is when a trigger's time comes; zero if that isn't known yet.
func (p *Player) dueTime(t scenario.Trigger, now time.Time) time.Time {
	if t.When == nil {
		return p.start.Add(p.real(t.At.D() + t.Delay.D()))
	}
	holds := false
	p.recorder.Read(func(rec *recording.Recording) { holds = verdict.Holds(rec, t.When, now.Sub(p.start).Seconds()) })
	if !holds {
		return time.Time{}
	}
	return now.Add(p.real(t.Delay.D()))
}

// real is how long a time of the story takes in this run.
func (p *Player) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / p.scenario.TimeScale)
}

// ended reports whether everything has happened and every job that is waited
// for is over, with its pods gone.
func (p *Player) ended(now time.Time) bool {
	if p.pending > 0 || slices.ContainsFunc(p.steps, func(s *step) bool { return !s.done }) {
		return false
	}
	return p.recorder.ReleasedAll(p.awaited(), now)
}

// patience is how long checks that don't hold get after the end. What is left of a job
// is cleaned up by several controllers, and on a busy machine that takes its time.
func (p *Player) patience() time.Duration {
	if slices.ContainsFunc(p.scenario.Checks, func(c scenario.Check) bool { return c.Nothing != nil }) {
		return lateCleanUp
	}
	return lateChecks
}

// openEnd reports whether the end of no job is waited for; then the checks
// decide when the scenario is over.
func (p *Player) openEnd() bool {
	return len(p.scenario.Jobs) > 0 && len(p.awaited()) == 0
}

func (p *Player) checksPass() bool {
	passed := false
	p.recorder.Read(func(rec *recording.Recording) {
		passed = !slices.ContainsFunc(verdict.Checks(rec, p.scenario), func(c recording.Check) bool { return !c.Passed })
	})
	return passed
}

// awaited are the jobs that must end.
func (p *Player) awaited() []types.NamespacedName {
	var names []types.NamespacedName
	for i := range p.scenario.Jobs {
		j := &p.scenario.Jobs[i]
		if j.Expect == scenario.Succeeds || j.Expect == scenario.Fails {
			for _, name := range j.Names() {
				if !p.deleted[name] { // Not one that an event deleted.
					names = append(names, p.jobs[name])
				}
			}
		}
	}
	return names
}
