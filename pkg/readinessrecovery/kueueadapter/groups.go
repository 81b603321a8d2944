// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

// groupPolicy does for the Workloads of worker groups what jobPolicy does for those
// of jobs. A group has one PodSet, and its pod template is all that speaks for it.
type groupPolicy struct {
	*jobPolicy
}

var _ workgroup.Readiness = (*groupPolicy)(nil)

// GroupReadiness returns what judges worker groups, nil if the feature is off. The
// gates must be set. It is used after Setup.
func (a *Adapter) GroupReadiness() workgroup.Readiness {
	if !recoveryOn() {
		return nil
	}
	return &groupPolicy{jobPolicy: &jobPolicy{Adapter: a}}
}

// Annotations implements workgroup.Readiness.
func (p *groupPolicy) Annotations(podSet *kueue.PodSet, replaced *kueue.Workload) (map[string]string, error) {
	policy := p.askedByGroup(podSet)(nil)
	// An event about it needs the Workload, so it is left to Follow to notice.
	policy.Ignored = nil
	annotations := make(map[string]string)
	var err error
	if annotations[readinessrecovery.PolicyAnnotation], err = policy.Encode(); err != nil || replaced == nil {
		return annotations, err
	}
	history, err := readinessrecovery.Inherit(replaced)
	if err != nil {
		return nil, err
	}
	annotations[readinessrecovery.HistoryAnnotation], err = history.Encode()
	return annotations, err
}

// Follow implements workgroup.Readiness.
func (p *groupPolicy) Follow(ctx context.Context, wl *kueue.Workload, podSet *kueue.PodSet, pods []corev1.Pod, expected int32) (judged bool, err error) {
	replaced, err := p.replaced(ctx, wl)
	if err != nil {
		return false, err
	}
	if written, err := p.keepUpToDate(ctx, wl, replaced, p.askedByGroup(podSet)); written || err != nil {
		return true, err
	}
	if !workload.IsAdmitted(wl) || workloadevict.IsEvicted(wl) {
		return false, nil
	}
	name := wl.Spec.PodSets[0].Name
	admitted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
	ready, earlierUnready := readinessrecovery.Observe(pods, func(*corev1.Pod) kueue.PodSetReference { return name }, admitted.LastTransitionTime.Time)
	readiness := readinessrecovery.Judge(readinessrecovery.Observation{
		Expected:       readinessrecovery.Counts{name: expected},
		Ready:          ready,
		EarlierUnready: earlierUnready,
		Previous:       apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady),
		History:        historyOf(wl),
		Now:            p.now(),
	})
	if readiness.Status == metav1.ConditionFalse {
		if written, err := p.keepHistory(ctx, wl, readiness.History); written || err != nil {
			return true, err
		}
	}
	condition := p.conditionFor(wl, readiness)
	if !changes(wl, &condition) {
		return true, nil
	}
	return true, p.writeCondition(ctx, wl, condition)
}

func (p *groupPolicy) askedByGroup(podSet *kueue.PodSet) asks {
	return func(*readinessrecovery.Policy) *readinessrecovery.Policy {
		return readinessrecovery.Resolve(readinessrecovery.Request{PodSets: []kueue.PodSet{*podSet}, MaxWindow: p.maxWindow})
	}
}
