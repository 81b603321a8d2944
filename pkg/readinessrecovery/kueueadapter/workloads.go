// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/core"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// workloadPolicy tells the Workload controller what applies to a Workload. All that
// it goes by is on the Workload.
type workloadPolicy struct {
	*Adapter
}

// Deadline implements core.PodsReadyPolicy.
func (p *workloadPolicy) Deadline(wl *kueue.Workload) (core.PodsReadyDeadline, bool) {
	windows := readinessrecovery.WindowsFor(policyOf(wl), p.cluster)
	d, ok := readinessrecovery.DeadlineFor(wl, historyOf(wl), windows)
	return core.PodsReadyDeadline{At: d.At, Cause: d.Cause, Explanation: d.Window.String()}, ok
}

// RequeueDelay implements core.PodsReadyPolicy.
func (p *workloadPolicy) RequeueDelay(wl *kueue.Workload, n int32) time.Duration {
	return readinessrecovery.BackoffFor(policyOf(wl), p.cluster.Backoff).JitteredDelay(n)
}

// RequeueLimit implements core.PodsReadyPolicy.
func (p *workloadPolicy) RequeueLimit(wl *kueue.Workload) *int32 {
	return readinessrecovery.BackoffFor(policyOf(wl), p.cluster.Backoff).Limit
}

// policyOf returns the Policy of a Workload. One that can't be read, since somebody
// has written to it, counts as empty: the job reconciler is going to replace it.
func policyOf(wl *kueue.Workload) *readinessrecovery.Policy {
	p, err := readinessrecovery.DecodePolicy(wl.Annotations)
	if err != nil {
		ctrl.Log.WithName(Name).Error(err, "The cluster's settings apply", "workload", klog.KObj(wl))
		return &readinessrecovery.Policy{}
	}
	return p
}

// historyOf does for the History what policyOf does for the Policy.
func historyOf(wl *kueue.Workload) *readinessrecovery.History {
	h, err := readinessrecovery.DecodeHistory(wl.Annotations)
	if err != nil {
		ctrl.Log.WithName(Name).Error(err, "The Workload goes on without history", "workload", klog.KObj(wl))
		return nil
	}
	return h
}
