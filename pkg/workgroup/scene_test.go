// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
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
	s.r = &Reconciler{client: c, live: c, clock: testingclock.NewFakeClock(time.Unix(100, 0)), recorder: s.events, waitForPodsReady: true, readiness: fakeReadiness{client: c}}
	return s
}

// fakeReadiness copies a window of the template, and names the replaced slice. Unless
// it has a judge, it leaves the judgement to the package.
type fakeReadiness struct {
	client client.Client
	judge  func(wl *kueue.Workload, pods []corev1.Pod, expected int32)
}

func (fakeReadiness) Annotations(podSet *kueue.PodSet, replaced *kueue.Workload) (map[string]string, error) {
	out := map[string]string{}
	if window, found := podSet.Template.Annotations["fleet.ai/window"]; found {
		out["window"] = window
	}
	if replaced != nil {
		out["replaced"] = replaced.Name
	}
	return out, nil
}

func (r fakeReadiness) Follow(ctx context.Context, wl *kueue.Workload, podSet *kueue.PodSet, pods []corev1.Pod, expected int32) (bool, error) {
	if r.judge != nil {
		r.judge(wl, pods, expected)
		return true, nil
	}
	window, found := podSet.Template.Annotations["fleet.ai/window"]
	if !found || wl.Annotations["window"] == window {
		return false, nil
	}
	before := wl.DeepCopy()
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, "window", window)
	return false, r.client.Patch(ctx, wl, client.MergeFrom(before))
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
