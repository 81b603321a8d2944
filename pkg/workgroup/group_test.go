// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func gateNames(template *corev1.PodTemplateSpec) []string {
	var out []string
	for _, gate := range template.Spec.SchedulingGates {
		out = append(out, gate.Name)
	}
	return out
}

func TestDefault(t *testing.T) {
	job := makeJob()
	job.Annotations[StatusAnnotation] = "copied from another job"
	own := corev1.PodSchedulingGate{Name: "example.com/mine"}
	job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{own, {Name: SchedulingGate}}
	Default(job)
	Default(job)

	if !Managed(job) || !job.Spec.Suspend {
		t.Errorf("managed = %v, suspended = %v, want both", Managed(job), job.Spec.Suspend)
	}
	if status, found := job.Annotations[StatusAnnotation]; found {
		t.Errorf("the status is %q, want none", status)
	}
	spec := job.Spec.RayClusterSpec
	both := []string{SchedulingGate, kueue.TopologySchedulingGate}
	for name, got := range map[string][]string{
		"head": gateNames(&spec.HeadGroupSpec.Template), "rollout": gateNames(&spec.WorkerGroupSpecs[1].Template),
	} {
		if diff := cmp.Diff(both, got); diff != "" {
			t.Errorf("gates of %s (-want,+got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(append([]string{own.Name}, both...), gateNames(&spec.WorkerGroupSpecs[0].Template)); diff != "" {
		t.Errorf("gates of a group with a gate of its own (-want,+got):\n%s", diff)
	}
}

func TestDefaultCluster(t *testing.T) {
	// The job's templates may have lost their gates by now.
	cluster := &rayv1.RayCluster{Spec: *makeJob().Spec.RayClusterSpec}
	cluster.Annotations = map[string]string{StatusAnnotation: "head: Running 1/1", "kept": "yes"}
	DefaultCluster(cluster, "rl")
	if diff := cmp.Diff(map[string]string{"kept": "yes"}, cluster.Annotations); diff != "" {
		t.Errorf("annotations (-want,+got):\n%s", diff)
	}
	seen := 0
	forEachTemplate(&cluster.Spec, func(template *corev1.PodTemplateSpec) {
		seen++
		if !slices.Contains(gateNames(template), SchedulingGate) || template.Labels[JobLabel] != "rl" {
			t.Errorf("gates %v, labels %v, want a gate and the job's name", gateNames(template), template.Labels)
		}
	})
	if seen != 3 {
		t.Errorf("%d templates, want 3", seen)
	}
}

func TestGroupsOf(t *testing.T) {
	cluster := &rayv1.RayCluster{Spec: *managedJob().Spec.RayClusterSpec}
	DefaultCluster(cluster, "rl")
	resized := func(replicas int32) *rayv1.RayCluster {
		c := cluster.DeepCopy()
		c.Spec.WorkerGroupSpecs[1].Replicas = &replicas
		return c
	}
	cases := map[string]struct {
		change  func(*rayv1.RayJob)
		cluster *rayv1.RayCluster
		want    []string
	}{
		"before there is a cluster":                 {want: []string{"head q0 1", "trainer q1 1", "rollout q2 0 elastic"}},
		"the autoscaler asks for more":              {cluster: resized(3), want: []string{"head q0 1", "trainer q1 1", "rollout q2 3 elastic"}},
		"more than the maximum is not what is made": {cluster: resized(9), want: []string{"head q0 1", "trainer q1 1", "rollout q2 4 elastic"}},
		"less than the minimum is not what is made": {cluster: resized(-1), want: []string{"head q0 1", "trainer q1 1", "rollout q2 0 elastic"}},
		"a replica of several hosts has as many pods": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.WorkerGroupSpecs[0].NumOfHosts = 2 },
			want:   []string{"head q0 1", "trainer q1 2", "rollout q2 0 elastic"},
		},
		"the priority is the job's, which may change": {
			change: func(job *rayv1.RayJob) {
				job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Annotations[PriorityClassAnnotation] = "q0"
			},
			cluster: cluster, want: []string{"head q0 1", "trainer q0 1", "rollout q2 0 elastic"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := managedJob()
			if tc.change != nil {
				tc.change(job)
			}
			groups, err := GroupsOf(job, tc.cluster)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, g := range groups {
				line := fmt.Sprintf("%s %s %d", g.Name, g.PriorityClass, g.Desired())
				if g.Elastic {
					line += " elastic"
				}
				got = append(got, line)
				if gates := gateNames(&g.PodSet.Template); len(gates) > 0 {
					t.Errorf("group %s: the Workload's template has gates %v, want none", g.Name, gates)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("GroupsOf() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestClaims(t *testing.T) {
	with := func(change func(*rayv1.RayJob)) *rayv1.RayJob {
		job := managedJob()
		change(job)
		return job
	}
	groupWorkload := &kueue.Workload{}
	groupWorkload.Labels = map[string]string{JobLabel: "rl", GroupLabel: "head"}
	cases := map[string]struct {
		obj  client.Object
		want bool
	}{
		"a job that is being created":                      {obj: makeJob(), want: true},
		"a wrong scope is ours to reject":                  {obj: with(func(j *rayv1.RayJob) { j.UID = ""; j.Annotations[ScopeAnnotation] = "x" }), want: true},
		"a job that was defaulted":                         {obj: managedJob(), want: true},
		"a job that was created while the feature was off": {obj: with(func(j *rayv1.RayJob) { delete(j.Annotations, ManagedAnnotation) })},
		"a job that didn't opt in":                         {obj: with(func(j *rayv1.RayJob) { j.Annotations = nil })},
		"a cluster that copied the annotations":            {obj: &rayv1.RayCluster{ObjectMeta: managedJob().ObjectMeta}},
		"a group's Workload":                               {obj: groupWorkload, want: true},
		"another Workload":                                 {obj: &kueue.Workload{}},
		"a pod":                                            {obj: pod("a", gated)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := NewClaimer().Claims(tc.obj); got != tc.want {
				t.Errorf("Claims() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPhaseOf(t *testing.T) {
	cases := map[string]struct {
		status    rayv1.JobDeploymentStatus
		suspended bool
		deleted   bool
		want      JobPhase
	}{
		"before the head's admission":    {suspended: true, want: JobHeld},
		"KubeRay has seen it":            {suspended: true, status: rayv1.JobDeploymentStatusSuspended, want: JobHeld},
		"started":                        {status: rayv1.JobDeploymentStatusInitializing, want: JobActive},
		"running":                        {status: rayv1.JobDeploymentStatusRunning, want: JobActive},
		"between two attempts":           {status: rayv1.JobDeploymentStatusRetrying, want: JobActive},
		"succeeded":                      {status: rayv1.JobDeploymentStatusComplete, want: JobEnding},
		"failed for good":                {status: rayv1.JobDeploymentStatusFailed, want: JobEnding},
		"KubeRay doesn't accept it":      {status: rayv1.JobDeploymentStatusValidationFailed, want: JobEnding},
		"deleted":                        {status: rayv1.JobDeploymentStatusRunning, deleted: true, want: JobEnding},
		"deleted before it was admitted": {suspended: true, deleted: true, want: JobEnding},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := managedJob()
			job.Spec.Suspend, job.Status.JobDeploymentStatus = tc.suspended, tc.status
			if tc.deleted {
				job.DeletionTimestamp = ptr.To(job.CreationTimestamp)
			}
			if got := phaseOf(job); got != tc.want {
				t.Errorf("phaseOf() = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestChangedStates(t *testing.T) {
	was := formatStatus([]Status{
		{Group: "head", State: StateRunning, Ready: 1, Desired: 1},
		{Group: "rollout", State: StateWaiting, Desired: 4, Reason: "2 more GPUs needed: none free"},
	})
	if want := "head: Running 1/1\nrollout: Waiting 0/4, 2 more GPUs needed: none free"; was != want {
		t.Errorf("formatStatus() = %q, want %q", was, want)
	}
	now := []Status{
		{Group: "head", State: StateRunning, Ready: 1, Desired: 1},
		{Group: "rollout", State: StateStarting, Desired: 4},
		{Group: "trainer", State: StateWaiting, Desired: 1},
	}
	if diff := cmp.Diff(now[1:], changed(was, now)); diff != "" {
		t.Errorf("changed() (-want,+got):\n%s", diff)
	}
	now[1].State = StateWaiting
	if diff := cmp.Diff(now[2:], changed(was, now)); diff != "" {
		t.Errorf("another reason alone is no news (-want,+got):\n%s", diff)
	}
}
