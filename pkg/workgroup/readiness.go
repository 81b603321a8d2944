// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

// podsReady is the PodsReady condition that a group's Workload should have: true
// when all pods that should run now are ready. Growth that isn't granted and workers
// that the autoscaler removed don't count.
func podsReady(wl *kueue.Workload, o Observed, clk clock.Clock) metav1.Condition {
	if !workload.IsAdmitted(wl) {
		return workload.CreatePodsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForStart, "The group is not admitted", clk)
	}
	was := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady)
	recovers := was != nil && (was.Reason == kueue.WorkloadWaitForRecovery || was.Reason == kueue.WorkloadRecovered)
	switch {
	case o.Pods.ready() >= min(granted(wl), o.Group.Desired()) && !isStopping(wl):
		reason := kueue.WorkloadStarted
		if recovers {
			reason = kueue.WorkloadRecovered
		}
		return workload.CreatePodsReadyCondition(metav1.ConditionTrue, reason, "All pods of the group that should run are ready", clk)
	case was != nil && (was.Status == metav1.ConditionTrue || was.Reason == kueue.WorkloadWaitForRecovery):
		return workload.CreatePodsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, "A pod of the group is not ready any more", clk)
	default:
		return workload.CreatePodsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForStart, "Not all pods of the group are ready yet", clk)
	}
}
