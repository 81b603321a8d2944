// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model runs random sequences of what happens to a cluster against Kueue's
// real scheduler, caches, queues, Workload controller and job reconciler, without an
// API server, and asks package invariant after every step.
package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	coreindexer "sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobs/raycluster"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

// newScheme knows the kinds of the model.
func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme, rayv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// world is a cluster in the middle of a sequence.
type world struct {
	ctx      context.Context
	setup    setup
	api      *fakeAPI
	clk      *testingclock.FakeClock
	rand     *rand.Rand
	manager  *manager
	runtime  *fakeRuntime
	checker  *invariant.Checker
	jobs     int
	finished map[string]bool
	failures []invariant.Violation
	stats    *stats
	trace    func(format string, args ...any)
	tracing  bool
	// strict asks for more than Kueue gives, see checkLiveness.
	strict bool
	// idle counts the cycles since the last one that did something, storm the
	// preemptions since the controllers began to work.
	idle, storm int
	last        string
	checked     int64 // the version of the API server at the last check
}

// stats counts what sequences got to, so that a run can show that it wasn't idle.
type stats struct {
	steps, cycles, checks, admissions, evictions, settled int
}

func newWorld(ctx context.Context, scheme *runtime.Scheme, s setup, st *stats, strict bool, trace func(string, ...any)) *world {
	clk := testingclock.NewFakeClock(time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC))
	w := &world{
		ctx: ctx, setup: s, clk: clk, checker: invariant.NewChecker(), finished: map[string]bool{}, stats: st, strict: strict, trace: trace, tracing: trace != nil,
		rand: rand.New(rand.NewPCG(1, 1)),
		api:  newFakeAPI(scheme, clk, func(n int) types.UID { return uid(n, 7) }),
	}
	if trace == nil {
		w.trace = func(string, ...any) {}
	}
	w.runtime = &fakeRuntime{w: w}
	if s.shaky > 0 {
		w.api.fails = func() bool { return w.rand.IntN(s.shaky) == 0 }
	}
	for _, setup := range []func(context.Context, client.FieldIndexer) error{coreindexer.Setup, tasindexer.SetupIndexes, raycluster.SetupIndexes} {
		if err := setup(ctx, w.api); err != nil {
			panic(err)
		}
	}
	for _, obj := range w.initialObjects() {
		if err := w.api.Create(ctx, obj); err != nil {
			panic(err)
		}
	}
	w.restart()
	return w
}

func (w *world) initialObjects() []client.Object {
	out := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		w.setup.topology(),
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: plainFlavor}},
	}
	for i, p := range priorities {
		out = append(out, &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priorityClass(i)}, Value: p})
	}
	for _, n := range w.setup.nodes {
		out = append(out, n.object())
	}
	plain := nodeSetup{name: plainNode, kind: "plain", pods: 1000}.object()
	delete(plain.Labels, rackLabel)
	out = append(out, plain)
	for _, f := range w.setup.flavors {
		out = append(out, f.object())
	}
	for _, q := range w.setup.queues {
		out = append(out, q.object(w.setup.cohort), &kueue.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: q.name},
			Spec:       kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(q.name)},
		})
	}
	return out
}

// restart begins a new life of the manager with nothing in memory.
func (w *world) restart() {
	var nodes []string
	for _, n := range w.setup.nodes {
		nodes = append(nodes, n.name)
	}
	m, err := newManager(w.ctx, w.api, w.clk, nodes, w.setup)
	if err != nil {
		panic(err)
	}
	w.manager = m
}

// run does the steps until a promise is broken.
func (w *world) run(ops []op) []invariant.Violation {
	for i, o := range ops {
		w.rand = rand.New(rand.NewPCG(o.salt, 0))
		w.clk.Step(w.pause())
		w.trace("step %d: %s", i+1, o)
		w.stats.steps++
		w.apply(o)
		w.check(false)
		rounds := o.rounds
		if w.setup.quick && rounds < 0 {
			rounds = int(o.salt % 10)
		}
		if w.settle(rounds); len(w.failures) > 0 {
			return w.failures
		}
	}
	w.trace("end: everything drains")
	w.rand = rand.New(rand.NewPCG(3, 3))
	for range 20 {
		w.runtime.endPods(true)
		if w.settle(-1); len(w.failures) > 0 || !w.terminating() {
			break
		}
	}
	return w.failures
}

// pause is the time between two steps.
func (w *world) pause() time.Duration {
	if w.setup.quick {
		return 50 * time.Millisecond
	}
	return time.Second
}

func (w *world) terminating() bool {
	return slices.ContainsFunc(all[*corev1.Pod](w.api), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

const (
	// maxRounds is what no sequence needs to come to rest.
	maxRounds = 2000
	// maxIdleCycles scheduling cycles in which nobody is admitted or preempted are
	// rest as well: Kueue tries a Workload again at once while it has flavors that it
	// hasn't tried, and with several groups that may go on for ever.
	maxIdleCycles = 12
	// maxStorm preemptions in one go are rest, too: with reclaiming in a cohort and
	// preemption in a queue, three jobs can preempt each other in turn for ever.
	maxStorm = 12
)

// settle lets the controllers work: all that there is to do when rounds is negative.
func (w *world) settle(rounds int) {
	limit := rounds
	if rounds < 0 {
		limit = maxRounds
	}
	pauses := 0
	w.idle, w.storm = 0, 0
	for range limit {
		if len(w.failures) > 0 {
			return
		}
		if busy := w.idle < maxIdleCycles && w.storm < maxStorm; busy && w.work() || !busy && w.finishWork() {
			w.check(false)
			continue
		}
		if w.clk.HasWaiters() && pauses < 8 {
			pauses++
			w.clk.Step(time.Second)
			continue
		}
		if rounds < 0 {
			w.atRest()
		}
		return
	}
	if rounds < 0 {
		w.fail("NoRest", "cluster", "the controllers are still busy after %d rounds", maxRounds)
	}
}

// work lets one of the components do something, and tells whether any had to.
func (w *world) work() bool {
	if w.deliver() {
		return true
	}
	// The scheduler doesn't wait for the reconcilers.
	patience := 6
	if w.setup.hurried {
		patience = 2
	}
	if len(w.manager.work) > 0 && w.rand.IntN(patience) == 0 && w.cycle() {
		return true
	}
	if w.setup.eager && w.rand.IntN(3) == 0 && w.runtime.step() {
		return true
	}
	return w.reconcileOne() || w.runtime.step() || w.cycle()
}

// finishWork is work without scheduling cycles.
func (w *world) finishWork() bool { return w.deliver() || w.reconcileOne() || w.runtime.step() }

func (w *world) fail(rule invariant.Rule, subject, format string, args ...any) {
	w.failures = append(w.failures, invariant.Violation{Rule: rule, Subject: subject, Evidence: fmt.Sprintf(format, args...)})
}

func (w *world) deliver() bool {
	delivered := false
	for {
		e, ok := w.api.deliver()
		if !ok {
			return delivered
		}
		delivered = true
		if e.old != nil || e.new != nil {
			w.manager.handle(w.ctx, e)
		}
	}
}

func (w *world) reconcileOne() bool {
	if len(w.manager.work) == 0 {
		return false
	}
	keys := make([]objectKey, 0, len(w.manager.work))
	for key := range w.manager.work {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, objectKey.compare)
	key := keys[w.rand.IntN(len(keys))]
	if err := w.manager.reconcile(w.ctx, key); err != nil {
		w.trace("  reconcile %s %s: %v", key.kind, key.name, err)
	}
	return true
}

// cycle runs a scheduling cycle and judges whom it preempted.
func (w *world) cycle() bool {
	w.manager.requeuer.ProcessRequeues(w.ctx)
	before := w.state(false)
	late := w.manager.late
	w.manager.late = nil
	if !w.manager.cycle(w.ctx) {
		write(late)
		return len(late) > 0
	}
	if w.rand.IntN(3) == 0 {
		w.manager.late = late // later still
	} else {
		write(late)
	}
	w.stats.cycles++
	w.idle++
	if n := len(w.manager.admissions); n > 0 {
		w.stats.admissions += n
		w.idle = 0
	}
	if w.rand.IntN(4) == 0 {
		// The goroutine that writes them is slow: the next cycle comes first.
		w.manager.late = append(w.manager.late, w.manager.admissions...)
	} else {
		write(w.manager.admissions)
	}
	w.manager.admissions = nil
	if n := w.judgePreemptions(before, len(late) == 0); n > 0 {
		w.idle = 0
		w.storm += n
	}
	w.traceState()
	return true
}

// state is what the API server holds now.
func (w *world) state(settled bool) invariant.State {
	return invariant.State{
		Nodes: values(all[*corev1.Node](w.api)), Topologies: values(all[*kueue.Topology](w.api)),
		Flavors: values(all[*kueue.ResourceFlavor](w.api)), ClusterQueues: values(all[*kueue.ClusterQueue](w.api)),
		Workloads: values(all[*kueue.Workload](w.api)), Pods: values(all[*corev1.Pod](w.api)), Settled: settled,
	}
}

func values[T any](pointers []*T) []T {
	out := make([]T, len(pointers))
	for i, p := range pointers {
		out[i] = *p
	}
	return out
}

func (w *world) check(settled bool) {
	if !settled && w.checked == w.api.version {
		return
	}
	w.checked = w.api.version
	w.stats.checks++
	w.failures = append(w.failures, w.checker.Check(w.state(settled))...)
}

// atRest is called when nothing is left to do.
func (w *world) atRest() {
	w.stats.settled++
	if w.terminating() || w.storm >= maxStorm {
		return
	}
	w.check(true)
	if w.idle < maxIdleCycles {
		w.checkLiveness()
	}
	if len(w.failures) == 0 && w.rand.IntN(3) == 0 && w.nudge() {
		w.check(true)
		w.checkGrowths()
	}
}

// nudge wakes every queue, as any event in the cluster could do next, and lets the
// controllers come to rest again. It returns false when nothing waits, or when they
// don't.
func (w *world) nudge() bool {
	if !slices.ContainsFunc(all[*kueue.Workload](w.api), pending) {
		return false
	}
	// Twice, for Kueue may go on with the flavor after the one it tried last.
	for range 2 {
		if names := w.manager.cache.ActiveClusterQueues(); len(names) > 0 {
			qcache.NotifyRetryInadmissible(w.manager.queues, names)
		}
		w.idle, w.storm = 0, 0
		for w.work() {
			w.check(false)
			if len(w.failures) > 0 || w.idle >= maxIdleCycles || w.storm >= maxStorm {
				return false
			}
		}
	}
	return !w.terminating()
}

func (w *world) traceState() {
	if !w.tracing {
		return
	}
	var s strings.Builder
	for _, wl := range all[*kueue.Workload](w.api) {
		fmt.Fprintf(&s, "\n    %s", describe(wl))
	}
	if s.String() != w.last {
		w.last = s.String()
		w.trace("  cycle %d:%s", w.stats.cycles, s.String())
	}
}
