// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
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
	"sigs.k8s.io/kueue/pkg/util/tas"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

var (
	start   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	jobName = types.NamespacedName{Namespace: "ns", Name: "eval"}
)

// seen is an object, and when it was seen.
type seen struct {
	at      float64
	object  client.Object
	deleted bool
}

// play feeds a tracker and returns its events as text.
func play(t *testing.T, sequence []seen) (*Tracker, []string) {
	t.Helper()
	tracker := NewTracker(gpu)
	var lines []string
	for _, s := range sequence {
		at := start.Add(time.Duration(s.at * float64(time.Second)))
		for _, e := range tracker.Observe(Observation{At: at, Object: s.object, Deleted: s.deleted}) {
			if !e.At.Equal(at) || e.Job != jobName.Name {
				t.Errorf("event %+v, want one of %s at %s", e, jobName.Name, at)
			}
			line := fmt.Sprintf("%g %s: %s", s.at, e.What, e.Text)
			if e.Since != "" {
				line += fmt.Sprintf(" [%d ms after %s]", e.Latency.Milliseconds(), e.Since)
			}
			lines = append(lines, line)
		}
	}
	return tracker, lines
}

func rayJob(deployment rayv1.JobDeploymentStatus, status rayv1.JobStatus) *rayv1.RayJob {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{gpuContainer()}}}
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: jobName.Namespace, Name: jobName.Name},
		Spec: rayv1.RayJobSpec{RayClusterSpec: &rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
			GroupName: "eval", MinReplicas: ptr.To[int32](1), MaxReplicas: ptr.To[int32](6), Template: template,
		}}}},
		Status: rayv1.RayJobStatus{JobDeploymentStatus: deployment, JobStatus: status},
	}
}

func gpuContainer() corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: resource.MustParse("2")}}}
}

func rayCluster(replicas int32) *rayv1.RayCluster {
	return &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "eval-abc", UID: "cluster", Labels: map[string]string{
			utils.RayOriginatedFromCRNameLabelKey: "eval",
			utils.RayOriginatedFromCRDLabelKey:    utils.RayOriginatedFromCRDLabelValue(utils.RayJobCRD),
		}},
		Spec: rayv1.RayClusterSpec{WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{Replicas: ptr.To(replicas)}}},
	}
}

type workload struct {
	name      string
	created   int // seconds
	count     int32
	nodes     map[string]int32
	condition string // True, besides those that it implies
	message   string
}

func (w workload) build() *kueue.Workload {
	object := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: w.name, UID: types.UID(w.name),
			CreationTimestamp: metav1.NewTime(start.Add(time.Duration(w.created) * time.Second)),
			OwnerReferences:   []metav1.OwnerReference{{Kind: "RayJob", Name: "eval", Controller: ptr.To(true)}},
		},
		Spec: kueue.WorkloadSpec{
			QueueName:        "lq",
			Priority:         ptr.To[int32](5000),
			PriorityClassRef: &kueue.PriorityClassRef{Name: "q2"},
			PodSets:          []kueue.PodSet{{Name: "head", Count: 1}, {Name: "eval", Count: w.count}},
		},
	}
	set := func(condition string, status metav1.ConditionStatus) {
		object.Status.Conditions = append(object.Status.Conditions,
			metav1.Condition{Type: condition, Status: status, Reason: "Preempted", Message: w.message})
	}
	switch w.condition {
	case "":
		set(kueue.WorkloadQuotaReserved, metav1.ConditionFalse)
	case kueue.WorkloadFinished:
		set(kueue.WorkloadAdmitted, metav1.ConditionTrue)
		set(kueue.WorkloadFinished, metav1.ConditionTrue)
	default:
		set(w.condition, metav1.ConditionTrue)
	}
	if len(w.nodes) > 0 {
		assignment := &tas.TopologyAssignment{Levels: []string{"rack", "host"}}
		for _, node := range []string{"n1", "n2"} {
			if n := w.nodes[node]; n > 0 {
				assignment.Domains = append(assignment.Domains, tas.TopologyDomainAssignment{Values: []string{"r", node}, Count: n})
			}
		}
		object.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{
			{Name: "head", Count: ptr.To[int32](1)},
			{Name: "eval", Count: ptr.To(w.count), TopologyAssignment: tas.V1Beta2From(assignment)},
		}}
	}
	return object
}

// worker is a worker pod: waiting on no node, or ready on one.
func worker(name, node string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{
			utils.RayClusterLabelKey: "eval-abc", utils.RayNodeTypeLabelKey: string(rayv1.WorkerNode),
		}},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{gpuContainer()}},
	}
	if node != "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return pod
}

func TestTracker(t *testing.T) {
	admitted := kueue.WorkloadAdmitted
	begin := []seen{
		{at: 0, object: rayJob("", "")},
		{at: 0.5, object: workload{name: "w1", count: 1, message: "no room"}.build()},
		{at: 1, object: workload{name: "w1", count: 1, condition: admitted, nodes: map[string]int32{"n1": 1}}.build()},
		{at: 1.1, object: rayCluster(1)},
		{at: 1.2, object: worker("p1", "")},
		{at: 2, object: worker("p1", "n1")},
	}
	beginText := []string{
		"0 submitted: eval of 1 to 6 x 2 GPU",
		"0.5 queued: in lq at q2, priority 5000",
		"1 admitted: 1 worker on n1 [500 ms after it was queued]",
		"2 running: 1 worker on n1 [1000 ms after admission]",
	}
	cases := map[string]struct {
		sequence []seen
		want     []string
		wantSum  func(*Summary)
	}{
		"a job that starts": {
			want: nil,
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.GPUSeconds, s.Nodes = 1, 2, 2*(100-2), []string{"n1"}
			},
		},
		"growth is a new slice that takes over": {
			sequence: []seen{
				{at: 10, object: rayCluster(2)},
				{at: 10.02, object: worker("p2", "")},
				{at: 10.05, object: workload{name: "w2", created: 10, count: 2}.build()},
				{at: 10.1, object: workload{name: "w2", created: 10, count: 2, condition: admitted, nodes: map[string]int32{"n1": 1, "n2": 1}}.build()},
				{at: 10.2, object: workload{name: "w1", count: 1, condition: kueue.WorkloadFinished, nodes: map[string]int32{"n1": 1}}.build()},
				{at: 11, object: worker("p2", "n2")},
			},
			want: []string{
				"10.1 grown: 1 -> 2, the new one on n2 [100 ms after the autoscaler asked]",
				"11 running: 2 workers on n1, n2 [900 ms after admission]",
			},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.Grown, s.Nodes = 2, 4, 1, []string{"n1", "n2"}
				s.GPUSeconds = 2*(100-2) + 2*(100-11)
			},
		},
		"a slice that waits changes nothing": {
			sequence: []seen{
				{at: 10, object: rayCluster(2)},
				{at: 10.05, object: workload{name: "w2", created: 10, count: 2, message: "queue is full"}.build()},
				{at: 10.5, object: workload{name: "w2", created: 10, count: 2, message: "no room"}.build()},
			},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.GPUSeconds, s.Nodes = 1, 2, 2*(100-2), []string{"n1"}
				s.Reasons = []string{"no room", "queue is full"}
			},
		},
		"growth that is seen after its pod runs": {
			sequence: []seen{
				{at: 10, object: worker("p2", "n1")},
				{at: 10.1, object: workload{name: "w2", created: 10, count: 2, condition: admitted, nodes: map[string]int32{"n1": 2}}.build()},
			},
			want: []string{
				"10.1 grown: 1 -> 2, the new one on n1",
				"10.1 running: 2 workers on n1 [0 ms after admission]",
			},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.Grown, s.Nodes = 2, 4, 1, []string{"n1"}
				s.GPUSeconds = 2*(100-2) + 2*(100-10)
			},
		},
		"several at a time, and back in place": {
			sequence: []seen{
				{at: 9.9, object: rayCluster(4)},
				{at: 10, object: workload{name: "w2", created: 10, count: 4, condition: admitted, nodes: map[string]int32{"n1": 1, "n2": 3}}.build()},
				{at: 20, object: rayCluster(1)},
				{at: 20.25, object: workload{name: "w2", created: 10, count: 1, condition: admitted, nodes: map[string]int32{"n1": 1}}.build()},
			},
			want: []string{
				"10 grown: 1 -> 4, the new ones on n2 [100 ms after the autoscaler asked]",
				"20.25 shrunk: 4 -> 1 [250 ms after the autoscaler asked]",
			},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.Grown, s.Shrunk, s.Nodes = 4, 2, 1, 1, []string{"n1", "n2"}
				s.GPUSeconds = 2 * (100 - 2)
			},
		},
		"eviction and a second admission": {
			sequence: []seen{
				{at: 10, object: workload{name: "w1", count: 1, condition: kueue.WorkloadEvicted, message: "for a gang"}.build()},
				{at: 10.1, object: rayCluster(1), deleted: true},
				{at: 11, object: worker("p1", "n1"), deleted: true},
				{at: 12, object: workload{name: "w1", count: 1, condition: admitted, nodes: map[string]int32{"n2": 1}}.build()},
				{at: 13, object: worker("p2", "n2")},
				{at: 13.5, object: rayCluster(1)},
			},
			want: []string{
				"10 evicted: Preempted: for a gang",
				"12 admitted: 1 worker on n2",
				"13 running: 1 worker on n2 [1000 ms after admission]",
			},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.Evicted, s.Nodes = 1, 2, 1, []string{"n1", "n2"}
				s.GPUSeconds = 2*(11-2) + 2*(100-13)
			},
		},
		"a job that ends holds its GPUs until its pods are gone": {
			sequence: []seen{
				{at: 20, object: rayJob(rayv1.JobDeploymentStatusComplete, rayv1.JobStatusSucceeded)},
				{at: 20.1, object: workload{name: "w1", count: 1, condition: kueue.WorkloadFinished}.build()},
				{at: 20.2, object: rayCluster(1), deleted: true},
				{at: 22, object: worker("p1", "n1"), deleted: true},
			},
			want: []string{
				"20 finished: SUCCEEDED [20000 ms after it was submitted]",
				"22 released: all pods are gone [2000 ms after the end]",
			},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.GPUSeconds, s.Nodes = 1, 2, 2*(22-2), []string{"n1"}
				s.Finished, s.Succeeded, s.Released = start.Add(20*time.Second), true, true
			},
		},
		"a job that fails": {
			sequence: []seen{
				{at: 20, object: func() *rayv1.RayJob {
					job := rayJob(rayv1.JobDeploymentStatusFailed, rayv1.JobStatusFailed)
					job.Status.Reason, job.Status.Message = rayv1.AppFailed, "the driver gave up"
					return job
				}()},
			},
			want: []string{"20 failed: AppFailed: the driver gave up"},
			wantSum: func(s *Summary) {
				s.PeakWorkers, s.PeakGPUs, s.GPUSeconds, s.Nodes = 1, 2, 2*(100-2), []string{"n1"}
				s.Finished = start.Add(20 * time.Second)
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tracker, got := play(t, append(append([]seen{}, begin...), tc.sequence...))
			if diff := cmp.Diff(append(append([]string{}, beginText...), tc.want...), got); diff != "" {
				t.Errorf("events (-want,+got):\n%s", diff)
			}
			want := Summary{
				Job: "eval", Priority: "q2",
				Submitted: start, Queued: start.Add(500 * time.Millisecond), Admitted: start.Add(time.Second), Running: start.Add(2 * time.Second),
				Reasons: []string{"no room"},
			}
			tc.wantSum(&want)
			sum, ok := tracker.Summary(jobName, start.Add(100*time.Second))
			if !ok {
				t.Fatal("the job is unknown")
			}
			if diff := cmp.Diff(want, sum); diff != "" {
				t.Errorf("summary (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestAPodThatIsSeenBeforeItsClusterKeepsItsTime(t *testing.T) {
	tracker, _ := play(t, []seen{
		{at: 1, object: worker("p1", "n1")},
		{at: 3, object: rayCluster(1)},
	})
	sum, ok := tracker.Summary(jobName, start.Add(11*time.Second))
	if !ok || sum.GPUSeconds != 20 {
		t.Errorf("got %+v, want 2 GPUs for 10 s", sum)
	}
}

func TestTrackerIgnoresWhatBelongsToNoJob(t *testing.T) {
	stranger := workload{name: "w", count: 1}.build()
	stranger.OwnerReferences = nil
	own := rayCluster(1)
	own.Labels = nil
	tracker, events := play(t, []seen{
		{at: 1, object: stranger},
		{at: 1, object: own},
		{at: 1, object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}},
		{at: 1, object: &corev1.Node{}},
	})
	if len(events) != 0 {
		t.Errorf("got %v", events)
	}
	if _, ok := tracker.Summary(jobName, start); ok {
		t.Error("a job came into being")
	}
}
