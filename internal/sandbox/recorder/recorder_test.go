// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world feeds a recorder.
type world struct {
	*Recorder
	ledger *simray.Ledger
}

func newWorld() *world {
	ledger := simray.NewLedger()
	r := New(recording.Recording{Started: start}, map[string]Job{"eval": {Class: "evals", Items: 3}}, ledger, fleet.GPUResource, func(timeline.Event) {})
	return &world{r, ledger}
}

func (w *world) see(at float64, object client.Object) {
	w.Observe(timeline.Observation{At: moment(at), Object: object})
}

func (w *world) lose(at float64, object client.Object) {
	w.Observe(timeline.Observation{At: moment(at), Object: object, Deleted: true})
}

func moment(at float64) time.Time { return start.Add(time.Duration(at * float64(time.Second))) }

func gpuSpec(n string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{fleet.GPUResource: resource.MustParse(n)}},
	}}}
}

func workload(change func(*kueue.Workload)) *kueue.Workload {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: "wl", Namespace: "ns", UID: "wl", OwnerReferences: []metav1.OwnerReference{{Kind: "RayJob", Name: "eval", Controller: ptr.To(true)}}},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{
			{Name: "head", Count: 1}, {Name: "w", Count: 2, Template: corev1.PodTemplateSpec{Spec: gpuSpec("4")}},
		}},
	}
	if change != nil {
		change(wl)
	}
	return wl
}

func set(wl *kueue.Workload, name string, status metav1.ConditionStatus, reason string) {
	wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: name, Status: status, Reason: reason, Message: "because " + reason})
}

func TestSpans(t *testing.T) {
	admit := func(wl *kueue.Workload) {
		wl.Status.Admission = &kueue.Admission{}
		set(wl, kueue.WorkloadQuotaReserved, metav1.ConditionTrue, "QuotaReserved")
		set(wl, kueue.WorkloadAdmitted, metav1.ConditionTrue, "Admitted")
	}
	cases := map[string]struct {
		change     func(*kueue.Workload)
		wantState  recording.State
		wantReason string
		wantGPUs   int
	}{
		"fresh":    {wantState: recording.Pending, wantGPUs: 8},
		"waiting":  {change: func(wl *kueue.Workload) { set(wl, kueue.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending") }, wantState: recording.Pending, wantReason: "Pending", wantGPUs: 8},
		"admitted": {change: admit, wantState: recording.Admitted, wantReason: "Admitted", wantGPUs: 8},
		"evicted and still stopping": {change: func(wl *kueue.Workload) {
			admit(wl)
			set(wl, kueue.WorkloadEvicted, metav1.ConditionTrue, "Preempted")
		}, wantState: recording.Draining, wantReason: "Preempted", wantGPUs: 8},
		"backing off": {change: func(wl *kueue.Workload) {
			set(wl, kueue.WorkloadEvicted, metav1.ConditionTrue, "PodsReadyTimeout")
			set(wl, kueue.WorkloadRequeued, metav1.ConditionFalse, "PodsReadyTimeout")
		}, wantState: recording.BackingOff, wantReason: "PodsReadyTimeout", wantGPUs: 8},
		"switched off": {change: func(wl *kueue.Workload) { wl.Spec.Active = ptr.To(false) }, wantState: recording.Inactive, wantGPUs: 8},
		"over": {change: func(wl *kueue.Workload) {
			admit(wl)
			set(wl, kueue.WorkloadFinished, metav1.ConditionTrue, "Succeeded")
		}, wantState: recording.Done, wantReason: "Succeeded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.see(1, workload(tc.change))
			w.see(2, workload(tc.change))
			rec := w.Snapshot()
			if len(rec.Workloads) != 1 || len(rec.Workloads[0].Spans) != 1 || rec.Workloads[0].Job != "eval" {
				t.Fatalf("got %+v, want one span of one workload of eval", rec.Workloads)
			}
			span := rec.Workloads[0].Spans[0]
			if span.State != tc.wantState || span.Reason != tc.wantReason || span.GPUs != tc.wantGPUs || span.From != 1 || span.To != nil || span.Counts["w"] != 2 {
				t.Errorf("got %+v", span)
			}
		})
	}
}

func TestASpanEndsWhenTheNextBegins(t *testing.T) {
	w := newWorld()
	w.see(1, workload(nil))
	w.see(3, workload(func(wl *kueue.Workload) { wl.Spec.PodSets[1].Count = 3 }))
	w.lose(5, workload(func(wl *kueue.Workload) { wl.Spec.PodSets[1].Count = 3 }))
	counts := func(n int) map[string]int { return map[string]int{"head": 1, "w": n} }
	want := []recording.Span{
		{From: 1, To: ptr.To(3.0), State: recording.Pending, Counts: counts(2), GPUs: 8},
		{From: 3, To: ptr.To(5.0), State: recording.Pending, Counts: counts(3), GPUs: 12},
		{From: 5, State: recording.Done, Reason: "Deleted"},
	}
	if diff := cmp.Diff(want, w.Snapshot().Workloads[0].Spans); diff != "" {
		t.Errorf("spans (-want,+got):\n%s", diff)
	}
}

func TestTheLifeOfAPod(t *testing.T) {
	w := newWorld()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "p", Labels: map[string]string{
			utils.RayClusterLabelKey: "eval-x", utils.RayNodeTypeLabelKey: string(rayv1.WorkerNode), utils.RayNodeGroupLabelKey: "w",
		}},
		Spec: gpuSpec("4"),
	}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
	w.see(1, pod.DeepCopy())
	// The cluster is seen after its pod.
	w.see(2, &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "eval-x", Namespace: "ns", UID: "c", Labels: map[string]string{
		utils.RayOriginatedFromCRDLabelKey: utils.RayOriginatedFromCRDLabelValue(utils.RayJobCRD), utils.RayOriginatedFromCRNameLabelKey: "eval",
	}}})
	pod.Spec.SchedulingGates = nil
	w.see(3, pod.DeepCopy())
	pod.Spec.NodeName = "gpu-01"
	w.see(4, pod.DeepCopy())
	ready := func(at float64, status corev1.ConditionStatus) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
		w.see(at, pod.DeepCopy())
	}
	ready(5, corev1.ConditionTrue)
	ready(6, corev1.ConditionFalse)
	ready(7, corev1.ConditionFalse)
	ready(8, corev1.ConditionTrue)
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(start))
	w.see(9, pod.DeepCopy())
	ready(10, corev1.ConditionFalse)
	w.lose(11, pod)
	want := []recording.Pod{{
		Name: "p", UID: "p", Namespace: "ns", Job: "eval", Group: "w", GPUs: 4, Node: "gpu-01",
		Created: 1, Released: ptr.To(3.0), Bound: ptr.To(4.0), Ready: ptr.To(5.0), Stopping: ptr.To(9.0), Gone: ptr.To(11.0),
		Unready: []recording.Interval{{From: 6, To: ptr.To(8.0)}},
	}}
	if diff := cmp.Diff(want, w.Snapshot().Pods); diff != "" {
		t.Errorf("pods (-want,+got):\n%s", diff)
	}
}

func TestNodesComeAndGo(t *testing.T) {
	w := newWorld()
	node := func(status corev1.ConditionStatus, change func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "gpu-01", Labels: map[string]string{fleet.RackLabel: "r", fleet.BlockLabel: "b"}},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{fleet.GPUResource: resource.MustParse("8")},
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}},
			},
		}
		if change != nil {
			change(n)
		}
		return n
	}
	w.see(0, node(corev1.ConditionTrue, nil))
	w.see(1, node(corev1.ConditionTrue, func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	w.see(2, node(corev1.ConditionTrue, nil))
	w.see(3, node(corev1.ConditionUnknown, func(n *corev1.Node) { n.Labels[fleet.LostLabel] = "true" }))
	w.see(4, node(corev1.ConditionFalse, nil))
	want := []recording.Node{{Name: "gpu-01", Rack: "r", Block: "b", GPUs: 8, Away: []recording.Away{
		{From: 1, To: ptr.To(2.0), Why: "cordoned"}, {From: 3, To: ptr.To(4.0), Why: "lost"}, {From: 4, Why: "unready"},
	}}}
	if diff := cmp.Diff(want, w.Snapshot().Nodes); diff != "" {
		t.Errorf("nodes (-want,+got):\n%s", diff)
	}
}

func TestJobsAndTheirWork(t *testing.T) {
	w := newWorld()
	job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "eval", Namespace: "ns", UID: types.UID("j"), Labels: map[string]string{queueLabel: "q", priorityLabel: "q2"}}}
	job.Spec.RayClusterSpec = &rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{Template: corev1.PodTemplateSpec{Spec: gpuSpec("2")}}}}
	w.see(1, job.DeepCopy())
	w.Tick(moment(2))
	w.ledger.Start(simray.Key{Job: "j", Repetition: 1})
	w.ledger.Lose("j", 3*time.Second)
	w.ledger.Start(simray.Key{Job: "j", Repetition: 1})
	w.ledger.Commit(simray.Key{Job: "j", Repetition: 1})
	w.Tick(moment(3))
	w.Tick(moment(4))
	job.Status.JobDeploymentStatus, job.Status.JobStatus = rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded
	w.see(5, job.DeepCopy())
	w.see(6, job.DeepCopy())
	want := []recording.Job{{
		Name: "eval", Namespace: "ns", Kind: "RayJob", Queue: "q", Priority: "q2", Class: "evals", Submitted: 1, Finished: ptr.To(5.0), Result: "Succeeded",
		ItemsTotal: 3, ItemsDone: 1, ItemsRedone: 1, RedoneGPUSeconds: 6, Progress: []recording.Progress{{At: 3, Done: 1}},
	}}
	if diff := cmp.Diff(want, w.Snapshot().Jobs); diff != "" {
		t.Errorf("jobs (-want,+got):\n%s", diff)
	}
}

func TestAJobThatIsNotOfTheScenarioDescribesItself(t *testing.T) {
	cases := map[string]struct {
		annotations map[string]string
		wantClass   string
		wantItems   int
	}{
		"it says nothing": {},
		"class and work": {
			annotations: map[string]string{ClassAnnotation: "training", simray.WorkAnnotation: "- {items: 2, duration: 1s}\n- {items: 5, duration: 1s}"},
			wantClass:   "training", wantItems: 7,
		},
		"work that can't be read": {annotations: map[string]string{ClassAnnotation: "training", simray.WorkAnnotation: "much"}, wantClass: "training"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.see(1, &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "o", Annotations: tc.annotations}})
			job := w.Snapshot().Jobs[0]
			if job.Class != tc.wantClass || job.ItemsTotal != tc.wantItems {
				t.Errorf("class %q with %d items, want %q with %d", job.Class, job.ItemsTotal, tc.wantClass, tc.wantItems)
			}
		})
	}
}

func TestThePlanCountsForAJobOfTheScenario(t *testing.T) {
	w := newWorld()
	w.see(1, &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: "eval", UID: "e", Annotations: map[string]string{
		ClassAnnotation: "training", simray.WorkAnnotation: "- {items: 99, duration: 1s}",
	}}})
	if job := w.Snapshot().Jobs[0]; job.Class != "evals" || job.ItemsTotal != 3 {
		t.Errorf("class %q with %d items, want those of the plan", job.Class, job.ItemsTotal)
	}
}

func TestChangesAreTold(t *testing.T) {
	w := newWorld()
	changed := w.Changed()
	select {
	case <-changed:
		t.Fatal("told before anything changed")
	default:
	}
	w.Note(moment(1), "go", "", "off we go")
	select {
	case <-changed:
	default:
		t.Fatal("not told")
	}
	if events := w.Snapshot().Events; len(events) != 1 || events[0].Name != "go" || events[0].At != 1 {
		t.Errorf("events are %+v", events)
	}
}
