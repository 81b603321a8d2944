// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// judge says what the PodsReady condition of an admitted Workload has to be. It is
// not known, and left to Kueue, where neither feature has a say.
func (p *jobPolicy) judge(ctx context.Context, job jobframework.GenericJob, podSets []kueue.PodSet, wl *kueue.Workload, byKueue metav1.Condition) (readinessrecovery.Readiness, bool, error) {
	previous := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	var history *readinessrecovery.History
	if recoveryOn() {
		history = historyOf(wl)
	}
	if podReadinessOn() {
		pods, known, err := p.podsOf(ctx, job, wl)
		if err != nil {
			return readinessrecovery.Readiness{}, false, err
		}
		if known {
			admitted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
			ready, earlierUnready := readinessrecovery.Observe(pods, podSetOf, admitted.LastTransitionTime.Time)
			return readinessrecovery.Judge(readinessrecovery.Observation{
				Expected:       expectedPods(wl, podSets),
				Ready:          ready,
				EarlierUnready: earlierUnready,
				Previous:       previous,
				History:        history,
				Now:            p.now(),
			}), true, nil
		}
	}
	if !recoveryOn() {
		return readinessrecovery.Readiness{}, false, nil
	}
	return readinessrecovery.JudgeWhole(byKueue.Status == metav1.ConditionTrue, previous, history, p.now()), true, nil
}

// observeReplaced keeps the readiness of the running slice of a job up to date while
// its growth waits: Kueue looks after the growth only.
func (p *jobPolicy) observeReplaced(ctx context.Context, job jobframework.GenericJob, podSets []kueue.PodSet, replaced *kueue.Workload) error {
	if !podReadinessOn() || !isRunning(replaced) {
		return nil
	}
	pods, known, err := p.podsOf(ctx, job, replaced)
	if err != nil || !known || pods == nil {
		return err
	}
	judged, _, err := p.judge(ctx, job, podSets, replaced, metav1.Condition{})
	if err != nil {
		return err
	}
	if recoveryOn() {
		history := judged.History
		if judged.Status == metav1.ConditionTrue {
			history = nil
		}
		if written, err := p.keepHistory(ctx, replaced, history); written || err != nil {
			return err
		}
	}
	condition := p.conditionFor(replaced, judged)
	if !changes(replaced, &condition) {
		return nil
	}
	return p.writeCondition(ctx, replaced, condition)
}

func (p *jobPolicy) conditionFor(wl *kueue.Workload, judged readinessrecovery.Readiness) metav1.Condition {
	var message string
	switch {
	case judged.Status == metav1.ConditionTrue:
		message = "All pods reached readiness and the workload is running"
	case judged.Reason == kueue.WorkloadWaitForRecovery:
		message = "At least one pod is not ready any more, waiting for recovery"
	default:
		message = "Not all pods are ready or succeeded"
	}
	if recoveryOn() && judged.Status == metav1.ConditionFalse {
		windows := readinessrecovery.WindowsFor(policyOf(wl), p.cluster)
		window := windows.Start
		if judged.Reason == kueue.WorkloadWaitForRecovery {
			window = windows.Recovery
		}
		message += ": " + window.String()
	}
	return metav1.Condition{
		Type:               kueue.WorkloadPodsReady,
		Status:             judged.Status,
		Reason:             judged.Reason,
		Message:            message,
		LastTransitionTime: metav1.NewTime(judged.Since),
		ObservedGeneration: wl.Generation,
	}
}

// now returns the time in whole seconds, as the API keeps it.
func (p *jobPolicy) now() time.Time {
	return p.clock.Now().Truncate(time.Second)
}
