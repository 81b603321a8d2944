// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"

	"fleet.ai/kueue-fleet/internal/explain"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

func node(name, rack string, gpus int64, ready bool) corev1.Node {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kind": "gpu", "rack": rack, corev1.LabelHostname: name}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if gpus > 0 {
		n.Status.Allocatable = corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)}
	}
	return n
}

func podSpec(gpus int64) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI)},
	}}}}
}

func pod(name, node, workload string, gpus int64) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}, Spec: podSpec(gpus)}
	p.Spec.NodeName = node
	if workload != "" {
		p.Annotations = map[string]string{kueue.WorkloadAnnotation: workload}
		p.Labels = map[string]string{"kueue.x-k8s.io/podset": "main"}
	}
	return p
}

// workload asks for pods of 2 GPUs.
func workload(name, owner string, priority int32, pods int32, change func(*kueue.Workload)) kueue.Workload {
	wl := kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name}}
	if owner != "" {
		wl.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: owner, Controller: new(true)}}
	}
	wl.Spec = kueue.WorkloadSpec{QueueName: "queue", Priority: &priority, PodSets: []kueue.PodSet{{Name: "main", Count: pods, Template: corev1.PodTemplateSpec{Spec: podSpec(2)}}}}
	if change != nil {
		change(&wl)
	}
	return wl
}

// admitted gives each of the hosts a pod.
func admitted(hosts ...string) func(*kueue.Workload) {
	return func(wl *kueue.Workload) {
		assignment := utiltestingapi.MakeTopologyAssignment([]string{corev1.LabelHostname})
		for _, host := range hosts {
			assignment = assignment.Domain(utiltestingapi.MakeTopologyDomainAssignment([]string{host}, 1).Obj())
		}
		wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{Name: "main", TopologyAssignment: assignment.Obj()}}}
		wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}}
	}
}

func state() *explain.State {
	return &explain.State{
		Now:        time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC),
		Topologies: []kueue.Topology{*utiltestingapi.MakeTopology("t").Levels("rack", corev1.LabelHostname).Obj()},
		Flavors:    []kueue.ResourceFlavor{*utiltestingapi.MakeResourceFlavor("b300").NodeLabel("kind", "gpu").TopologyName("t").Obj()},
		Nodes:      []corev1.Node{node("n3", "r2", 8, false), node("n2", "r1", 8, true), node("n1", "r1", 8, true), node("cpu", "r1", 0, true)},
		Pods:       []corev1.Pod{pod("a-0", "n1", "job-train-1", 2), pod("b", "n1", "", 3), pod("done", "n2", "", 8), pod("far", "cpu", "", 1)},
		Workloads: []kueue.Workload{
			workload("job-train-1", "train", 5, 2, admitted("n1", "n2")),
			workload("low", "", 1, 1, nil), workload("job-big-1", "big", 9, 4, nil),
			workload("over", "", 9, 1, func(wl *kueue.Workload) {
				wl.Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue}}
			}),
			workload("off", "", 9, 1, func(wl *kueue.Workload) { wl.Spec.Active = new(bool) }),
			workload("group", "rl", 0, 1, func(wl *kueue.Workload) { wl.Labels = map[string]string{"fleet.ai/worker-group": "head"} }),
		},
	}
}

func TestBoard(t *testing.T) {
	s := state()
	s.Pods[2].Status.Phase = corev1.PodSucceeded
	want := `2026-05-20T12:00:00Z, 9 GPUs of 24 free on 3 nodes

NODE  DOMAIN  HELD      FREE  
n1    r1      AA###···  3     
n2    r1      aa······  6     
n3    r2      ········  8     not usable

   JOB        QUEUE  PRIORITY  HAS
A  lab/train  queue  5         4 GPUs

WAITING      QUEUE  PRIORITY  ASKS FOR
lab/big      queue  9         8 GPUs
lab/low      queue  1         2 GPUs
lab/rl/head  queue  0         2 GPUs

· free  # other pods  small letter: granted, no pod yet
`
	var got strings.Builder
	New(s, Device(s.Nodes)).Print(&got)
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("unexpected board (-want,+got):\n%s", diff)
	}
}

func TestBoardInEdgeCases(t *testing.T) {
	cases := map[string]struct {
		change func(*explain.State)
		// want are lines, blanks squeezed.
		want []string
	}{
		"no node has devices": {func(s *explain.State) { s.Nodes = s.Nodes[3:] }, []string{"no node has devices"}},
		"a node with many devices is told in numbers": {
			func(s *explain.State) { s.Nodes[2] = node("n1", "r1", 32, true) }, []string{"n1 r1 A2 #3 27"},
		},
		"a node has more pods than it can hold": {func(s *explain.State) { s.Nodes[2] = node("n1", "r1", 4, true) }, []string{"n1 r1 AA### -1"}},
		"what may not be read is named": {
			func(s *explain.State) { s.Unreadable = []string{"Pods"} }, []string{"you may not read Pods: what depends on them is left out or wrong"},
		},
		"a node outside of all topologies": {func(s *explain.State) { s.Flavors = nil }, []string{"n1 – AA###··· 3"}},
		"more jobs than letters": {
			func(s *explain.State) {
				for i := range 27 {
					s.Pods = append(s.Pods, pod("p", "n2", fmt.Sprintf("z-%02d", i), 1))
				}
			}, []string{"* lab/z-26 – 0 1 GPU"},
		},
		"a long queue is cut": {
			func(s *explain.State) {
				for range 20 {
					s.Workloads = append(s.Workloads, workload("w", "", 0, 1, nil))
				}
			}, []string{"and 13 more"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := state()
			tc.change(s)
			var got strings.Builder
			New(s, Device(s.Nodes)).Print(&got)
			lines := map[string]bool{}
			for line := range strings.Lines(got.String()) {
				lines[strings.Join(strings.Fields(line), " ")] = true
			}
			for _, want := range tc.want {
				if !lines[want] {
					t.Errorf("there is no line %q:\n%s", want, got.String())
				}
			}
		})
	}
}

func TestDevice(t *testing.T) {
	nodes := []corev1.Node{node("n1", "r", 8, true)}
	nodes[0].Status.Allocatable["rdma/nic"] = resource.MustParse("2")
	nodes[0].Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("1Ti")
	if got := Device(nodes); got != gpu {
		t.Errorf("the board is about %q, want %s", got, gpu)
	}
	if got := Device(nil); got != "" {
		t.Errorf("a board without nodes is about %q", got)
	}
}
