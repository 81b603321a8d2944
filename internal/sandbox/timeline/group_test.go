// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestGroupsThatAreAdmittedOnTheirOwnAreTakenTogether(t *testing.T) {
	ofGroup := func(group string, w workload) *kueue.Workload {
		object := w.build()
		object.Labels = map[string]string{"fleet.ai/worker-group": group}
		return object
	}
	n1 := func(pods int32) map[string]int32 { return map[string]int32{"n1": pods} }
	tracker, got := play(t, []seen{
		{at: 0, object: rayJob("", "")},
		{at: 1, object: ofGroup("trainer", workload{name: "t", count: 2, condition: kueue.WorkloadAdmitted, nodes: n1(2)})},
		{at: 2, object: ofGroup("rollout", workload{name: "r", count: 3, condition: kueue.WorkloadAdmitted, nodes: n1(3)})},
		// A growth takes over, and then the group is evicted.
		{at: 3, object: ofGroup("rollout", workload{name: "r2", created: 3, count: 4, condition: kueue.WorkloadAdmitted, nodes: n1(4)})},
		{at: 3, object: ofGroup("rollout", workload{name: "r", count: 3, condition: kueue.WorkloadFinished})},
		{at: 4, object: ofGroup("rollout", workload{name: "r2", created: 3, count: 4, condition: kueue.WorkloadEvicted, message: "for a gang"})},
	})
	want := []string{
		"0 submitted: eval of 1 to 6 x 2 GPU",
		"1 queued: in lq at q2, priority 5000",
		"1 admitted: 2 workers on n1 [0 ms after it was queued]",
		"2 grown: 2 -> 5, the new ones on n1",
		"3 grown: 5 -> 6, the new one on n1",
		"4 evicted: Preempted: for a gang",
		"4 shrunk: 6 -> 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want,+got):\n%s", diff)
	}
	sum, ok := tracker.Summary(jobName, start)
	if !ok || sum.PeakWorkers != 6 || sum.Evicted != 1 {
		t.Errorf("summary %+v, want at most 6 workers and 1 eviction", sum)
	}
}
