// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

var name = types.NamespacedName{Namespace: "ns", Name: "eval-abc"}

// world is a cluster of objects with a runtime on it.
type world struct {
	t      *testing.T
	ctx    context.Context
	client client.Client
	clock  *clocktesting.FakeClock
	ledger *simray.Ledger
	rt     *Runtime
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rayv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{
		t: t, ctx: context.Background(), ledger: simray.NewLedger(),
		client: fake.NewClientBuilder().WithScheme(scheme).Build(),
		clock:  clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	w.rt = New(w.client, w.ledger, w.clock, logr.Discard())
	w.create(&rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Spec: rayv1.RayClusterSpec{
			EnableInTreeAutoscaling: ptr.To(true),
			AutoscalerOptions:       &rayv1.AutoscalerOptions{IdleTimeoutSeconds: ptr.To[int32](2)},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
				GroupName: "eval", Replicas: ptr.To[int32](1), MinReplicas: ptr.To[int32](1), MaxReplicas: ptr.To[int32](3),
			}},
		},
	})
	return w
}

func (w *world) create(object client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.ctx, object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pod(podName string, nodeType rayv1.RayNodeType, ready bool) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: podName, UID: types.UID(podName), Labels: map[string]string{
			utils.RayClusterLabelKey: name.Name, utils.RayNodeTypeLabelKey: string(nodeType), utils.RayNodeGroupLabelKey: "eval",
		}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if ready {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	w.create(pod)
	return pod
}

func (w *world) delete(pod *corev1.Pod) {
	w.t.Helper()
	if err := w.client.Delete(w.ctx, pod); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pass(d time.Duration) {
	w.clock.Step(d)
	w.rt.tick(w.ctx)
}

func (w *world) group() (replicas int32, remove []string) {
	w.t.Helper()
	var cluster rayv1.RayCluster
	if err := w.client.Get(w.ctx, name, &cluster); err != nil {
		w.t.Fatal(err)
	}
	spec := cluster.Spec.WorkerGroupSpecs[0]
	return *spec.Replicas, spec.ScaleStrategy.WorkersToDelete
}

func (w *world) wantGroup(when string, replicas int32, remove ...string) {
	w.t.Helper()
	gotReplicas, gotRemove := w.group()
	if diff := cmp.Diff(fmt.Sprint(replicas, remove), fmt.Sprint(gotReplicas, gotRemove)); diff != "" {
		w.t.Errorf("%s: replicas and removals (-want,+got):\n%s", when, diff)
	}
}

func rayJob(work string) *rayv1.RayJob {
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{UID: "job-uid", Annotations: map[string]string{simray.WorkAnnotation: work}},
		Spec:       rayv1.RayJobSpec{Entrypoint: "python evaluate.py"},
		Status:     rayv1.RayJobStatus{JobId: "j1"},
	}
}

func TestDashboardLeadsAJobToItsEnd(t *testing.T) {
	w := newWorld(t)
	dashboard, err := NewProvider(w.rt).GetDashboardClient(w.ctx, nil)(&rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = dashboard.GetJobInfo(w.ctx, "j1"); !errors.Is(err, ErrUnreachable) || apierrors.IsBadRequest(err) {
		t.Errorf("without a head pod the dashboard said %v, want unreachable", err)
	}
	w.pod("head", rayv1.HeadNode, true)
	w.pod("w1", rayv1.WorkerNode, true)
	if _, err = dashboard.GetJobInfo(w.ctx, "j1"); !apierrors.IsBadRequest(err) {
		t.Errorf("for an unknown job the dashboard said %v, want a bad request, which makes KubeRay submit", err)
	}
	id, err := dashboard.SubmitJob(w.ctx, rayJob("- {items: 1, duration: 1s}"))
	if err != nil || id != "j1" {
		t.Fatalf("submit gave %q, %v", id, err)
	}
	if _, err = dashboard.SubmitJob(w.ctx, rayJob("- {items: 1, duration: 1s}")); err == nil {
		t.Error("a job was submitted twice")
	}
	begin := w.clock.Now()
	w.pass(0)
	info, err := dashboard.GetJobInfo(w.ctx, "j1")
	if err != nil || info.JobStatus != rayv1.JobStatusRunning || info.EndTime != 0 {
		t.Errorf("got %+v, %v, want a running job", info, err)
	}
	w.pass(time.Second)
	info, err = dashboard.GetJobInfo(w.ctx, "j1")
	if err != nil || info.JobStatus != rayv1.JobStatusSucceeded {
		t.Fatalf("got %+v, %v, want a job that succeeded", info, err)
	}
	if info.StartTime != uint64(begin.UnixMilli()) || info.EndTime != uint64(begin.Add(time.Second).UnixMilli()) {
		t.Errorf("it ran from %d to %d, want 1 s from %d", info.StartTime, info.EndTime, begin.UnixMilli())
	}
	list, err := dashboard.ListJobs(w.ctx)
	if err != nil || len(*list) != 1 {
		t.Errorf("the list is %v, %v, want one job", list, err)
	}
	if err = dashboard.StopJob(w.ctx, "j1"); err != nil {
		t.Fatal(err)
	}
	if info, err = dashboard.GetJobInfo(w.ctx, "j1"); err != nil || info.JobStatus != rayv1.JobStatusSucceeded {
		t.Errorf("stopping a finished job made it %+v, %v", info, err)
	}
}

func TestAStoppedJobDoesNoMoreWork(t *testing.T) {
	w := newWorld(t)
	w.pod("head", rayv1.HeadNode, true)
	w.pod("w1", rayv1.WorkerNode, true)
	if err := w.rt.Submit(w.ctx, name, rayJob("- {items: 1, duration: 1s}")); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	w.rt.Stop(name, "j1")
	w.pass(time.Minute)
	job, err := w.rt.Job(w.ctx, name, "j1")
	if err != nil || job.Status != rayv1.JobStatusStopped || w.ledger.Count("job-uid") != 0 {
		t.Errorf("got %+v, %v with %d items", job, err, w.ledger.Count("job-uid"))
	}
}

func TestWorkThatCannotBeReadFailsTheJob(t *testing.T) {
	w := newWorld(t)
	w.pod("head", rayv1.HeadNode, true)
	if err := w.rt.Submit(w.ctx, name, rayJob("- {items: 0, duration: 1s}")); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	job, err := w.rt.Job(w.ctx, name, "j1")
	if err != nil || job.Status != rayv1.JobStatusFailed || !strings.Contains(job.Message, "[0].items is 0") {
		t.Errorf("got %+v, %v", job, err)
	}
}

func TestAJobIsLostWithItsHeadAndItsWorkIsNot(t *testing.T) {
	w := newWorld(t)
	head := w.pod("head", rayv1.HeadNode, true)
	w.pod("w1", rayv1.WorkerNode, true)
	const twoItems = "- {items: 2, duration: 1s}"
	if err := w.rt.Submit(w.ctx, name, rayJob(twoItems)); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	w.pass(time.Second) // One item is done, the other half done.
	w.pass(500 * time.Millisecond)
	w.delete(head)
	w.pass(0)
	w.pod("head-2", rayv1.HeadNode, true)
	if _, err := w.rt.Job(w.ctx, name, "j1"); !errors.Is(err, ErrUnknownJob) {
		t.Fatalf("the new head said %v, want that it knows no job", err)
	}
	if err := w.rt.Submit(w.ctx, name, rayJob(twoItems)); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	if got := w.ledger.Count("job-uid"); got != 1 {
		t.Errorf("%d items are done, want 1", got)
	}
	w.pass(time.Second)
	if job, err := w.rt.Job(w.ctx, name, "j1"); err != nil || job.Status != rayv1.JobStatusSucceeded || w.ledger.Count("job-uid") != 2 {
		t.Errorf("got %+v, %v with %d items", job, err, w.ledger.Count("job-uid"))
	}
}

func TestAHeadThatIsNotReadyStopsTheDriver(t *testing.T) {
	w := newWorld(t)
	head := w.pod("head", rayv1.HeadNode, true)
	w.pod("w1", rayv1.WorkerNode, true)
	if err := w.rt.Submit(w.ctx, name, rayJob("- {items: 1, duration: 1s}")); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	head.Status.Conditions[0].Status = corev1.ConditionFalse
	if err := w.client.Status().Update(w.ctx, head); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	if got := w.ledger.Count("job-uid"); got != 0 {
		t.Errorf("%d items are done without a head", got)
	}
	if _, err := w.rt.Job(w.ctx, name, "j1"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want unreachable", err)
	}
}

func TestTheAutoscalerGrowsStepByStepAndShrinks(t *testing.T) {
	w := newWorld(t)
	const step = scalePeriod / 10
	w.rt.SetTimeScale(10)
	w.pod("head", rayv1.HeadNode, true)
	w1 := w.pod("w1", rayv1.WorkerNode, true)
	if err := w.rt.Submit(w.ctx, name, rayJob("- {items: 4, duration: 100s}\n- {items: 1, duration: 300s}")); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	w.wantGroup("at first", 2)
	waiting := w.pod("w2", rayv1.WorkerNode, false)
	w.pass(step)
	w.wantGroup("while the second worker is not ready", 2)
	w.delete(waiting)
	w2 := w.pod("w2", rayv1.WorkerNode, true)
	w.pass(step / 2)
	w.wantGroup("between two decisions", 2)
	w.pass(step / 2)
	w.wantGroup("when the second worker is ready", 3)
	w.pod("w3", rayv1.WorkerNode, true)
	w.pass(step)
	w.wantGroup("at the maximum", 3)

	// At 11.5 s the first three items are over. w3 was the last to finish, so
	// it gets the fourth and, at 21.5 s, the one of the second phase.
	w.pass(10 * time.Second)
	w.pass(10 * time.Second)
	w.wantGroup("with work for one worker, after the idle timeout", 1, "w1", "w2")
	w.pass(step)
	w.wantGroup("while the removed workers are still there", 1, "w1", "w2")
	w.delete(w1)
	w.delete(w2)
	w.pass(step)
	w.wantGroup("when the removed workers are gone", 1)
}

func TestGroupsHaveWorkOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	var cluster rayv1.RayCluster
	if err := w.client.Get(w.ctx, name, &cluster); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"rollout", "spare"} {
		cluster.Spec.WorkerGroupSpecs = append(cluster.Spec.WorkerGroupSpecs, rayv1.WorkerGroupSpec{
			GroupName: other, Replicas: ptr.To[int32](0), MinReplicas: ptr.To[int32](0), MaxReplicas: ptr.To[int32](5),
		})
	}
	if err := w.client.Update(w.ctx, &cluster); err != nil {
		t.Fatal(err)
	}
	w.pod("head", rayv1.HeadNode, true)
	w.pod("w1", rayv1.WorkerNode, true)
	work := "- {name: step, group: eval, items: 1, duration: 100s}\n- {name: roll, group: rollout, items: 2, duration: 10s}"
	if err := w.rt.Submit(w.ctx, name, rayJob(work)); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	w.wantGroup("a group with one item for its one worker", 1)
	if err := w.client.Get(w.ctx, name, &cluster); err != nil {
		t.Fatal(err)
	}
	if got := []int32{*cluster.Spec.WorkerGroupSpecs[1].Replicas, *cluster.Spec.WorkerGroupSpecs[2].Replicas}; got[0] != 1 || got[1] != 0 {
		t.Errorf("the group with two items and the one without work were set to %v, want [1 0]", got)
	}
	worker := w.pod("r1", rayv1.WorkerNode, false)
	worker.Labels[utils.RayNodeGroupLabelKey] = "rollout"
	if err := w.client.Update(w.ctx, worker); err != nil {
		t.Fatal(err)
	}
	w.pass(50 * time.Second)
	if got := w.ledger.Count("job-uid"); got != 0 {
		t.Errorf("%d items are done, want none: the worker of the other group does no rollouts", got)
	}
	worker.Status.Phase, worker.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := w.client.Status().Update(w.ctx, worker); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.pass(0)
		w.pass(10 * time.Second)
	}
	if job, err := w.rt.Job(w.ctx, name, "j1"); err != nil || job.Status != rayv1.JobStatusRunning || w.ledger.Count("job-uid") != 2 {
		t.Errorf("got %+v, %v with %d items, want it to run with two: the step isn't over", job, err, w.ledger.Count("job-uid"))
	}
	w.pass(40 * time.Second)
	if job, err := w.rt.Job(w.ctx, name, "j1"); err != nil || job.Status != rayv1.JobStatusSucceeded || w.ledger.Count("job-uid") != 3 {
		t.Errorf("got %+v, %v with %d items, want an end with three", job, err, w.ledger.Count("job-uid"))
	}
}

func TestAWorkerThatCeasesToBeReadyIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.pod("head", rayv1.HeadNode, true)
	w1 := w.pod("w1", rayv1.WorkerNode, true)
	job := rayJob("")
	job.Namespace, job.Name = name.Namespace, "eval"
	w.rt.SetWork(types.NamespacedName{Namespace: name.Namespace, Name: "eval"}, simray.Work{
		RemoveUnready: 10 * time.Second, Phases: []simray.Phase{{Name: "p", Items: 1, Duration: time.Hour}},
	})
	if err := w.rt.Submit(w.ctx, name, job); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	w1.Status.Conditions[0].Status = corev1.ConditionFalse
	if err := w.client.Status().Update(w.ctx, w1); err != nil {
		t.Fatal(err)
	}
	w.pass(scalePeriod) // It is seen to be unready.
	w.pass(scalePeriod)
	w.wantGroup("after half of the time", 1)
	w.pass(scalePeriod)
	w.wantGroup("after all of it", 0, "w1")
}

func TestAWorkerThatWasReadyBetweenTwoDecisionsIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.pod("head", rayv1.HeadNode, true)
	job := rayJob("")
	job.Namespace, job.Name = name.Namespace, "eval"
	w.rt.SetWork(types.NamespacedName{Namespace: name.Namespace, Name: "eval"}, simray.Work{
		RemoveUnready: 10 * time.Second, Phases: []simray.Phase{{Name: "p", Items: 1, Duration: time.Hour}},
	})
	if err := w.rt.Submit(w.ctx, name, job); err != nil {
		t.Fatal(err)
	}
	w.pass(0)
	w1 := w.pod("w1", rayv1.WorkerNode, true)
	w.pass(tickPeriod)
	w1.Status.Conditions[0].Status = corev1.ConditionFalse
	if err := w.client.Status().Update(w.ctx, w1); err != nil {
		t.Fatal(err)
	}
	w.pass(tickPeriod)
	w.pass(scalePeriod)
	w.wantGroup("after half of the time", 1)
	w.pass(scalePeriod)
	w.wantGroup("after all of it", 0, "w1")
}

func TestResizeNamesTheYoungest(t *testing.T) {
	w := newWorld(t)
	var cluster rayv1.RayCluster
	if err := w.client.Get(w.ctx, name, &cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Labels = map[string]string{utils.RayOriginatedFromCRNameLabelKey: "eval"}
	cluster.Spec.WorkerGroupSpecs[0].Replicas = ptr.To[int32](3)
	if err := w.client.Update(w.ctx, &cluster); err != nil {
		t.Fatal(err)
	}
	for i, worker := range []string{"w2", "w1", "w3"} {
		pod := w.pod(worker, rayv1.WorkerNode, true)
		pod.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(time.Duration(i) * time.Minute))
		if err := w.client.Update(w.ctx, pod); err != nil {
			t.Fatal(err)
		}
	}
	job := types.NamespacedName{Namespace: name.Namespace, Name: "eval"}
	if err := w.rt.Resize(w.ctx, job, "", 1); err != nil {
		t.Fatal(err)
	}
	w.wantGroup("after a resize to 1", 1, "w1", "w3")
	if err := w.rt.Resize(w.ctx, job, "other", 1); err == nil || !strings.Contains(err.Error(), `no Ray cluster with a group "other"`) {
		t.Errorf("an unknown group gave %v", err)
	}
}

func TestADecisionOnAnOldCopyIsDropped(t *testing.T) {
	w := newWorld(t)
	var old rayv1.RayCluster
	if err := w.client.Get(w.ctx, name, &old); err != nil {
		t.Fatal(err)
	}
	if err := w.rt.patchGroup(w.ctx, &old, 0, 2, nil); err != nil {
		t.Fatal(err)
	}
	// The fake client reports a failed test otherwise than an API server, so
	// only its effect counts here.
	_ = w.rt.patchGroup(w.ctx, &old, 0, 3, nil)
	w.wantGroup("after a second decision on the first copy", 2)
}
