// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	kevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/raycluster"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"

	"fleet.ai/kueue-fleet/pkg/elasticfit/kueueadapter"
)

// manager is one life of Kueue's manager: the real scheduler, caches, queues,
// Workload controller and job reconciler, without the threads between them.
type manager struct {
	api       *fakeAPI
	cache     *schdcache.Cache
	queues    *qcache.Manager
	requeuer  interface{ ProcessRequeues(context.Context) int }
	scheduler *scheduler.Scheduler
	workloads *core.WorkloadReconciler
	jobs      reconcile.Reconciler
	// work is what is queued for the reconcilers.
	work map[objectKey]bool
	// admissions are the writes of a cycle, late those of the one before it.
	admissions, late []func()
	// snapshots fails the next ones when it is above zero.
	snapshots *failingSimulator
}

// Run implements routine.Wrapper: it keeps the write of an admission for later.
func (m *manager) Run(write func()) { m.admissions = append(m.admissions, write) }

type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func newManager(ctx context.Context, api *fakeAPI, clk *testingclock.FakeClock, nodes []string, s setup) (*manager, error) {
	m := &manager{api: api, work: map[objectKey]bool{}, snapshots: &failingSimulator{}}
	expectations := preemptexpectations.New()
	var opts []schdcache.Option
	if s.flaky {
		opts = append(opts, schdcache.WithSchedulingSimulator(m.snapshots))
	}
	if s.elasticFit {
		opts = append(opts, schdcache.WithTopologyFit(kueueadapter.New()))
	}
	m.cache = schdcache.New(api, opts...)
	queues, requeuer := qcache.NewManagerForUnitTestsWithRequeuer(api, m.cache,
		qcache.WithPreemptionExpectations(expectations), qcache.WithClock(clk))
	m.queues, m.requeuer = queues, requeuer
	m.scheduler = scheduler.New(queues, m.cache, api, noEvents{},
		scheduler.WithPreemptionExpectations(expectations), scheduler.WithClock(nil, clk),
		scheduler.WithAdmissionRoutineWrapper(m))
	m.workloads = core.NewWorkloadReconciler(api, queues, m.cache, noEvents{}, core.WithPreemptionExpectations(expectations))
	jobs, err := raycluster.NewReconciler(ctx, api, api, noEvents{},
		jobframework.WithQueues(queues), jobframework.WithCache(m.cache), jobframework.WithClock(clk))
	if err != nil {
		return nil, fmt.Errorf("failed to make the job reconciler: %w", err)
	}
	m.jobs = jobs
	return m, m.load(ctx, nodes)
}

// load fills the informer cache from the API server, as a manager does that starts.
func (m *manager) load(ctx context.Context, nodes []string) error {
	m.api.mu.Lock()
	clear(m.api.cached)
	clear(m.api.dirty)
	for key, obj := range m.api.stored {
		m.api.cached[key] = obj
	}
	m.api.mu.Unlock()
	log := logr.Discard()
	for _, node := range all[*corev1.Node](m.api) {
		m.cache.TASCache().SyncNode(node)
	}
	for _, t := range all[*kueue.Topology](m.api) {
		m.cache.AddOrUpdateTopology(log, t)
	}
	for _, f := range all[*kueue.ResourceFlavor](m.api) {
		m.cache.AddOrUpdateResourceFlavor(log, f)
	}
	for _, cq := range all[*kueue.ClusterQueue](m.api) {
		if err := m.cache.AddClusterQueue(ctx, cq); err != nil {
			return fmt.Errorf("failed to cache ClusterQueue %s: %w", cq.Name, err)
		}
		if err := m.queues.AddClusterQueue(ctx, cq); err != nil {
			return fmt.Errorf("failed to queue ClusterQueue %s: %w", cq.Name, err)
		}
	}
	for _, lq := range all[*kueue.LocalQueue](m.api) {
		if err := m.queues.AddLocalQueue(ctx, lq); err != nil {
			return fmt.Errorf("failed to queue LocalQueue %s: %w", lq.Name, err)
		}
	}
	for _, wl := range all[*kueue.Workload](m.api) {
		m.handle(ctx, event{key: keyOf(wl), new: wl})
	}
	for _, job := range all[*rayv1.RayCluster](m.api) {
		m.work[keyOf(job)] = true
	}
	// The imitated node controller also hears of nodes that went while no manager ran.
	for _, name := range nodes {
		m.work[objectKey{"Node", "", name}] = true
	}
	return nil
}

// handle does what the manager's event handlers do.
func (m *manager) handle(ctx context.Context, e event) {
	log := logr.Discard()
	switch e.key.kind {
	case "Workload":
		m.handleWorkload(e)
	case "RayCluster":
		m.work[e.key] = true
	case "Pod":
		obj := e.new
		if obj == nil {
			obj = e.old
		}
		m.work[objectKey{"RayCluster", e.key.namespace, obj.GetLabels()[clusterLabel]}] = true
		if node := obj.(*corev1.Pod).Spec.NodeName; node != "" {
			m.work[objectKey{"Node", "", node}] = true
		}
	case "Node":
		if e.new != nil {
			m.cache.TASCache().SyncNode(e.new.(*corev1.Node))
		} else {
			m.cache.TASCache().DeleteNodeByName(e.key.name)
		}
		if names := m.cache.ActiveClusterQueues(); len(names) > 0 {
			qcache.NotifyRetryInadmissible(m.queues, names)
		}
		m.work[e.key] = true
	case "ClusterQueue":
		cq := e.new.(*kueue.ClusterQueue)
		specUpdated := !sameSpec(e.old, e.new)
		for _, wl := range all[*kueue.Workload](m.api) {
			if string(wl.Spec.QueueName) == cq.Name {
				m.work[keyOf(wl)] = true
			}
		}
		if err := m.cache.UpdateClusterQueue(log, cq); err != nil {
			panic(fmt.Sprintf("failed to update ClusterQueue %s: %v", cq.Name, err))
		}
		if err := m.queues.UpdateClusterQueue(ctx, cq, specUpdated); err != nil {
			panic(fmt.Sprintf("failed to update ClusterQueue %s: %v", cq.Name, err))
		}
	}
}

func (m *manager) handleWorkload(e event) {
	obj := e.new
	switch {
	case e.old == nil && e.new != nil:
		m.workloads.Create(kevent.TypedCreateEvent[*kueue.Workload]{Object: e.new.(*kueue.Workload)})
	case e.old != nil && e.new == nil:
		obj = e.old
		m.workloads.Delete(kevent.TypedDeleteEvent[*kueue.Workload]{Object: e.old.(*kueue.Workload)})
	case e.old != nil:
		m.workloads.Update(kevent.TypedUpdateEvent[*kueue.Workload]{ObjectOld: e.old.(*kueue.Workload), ObjectNew: e.new.(*kueue.Workload)})
	default:
		return
	}
	m.work[e.key] = true
	for _, owner := range obj.GetOwnerReferences() {
		if owner.Kind != "RayCluster" {
			continue
		}
		m.work[objectKey{"RayCluster", e.key.namespace, owner.Name}] = true
	}
}

// reconcile runs the reconciler of one queued object. A failed one is queued again.
func (m *manager) reconcile(ctx context.Context, key objectKey) error {
	delete(m.work, key)
	req := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: key.namespace, Name: key.name}}
	var err error
	switch key.kind {
	case "Workload":
		_, err = m.workloads.Reconcile(ctx, req)
	case "RayCluster":
		_, err = m.jobs.Reconcile(ctx, req)
	case "Node":
		recordUnhealthy(m.api, key.name)
	}
	if err != nil {
		m.work[key] = true
	}
	return err
}

// cycle runs one scheduling cycle, if any Workload waits for one. The writes of its
// admissions are left to the caller.
func (m *manager) cycle(ctx context.Context) bool { return m.scheduler.RunCycle(ctx) }

func write(admissions []func()) {
	for _, admission := range admissions {
		admission()
	}
}

// uid makes identifiers whose order has nothing to do with age.
func uid(n int, salt uint64) types.UID {
	x := (uint64(n) + salt) * 0x9E3779B97F4A7C15
	x ^= x >> 29
	return types.UID(fmt.Sprintf("%08x-%s", uint32(x), strconv.Itoa(n)))
}
