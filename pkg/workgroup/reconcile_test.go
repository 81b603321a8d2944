// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/features"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
)

// scene is a job on a fake API server. The test plays KubeRay, Kueue's scheduler and
// the kubelets.
type scene struct {
	t *testing.T
	// faulty scenes may fail to reconcile now and then.
	faulty bool
	client client.Client
	r      *Reconciler
	events *utiltesting.EventRecorder
}

func newScene(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *scene {
	t.Helper()
	features.SetFeatureGateDuringTest(t, features.ElasticJobsViaWorkloadSlices, true)
	// The fake API server can't apply; merging does the same here.
	features.SetFeatureGateDuringTest(t, features.WorkloadRequestUseMergePatch, true)
	if funcs.SubResourcePatch == nil {
		funcs.SubResourcePatch = utiltesting.TreatSSAAsStrategicMerge
	}
	byJob := func(obj client.Object) []string { return []string{obj.GetLabels()[JobLabel]} }
	for name, value := range map[string]int32{"q0": 3, "q1": 2, "q2": 1} {
		objects = append(objects, &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value})
	}
	objects = append(objects, &kueue.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: "flavor"},
		Spec: kueue.ResourceFlavorSpec{
			NodeLabels:  map[string]string{"pool": "a"},
			Tolerations: []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}},
		},
	})
	c := utiltesting.NewClientBuilder(rayv1.AddToScheme).
		WithObjects(objects...).
		WithStatusSubresource(&kueue.Workload{}, &rayv1.RayJob{}, &rayv1.RayCluster{}).
		WithInterceptorFuncs(funcs).
		WithIndex(&corev1.Pod{}, jobIndex, byJob).
		WithIndex(&kueue.Workload{}, jobIndex, byJob).
		WithIndex(&corev1.Pod{}, indexer.WorkloadSliceNameKey, indexer.IndexPodWorkloadSliceName).
		Build()
	s := &scene{t: t, client: c, events: &utiltesting.EventRecorder{}}
	s.r = &Reconciler{client: c, live: c, clock: testingclock.NewFakeClock(time.Unix(100, 0)), recorder: s.events, waitForPodsReady: true, annotate: annotateForTest}
	return s
}

// annotateForTest copies a window of the template, and names the replaced slice.
func annotateForTest(podSets []kueue.PodSet, replaced *kueue.Workload) (map[string]string, error) {
	out := map[string]string{}
	if window, found := podSets[0].Template.Annotations["fleet.ai/window"]; found {
		out["window"] = window
	}
	if replaced != nil {
		out["replaced"] = replaced.Name
	}
	return out, nil
}

// reconcile runs until nothing changes any more.
func (s *scene) reconcile() {
	s.t.Helper()
	before := ""
	for range 20 {
		_, err := s.r.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "rl"}})
		if err != nil && !s.faulty {
			s.t.Fatalf("Reconcile() error = %v", err)
		}
		now := strings.Join(s.all(), "\n")
		if now == before && err == nil {
			return
		}
		before = now
	}
	s.t.Fatalf("the controller doesn't come to rest:\n%s", before)
}

// all describes the objects with their versions.
func (s *scene) all() []string {
	var out []string
	for _, list := range []client.ObjectList{&kueue.WorkloadList{}, &corev1.PodList{}, &rayv1.RayJobList{}} {
		s.must(s.client.List(s.t.Context(), list))
		s.must(apimeta.EachListItem(list, func(obj runtime.Object) error {
			o := obj.(client.Object)
			out = append(out, fmt.Sprintf("%T %s %s", o, o.GetName(), o.GetResourceVersion()))
			return nil
		}))
	}
	return out
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) job() *rayv1.RayJob {
	job := &rayv1.RayJob{}
	s.must(s.client.Get(s.t.Context(), types.NamespacedName{Namespace: "team", Name: "rl"}, job))
	return job
}

func (s *scene) want(lines ...string) {
	s.t.Helper()
	got := strings.Split(s.job().Annotations[StatusAnnotation], "\n")
	if diff := cmp.Diff(lines, got); diff != "" {
		s.t.Fatalf("status (-want,+got):\n%s", diff)
	}
}

// workloads are the unfinished Workloads of a group, oldest first.
func (s *scene) workloads(group string) []*kueue.Workload {
	var list kueue.WorkloadList
	s.must(s.client.List(s.t.Context(), &list))
	var out []*kueue.Workload
	base := baseName("rl", "job-uid", group)
	for i := range list.Items {
		wl := &list.Items[i]
		if wl.Labels[GroupLabel] == group && !apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
			out = append(out, wl)
		}
	}
	slices.SortFunc(out, func(a, b *kueue.Workload) int { return ordinal(base, a.Name) - ordinal(base, b.Name) })
	return out
}

// admit does what the scheduler does for the newest Workload of a group.
func (s *scene) admit(group string) {
	s.t.Helper()
	all := s.workloads(group)
	if len(all) == 0 {
		s.t.Fatalf("group %s has no Workload to admit", group)
	}
	wl := all[len(all)-1]
	wl.Status.Conditions = nil
	admitted(wl)
	wl.Status.Admission.PodSetAssignments[0].Name = wl.Spec.PodSets[0].Name
	wl.Status.Admission.PodSetAssignments[0].Flavors = map[corev1.ResourceName]kueue.ResourceFlavorReference{corev1.ResourceCPU: "flavor"}
	s.must(s.client.Status().Update(s.t.Context(), wl))
}

func (s *scene) evict(group string) {
	wl := s.workloads(group)[0]
	evicted(wl)
	s.must(s.client.Status().Update(s.t.Context(), wl))
}

// makeCluster does what KubeRay does when the job starts.
func (s *scene) makeCluster() {
	job := s.job()
	if job.Spec.Suspend {
		s.t.Fatal("the job is suspended, KubeRay makes no cluster")
	}
	job.Status.RayClusterName, job.Status.JobDeploymentStatus = "rl-c", rayv1.JobDeploymentStatusRunning
	s.must(s.client.Status().Update(s.t.Context(), job))
	cluster := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "rl-c", Namespace: "team", UID: "cluster-uid"}, Spec: *job.Spec.RayClusterSpec.DeepCopy()}
	cluster.OwnerReferences = []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayJob", Name: "rl", UID: "job-uid", Controller: ptr.To(true)}}
	DefaultCluster(cluster, "rl")
	s.must(s.client.Create(s.t.Context(), cluster))
}

func (s *scene) resize(replicas int32) {
	cluster := &rayv1.RayCluster{}
	s.must(s.client.Get(s.t.Context(), types.NamespacedName{Namespace: "team", Name: "rl-c"}, cluster))
	cluster.Spec.WorkerGroupSpecs[1].Replicas = &replicas
	s.must(s.client.Update(s.t.Context(), cluster))
}

// makePods does what KubeRay does for a group.
func (s *scene) makePods(group string, names ...string) {
	for _, name := range names {
		p := pod(name, gated)
		p.UID = types.UID(name)
		p.Labels = map[string]string{JobLabel: "rl", utils.RayNodeGroupLabelKey: group, utils.RayNodeTypeLabelKey: string(rayv1.WorkerNode)}
		if group == HeadGroup {
			p.Labels[utils.RayNodeTypeLabelKey], p.Labels[utils.RayNodeGroupLabelKey] = string(rayv1.HeadNode), utils.RayNodeHeadGroupLabelValue
		}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: "rl-c", UID: "cluster-uid", Controller: ptr.To(true)}}
		p.Spec.Containers = []corev1.Container{{Name: "ray"}}
		s.must(s.client.Create(s.t.Context(), p))
	}
}

// runPods does what scheduler and kubelets do for the pods that are released.
func (s *scene) runPods() {
	var list corev1.PodList
	s.must(s.client.List(s.t.Context(), &list))
	for i := range list.Items {
		if p := &list.Items[i]; len(p.Spec.SchedulingGates) == 0 && p.DeletionTimestamp == nil {
			ready(p)
			s.must(s.client.Status().Update(s.t.Context(), p))
		}
	}
}

// runningPods are the names of the released pods.
func (s *scene) runningPods() string {
	var list corev1.PodList
	s.must(s.client.List(s.t.Context(), &list))
	var names []string
	for i := range list.Items {
		if len(list.Items[i].Spec.SchedulingGates) == 0 {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (s *scene) wantPods(want string) {
	s.t.Helper()
	if got := s.runningPods(); got != want {
		s.t.Fatalf("released pods %q, want %q", got, want)
	}
}

func (s *scene) removePods(names ...string) {
	for _, name := range names {
		s.must(s.client.Delete(s.t.Context(), pod(name)))
	}
}

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
