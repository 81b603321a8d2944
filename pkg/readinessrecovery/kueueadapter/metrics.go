// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"

	"fleet.ai/kueue-fleet/pkg/metrics"
	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// observer turns changes of Workloads into metrics, in the manager that leads.
type observer struct {
	adapter *Adapter
	metrics *metrics.Readiness
	elected <-chan struct{}

	mu         sync.Mutex
	recovering map[types.UID]struct{}
}

func (a *Adapter) watchForMetrics(ctx context.Context, mgr manager.Manager) error {
	o := &observer{adapter: a, elected: mgr.Elected(), recovering: make(map[types.UID]struct{})}
	var err error
	if o.metrics, err = metrics.NewReadiness(a.registerer, o.countRecovering); err != nil {
		return err
	}
	informer, err := mgr.GetCache().GetInformer(ctx, &kueue.Workload{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if wl, isWorkload := obj.(*kueue.Workload); isWorkload {
				o.track(wl)
			}
		},
		UpdateFunc: func(before, after any) {
			old, _ := before.(*kueue.Workload)
			wl, isWorkload := after.(*kueue.Workload)
			if isWorkload && old != nil {
				o.track(wl)
				o.observe(old, wl)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, isUnknown := obj.(cache.DeletedFinalStateUnknown); isUnknown {
				obj = unknown.Obj
			}
			if wl, isWorkload := obj.(*kueue.Workload); isWorkload {
				o.forget(wl)
			}
		},
	})
	return err
}

func (o *observer) leads() bool {
	select {
	case <-o.elected:
		return true
	default:
		return false
	}
}

func (o *observer) countRecovering() float64 {
	if !o.leads() {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return float64(len(o.recovering))
}

func (o *observer) track(wl *kueue.Workload) {
	if !isRecovering(wl) {
		o.forget(wl)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recovering[wl.UID] = struct{}{}
}

func (o *observer) forget(wl *kueue.Workload) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.recovering, wl.UID)
}

func (o *observer) observe(old, wl *kueue.Workload) {
	if !o.leads() {
		return
	}
	ready := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	evicted, byReadiness := workloadevict.IsEvictedByPodsReadyTimeout(wl)
	byReadiness = byReadiness && !workloadevict.IsEvicted(old)
	if byReadiness {
		// What the Workload was evicted for is what it said before.
		windows := readinessrecovery.WindowsFor(policyOf(old), o.adapter.cluster)
		if d, found := readinessrecovery.DeadlineFor(old, historyOf(old), windows); found {
			o.metrics.Evicted(string(d.Cause), string(d.Window.Source))
		}
	}
	if !isRecovering(old) {
		return
	}
	since := apimeta.FindStatusCondition(old.Status.Conditions, kueue.WorkloadPodsReady).LastTransitionTime
	switch {
	case byReadiness:
		o.metrics.Unready(metrics.OutcomeEvicted, evicted.LastTransitionTime.Sub(since.Time))
	case ready != nil && ready.Status == metav1.ConditionTrue:
		o.metrics.Unready(metrics.OutcomeRecovered, ready.LastTransitionTime.Sub(since.Time))
	}
}

// isRecovering tells whether pods of wl, which had been ready, are waited for.
func isRecovering(wl *kueue.Workload) bool {
	ready := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	return isRunning(wl) && ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == kueue.WorkloadWaitForRecovery
}
