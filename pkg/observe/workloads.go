// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/pkg/workloadslicing"

	"fleet.ai/kueue-fleet/pkg/metrics"
)

// isGrowth tells whether the Workload is the slice by which a running job grows.
func isGrowth(wl *kueue.Workload) bool { return workloadslicing.ReplacementForKey(wl) != nil }

// growthWait is how long a growth waited, if the change is its first admission. The
// times are the API server's and the manager's, in whole seconds.
func growthWait(old, wl *kueue.Workload) (time.Duration, bool) {
	if !isGrowth(wl) || workload.IsAdmitted(old) || !workload.IsAdmitted(wl) || apimeta.FindStatusCondition(old.Status.Conditions, kueue.WorkloadEvicted) != nil {
		return 0, false
	}
	admitted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadAdmitted)
	return max(admitted.LastTransitionTime.Sub(wl.CreationTimestamp.Time), 0), true
}

// resizeHandler turns changes of Workloads into the metric, in the manager that
// leads.
func resizeHandler(resize *metrics.Resize, leads func() bool) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, isOld := before.(*kueue.Workload)
			wl, isWorkload := after.(*kueue.Workload)
			if !isOld || !isWorkload || !leads() {
				return
			}
			if waited, first := growthWait(old, wl); first {
				resize.Admitted(string(wl.Status.Admission.ClusterQueue), waited)
			}
		},
	}
}
