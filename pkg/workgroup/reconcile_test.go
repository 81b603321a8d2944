// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
)

// The life of a job, from its head's admission to its end.
func TestReconcile(t *testing.T) {
	s := newScene(t, interceptor.Funcs{}, managedJob())
	s.live()
	for _, reason := range []string{"Started", "GroupHeld", "GroupWaiting", "GroupRunning", "GroupDraining", "GroupEnded"} {
		if !slices.ContainsFunc(s.events.RecordedEvents, func(e utiltesting.EventRecord) bool { return e.Reason == reason }) {
			t.Errorf("no event has the reason %s: %v", reason, s.events.RecordedEvents)
		}
	}
}

// live plays the life of a job and checks each step.
func (s *scene) live() {
	t := s.t
	t.Helper()
	s.reconcile()
	s.want("head: Waiting 0/1", "trainer: Held 0/1, waiting for the admission of the head", "rollout: Held 0/0, waiting for the admission of the head")
	s.admit("head")
	s.reconcile()
	s.makeCluster()
	s.makePods(HeadGroup, "h")
	s.makePods("trainer", "t")
	s.reconcile()
	s.wantPods("h")
	s.runPods()
	s.admit("rollout")
	s.reconcile()
	s.want("head: Running 1/1", "trainer: Waiting 0/1", "rollout: Running 0/0")

	s.resize(2)
	s.makePods("rollout", "r1", "r2")
	s.reconcile()
	s.want("head: Running 1/1", "trainer: Waiting 0/1", "rollout: Growing 0/2, 0 granted")
	s.wantPods("h")
	s.admit("rollout")
	s.admit("trainer")
	s.reconcile()
	s.wantPods("h r1 r2 t")
	s.runPods()
	s.reconcile()
	s.want("head: Running 1/1", "trainer: Running 1/1", "rollout: Running 2/2")
	if n := len(s.workloads("rollout")); n != 1 {
		t.Errorf("group rollout has %d unfinished Workloads, want 1", n)
	}
	s.wantReleased("r1")

	s.evict("rollout")
	s.reconcile()
	s.wantPods("h t")
	s.makePods("rollout", "r3", "r4")
	s.reconcile()
	s.want("head: Running 1/1", "trainer: Running 1/1", "rollout: Waiting 0/2, a higher one came")
	rollout := s.workloads("rollout")[0]
	if rollout.Status.Admission != nil || !apimeta.IsStatusConditionTrue(rollout.Status.Conditions, kueue.WorkloadRequeued) {
		t.Errorf("the drained Workload wasn't queued again: %v", rollout.Status)
	}
	s.admit("rollout")
	s.reconcile()
	s.wantPods("h r3 r4 t")

	s.resize(1)
	s.removePods("r4")
	s.reconcile()
	if got := count(s.workloads("rollout")[0]); got != 1 {
		t.Errorf("the group holds quota for %d pods, want 1", got)
	}

	job := s.job()
	job.Status.JobDeploymentStatus, job.Status.JobStatus = rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded
	s.must(s.client.Status().Update(t.Context(), job))
	s.reconcile()
	if n := len(s.workloads("trainer")) + len(s.workloads("head")); n != 2 {
		t.Errorf("%d Workloads of head and trainer hold quota, want 2 while their pods are there", n)
	}
	s.removePods("h", "t", "r3")
	s.reconcile()
	var list kueue.WorkloadList
	s.must(s.client.List(t.Context(), &list))
	for _, wl := range list.Items {
		if !apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) || len(wl.Finalizers) > 0 {
			t.Errorf("Workload %s is left: finalizers %v, conditions %v", wl.Name, wl.Finalizers, wl.Status.Conditions)
		}
	}
}

// wantReleased checks what a pod is released with.
func (s *scene) wantReleased(name string) {
	s.t.Helper()
	p := &corev1.Pod{}
	s.must(s.client.Get(s.t.Context(), types.NamespacedName{Namespace: "team", Name: name}, p))
	root := baseName("rl", "job-uid", "rollout")
	if p.Spec.NodeSelector["pool"] != "a" || len(p.Spec.Tolerations) != 1 ||
		p.Labels["kueue.x-k8s.io/podset"] != "rollout" ||
		p.Annotations[kueue.WorkloadAnnotation] != root || p.Annotations[kueue.WorkloadSliceNameAnnotation] != root {
		s.t.Errorf("pod %s was released with labels %v, annotations %v, node selector %v, tolerations %v", name, p.Labels, p.Annotations, p.Spec.NodeSelector, p.Spec.Tolerations)
	}
}

// A write that is refused is made up for, and a cache that is behind does no harm.
func TestReconcileOnOldCopies(t *testing.T) {
	s := newScene(t, interceptor.Funcs{}, managedJob())
	s.reconcile()
	s.admit("head")
	s.reconcile()
	s.makeCluster()
	s.reconcile()
	s.resize(1)
	s.makePods("rollout", "r1", "r2")
	s.reconcile()
	s.admit("rollout")

	// The cache shows the pods as they were before the first was released.
	var stale corev1.PodList
	s.must(s.client.List(t.Context(), &stale))
	s.reconcile()
	s.wantPods("r1")
	s.r.client = interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if pods, isPods := list.(*corev1.PodList); isPods {
				stale.DeepCopyInto(pods)
				return nil
			}
			return c.List(ctx, list, opts...)
		},
	})
	s.reconcile()
	s.wantPods("r1")
}

// What the template says of readiness reaches each slice, and follows changes.
func TestReconcileAnnotates(t *testing.T) {
	job := managedJob()
	job.Spec.RayClusterSpec.WorkerGroupSpecs[1].Template.Annotations["fleet.ai/window"] = "5m"
	s := newScene(t, interceptor.Funcs{}, job)
	s.reconcile()
	s.admit("head")
	s.reconcile()
	s.makeCluster()
	s.admit("rollout")
	s.resize(1)
	s.reconcile()
	want := func(window string) {
		t.Helper()
		slices := s.workloads("rollout")
		if len(slices) != 2 {
			t.Fatalf("group rollout has %d Workloads, want 2", len(slices))
		}
		for _, wl := range slices {
			if got := wl.Annotations["window"]; got != window {
				t.Errorf("Workload %s has the window %q, want %q", wl.Name, got, window)
			}
		}
		if got := slices[1].Annotations["replaced"]; got != slices[0].Name {
			t.Errorf("Workload %s inherits from %q, want %q", slices[1].Name, got, slices[0].Name)
		}
	}
	want("5m")
	job = s.job()
	job.Spec.RayClusterSpec.WorkerGroupSpecs[1].Template.Annotations["fleet.ai/window"] = "10m"
	s.must(s.client.Update(t.Context(), job))
	s.reconcile()
	want("10m")
}

// Who judges the readiness of groups is told of the pods that run and of how many
// should, and has the last word.
func TestReconcileLeavesTheJudgement(t *testing.T) {
	s := newScene(t, interceptor.Funcs{}, managedJob())
	seen := map[string]string{}
	s.r.readiness = fakeReadiness{client: s.client, judge: func(wl *kueue.Workload, pods []corev1.Pod, expected int32) {
		seen[wl.Labels[GroupLabel]] = fmt.Sprintf("%d of %d", len(pods), expected)
	}}
	s.reconcile()
	s.admit("head")
	s.reconcile()
	s.makeCluster()
	s.makePods(HeadGroup, "h1")
	s.reconcile()
	want := map[string]string{"head": "1 of 1", "rollout": "0 of 0", "trainer": "0 of 0"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("pods that run, of those that should (-want,+got):\n%s", diff)
	}
	for group := range want {
		for _, wl := range s.workloads(group) {
			if apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPodsReady) != nil {
				t.Errorf("Workload %s has a PodsReady condition that nobody asked for", wl.Name)
			}
		}
	}
}

// The program starts when everybody who was admitted runs.
func TestRunsWithoutWaiting(t *testing.T) {
	groups := func(states ...State) []Status {
		var out []Status
		for i, state := range states {
			out = append(out, Status{Group: []string{HeadGroup, "a", "b"}[i], State: state})
		}
		return out
	}
	cases := map[string]struct {
		states []State
		want   bool
	}{
		"one waits and the others run":        {states: []State{StateRunning, StateWaiting, StateRunning}, want: true},
		"one was switched off":                {states: []State{StateRunning, StateDeactivated}, want: true},
		"only the head runs":                  {states: []State{StateRunning, StateWaiting, StateWaiting}, want: true},
		"nobody waits: KubeRay will see that": {states: []State{StateRunning, StateRunning}},
		"one is about to run":                 {states: []State{StateRunning, StateWaiting, StateStarting}},
		"one is being drained":                {states: []State{StateRunning, StateDraining}},
		"the head waits":                      {states: []State{StateWaiting, StateRunning}},
		"the head starts":                     {states: []State{StateStarting, StateWaiting}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := runsWithoutWaiting(groups(tc.states...)); got != tc.want {
				t.Errorf("runsWithoutWaiting() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReconcileLetsTheProgramStart(t *testing.T) {
	s := newScene(t, interceptor.Funcs{}, managedJob())
	s.reconcile()
	s.admit("head")
	s.reconcile()
	s.makeCluster()
	job := s.job()
	job.Status.JobDeploymentStatus = rayv1.JobDeploymentStatusInitializing
	s.must(s.client.Status().Update(t.Context(), job))
	s.makePods(HeadGroup, "h")
	s.reconcile()
	s.admit("rollout")
	state := func() rayv1.ClusterState {
		cluster := &rayv1.RayCluster{}
		s.must(s.client.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "rl-c"}, cluster))
		return cluster.Status.State //nolint:staticcheck // It is what KubeRay's RayJob reconciler goes by.
	}
	s.reconcile()
	if got := state(); got != "" {
		t.Fatalf("the cluster is %q before its head runs", got)
	}
	s.runPods()
	s.reconcile()
	s.want("head: Running 1/1", "trainer: Waiting 0/1", "rollout: Running 0/0")
	if got := state(); got != rayv1.Ready {
		t.Errorf("the cluster is %q, want ready while the trainer waits", got)
	}
}

// What is left of a former job of the same name holds its quota until its pods are
// gone, and is not the new job's business.
func TestReconcileFormerJob(t *testing.T) {
	old := slice(1, 1, admitted)
	old.Name = baseName("rl", "former-uid", "rollout")
	old.Annotations[kueue.WorkloadSliceNameAnnotation] = old.Name
	old.Labels = map[string]string{JobLabel: "rl", GroupLabel: "rollout"}
	old.OwnerReferences = []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayJob", Name: "rl", UID: "former-uid", Controller: ptr.To(true)}}
	left := pod("old", ready)
	left.Labels = map[string]string{JobLabel: "rl"}
	left.Annotations = map[string]string{kueue.WorkloadAnnotation: old.Name, kueue.WorkloadSliceNameAnnotation: old.Name}
	s := newScene(t, interceptor.Funcs{}, managedJob(), old, left)
	s.must(s.client.Delete(t.Context(), old.DeepCopy()))

	s.reconcile()
	s.want("head: Waiting 0/1", "trainer: Held 0/1, waiting for the admission of the head", "rollout: Held 0/0, waiting for the admission of the head")
	kept := &kueue.Workload{}
	s.must(s.client.Get(t.Context(), client.ObjectKeyFromObject(old), kept))
	if kept.Status.Admission == nil {
		t.Error("the former job gave up the quota that its pod uses")
	}
	s.removePods("old")
	s.reconcile()
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(old), kept); !apierrors.IsNotFound(err) {
		t.Errorf("getting the former job's Workload: error %v, want not found", err)
	}
}

var stride = flag.Int("stride", 7, "let every n-th write of a job's life fail; 1 takes a minute")

// A write of a job's life fails: it is refused, or it is done and the answer is lost.
// A program that is killed and started again sees the same. Nothing leaks, and every
// step comes to the same end.
func TestReconcileWhenAWriteFails(t *testing.T) {
	writes := 0
	fail := func(at int, done bool) func(*scene) {
		n := 0
		injected := errors.New("injected")
		try := func(write func() error) error {
			n++
			writes = max(writes, n)
			if n != at {
				return write()
			}
			if done {
				return errors.Join(write(), injected)
			}
			return injected
		}
		return func(s *scene) {
			s.faulty = true
			s.r.client = interceptor.NewClient(s.client.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					return try(func() error { return c.Create(ctx, obj, opts...) })
				},
				Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
					return try(func() error { return c.Update(ctx, obj, opts...) })
				},
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					return try(func() error { return c.Patch(ctx, obj, patch, opts...) })
				},
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					return try(func() error { return c.Delete(ctx, obj, opts...) })
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					return try(func() error { return c.SubResource(name).Patch(ctx, obj, patch, opts...) })
				},
			})
		}
	}
	run := func(at int, done bool) {
		t.Run(fmt.Sprintf("write %d, done %v", at, done), func(t *testing.T) {
			s := newScene(t, interceptor.Funcs{}, managedJob())
			fail(at, done)(s)
			s.live()
		})
	}
	run(0, false)
	if writes < 20 {
		t.Fatalf("the life of a job took %d writes, so not all of them were counted", writes)
	}
	for at := 1; at <= writes; at += *stride {
		run(at, false)
		run(at, true)
	}
}
