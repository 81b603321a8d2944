// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestHoldersAndOutsiders(t *testing.T) {
	s := fleet()
	admit(s, workload("small", podSet("workers", 1, "4")), map[string]int32{"gpu-0": 1})
	admit(s, workload("large", podSet("workers", 3, "8")), map[string]int32{"gpu-1": 1, "gpu-2": 1, "gpu-3": 1})
	bind(s, "gpu-0", "", "1")
	r := Explain(s)
	want := []Holder{
		{Workload: "lab/large", Flavor: "b300", Resource: gpu, Amount: 24},
		{Workload: "lab/small", Flavor: "b300", Resource: gpu, Amount: 4},
	}
	if diff := cmp.Diff(want, r.HeldBy); diff != "" {
		t.Errorf("unexpected holders (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1 pod is outside of Kueue's topology placement on the flavor's nodes, with 1 GPU"}, r.Notes); diff != "" {
		t.Errorf("unexpected notes (-want,+got):\n%s", diff)
	}
}

func TestPrint(t *testing.T) {
	s := fleet()
	s.Unreadable = []string{"cohorts"}
	s.Workload.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Message: "couldn't assign\nflavors"}}
	for _, node := range []string{"gpu-0", "gpu-1"} {
		bind(s, node, "", "4")
	}
	for _, node := range []string{"gpu-2", "gpu-3"} {
		bind(s, node, "", "8")
	}
	var out strings.Builder
	Explain(s).Print(&out)
	want := `Workload   lab/train, priority 0
Queue      queue, ClusterQueue training
State      NoRoomOnNodes: PodSet workers in flavor b300: 1 pod of 8 GPUs asked for, room for 0: 8 GPUs are free on 2 nodes, 4 + 4
Would fit  as 2 × 4 GPUs it would start now
Scheduler  couldn't assign flavors
Note       you may not read cohorts: what depends on them is left out or wrong
Note       4 pods are outside of Kueue's topology placement on the flavor's nodes, with 24 GPUs

PODSET   PODS  RUNNING  EACH           TOPOLOGY
workers  1     0        1 CPU, 8 GPUs  unconstrained

FLAVOR  QUOTA    RESERVED  FREE
b300    400 CPU  0 CPU     400 CPU
b300    32 GPUs  0 GPUs    32 GPUs
heads   40 CPU   0 CPU     40 CPU
heads   0 GPUs   0 GPUs    0 GPUs

FLAVOR  DOMAIN          FREE
b300    r0/gpu-0        4 GPUs
b300    r0/gpu-1        4 GPUs
        2 domains full  

PODSET   FLAVOR  VERDICT
workers  b300    NoRoomOnNodes: 1 pod of 8 GPUs asked for, room for 0: 8 GPUs are free on 2 nodes, 4 + 4
workers  heads   NoQuota: the ClusterQueue training has no quota of nvidia.com/gpu in the flavor, nor a cohort to borrow it from
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("unexpected text (-want,+got):\n%s", diff)
	}
}
