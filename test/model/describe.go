// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/util/tas"
)

// describe is one line about a Workload for a trace.
func describe(wl *kueue.Workload) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s", wl.Name)
	for _, name := range []string{kueue.WorkloadQuotaReserved, kueue.WorkloadAdmitted, kueue.WorkloadEvicted, kueue.WorkloadFinished} {
		if condition(wl, name) {
			fmt.Fprintf(&s, " %s", name)
			if name == kueue.WorkloadEvicted || name == kueue.WorkloadFinished {
				fmt.Fprintf(&s, "(%s)", apimeta.FindStatusCondition(wl.Status.Conditions, name).Reason)
			}
		}
	}
	fmt.Fprintf(&s, " queue=%s prio=%d", wl.Spec.QueueName, ptr.Deref(wl.Spec.Priority, 0))
	for i := range wl.Spec.PodSets {
		ps := &wl.Spec.PodSets[i]
		fmt.Fprintf(&s, " %s:%dx%d", ps.Name, ps.Count, gpusOf(ps))
		if wl.Status.Admission == nil || i >= len(wl.Status.Admission.PodSetAssignments) {
			continue
		}
		psa := &wl.Status.Admission.PodSetAssignments[i]
		if f, ok := psa.Flavors[gpu]; ok {
			fmt.Fprintf(&s, "@%s", f)
		}
		if psa.TopologyAssignment != nil {
			var on []string
			for d := range tas.InternalSeqFrom(psa.TopologyAssignment) {
				on = append(on, fmt.Sprintf("%s=%d", d.Values[len(d.Values)-1], d.Count))
			}
			fmt.Fprintf(&s, "[%s]", strings.Join(on, " "))
		}
	}
	if r := wl.Annotations[replacementAnnotation]; r != "" {
		fmt.Fprintf(&s, " replaces=%s", strings.TrimPrefix(r, namespace+"/"))
	}
	if len(wl.Status.UnhealthyNodes) > 0 {
		fmt.Fprintf(&s, " unhealthy=%v", wl.Status.UnhealthyNodes)
	}
	if c := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil && c.Status == metav1.ConditionFalse {
		fmt.Fprintf(&s, " %q", c.Message)
	}
	return s.String()
}
