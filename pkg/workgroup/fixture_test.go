// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

const testBase = "rayjob-rl-rollout-0"

// makeJob is a decoupled training job as its user sends it: a trainer of fixed size
// and rollouts that come and go.
func makeJob() *rayv1.RayJob {
	template := func(class string, annotations ...string) corev1.PodTemplateSpec {
		t := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ray"}}}}
		t.Annotations = map[string]string{PriorityClassAnnotation: class}
		for _, key := range annotations {
			t.Annotations[key] = "true"
		}
		return t
	}
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: "rl", Namespace: "team",
			Labels:      map[string]string{"kueue.x-k8s.io/queue-name": "lq"},
			Annotations: map[string]string{ScopeAnnotation: ScopeWorkerGroup},
		},
		Spec: rayv1.RayJobSpec{
			SubmissionMode: rayv1.HTTPMode, ShutdownAfterJobFinishes: true,
			RayClusterSpec: &rayv1.RayClusterSpec{
				EnableInTreeAutoscaling: ptr.To(true),
				HeadGroupSpec:           rayv1.HeadGroupSpec{Template: template("q0")},
				WorkerGroupSpecs: []rayv1.WorkerGroupSpec{
					{GroupName: "trainer", Replicas: ptr.To[int32](1), MinReplicas: ptr.To[int32](1), MaxReplicas: ptr.To[int32](1), NumOfHosts: 1, Template: template("q1")},
					{GroupName: "rollout", Replicas: ptr.To[int32](0), MinReplicas: ptr.To[int32](0), MaxReplicas: ptr.To[int32](4), NumOfHosts: 1, Template: template("q2", kueue.PodSetUnconstrainedTopologyAnnotation)},
				},
			},
		},
	}
}

// managedJob is makeJob when it has passed the webhooks.
func managedJob() *rayv1.RayJob {
	job := makeJob()
	Default(job)
	job.UID = "job-uid"
	return job
}

func classes(name string) (bool, error) { return name == "q0" || name == "q1" || name == "q2", nil }

// slice builds the n-th Workload of the group "rollout".
func slice(n, count int, mods ...func(*kueue.Workload)) *kueue.Workload {
	name := testBase
	if n > 1 {
		name = fmt.Sprintf("%s-%d", testBase, n)
	}
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", Finalizers: []string{kueue.ResourceInUseFinalizerName},
			Annotations: map[string]string{workloadslicing.EnabledAnnotationKey: "true", kueue.WorkloadSliceNameAnnotation: testBase},
		},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "rollout", Count: int32(count)}}},
	}
	for _, mod := range mods {
		mod(wl)
	}
	return wl
}

func setCondition(kind string, status metav1.ConditionStatus, reason, message string) func(*kueue.Workload) {
	return func(wl *kueue.Workload) {
		wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

// reserved holds quota for as many pods as the Workload counts.
func reserved(wl *kueue.Workload) {
	setCondition(kueue.WorkloadQuotaReserved, metav1.ConditionTrue, "QuotaReserved", "")(wl)
	wl.Status.Admission = &kueue.Admission{ClusterQueue: "cq", PodSetAssignments: []kueue.PodSetAssignment{{
		Name: "rollout", Count: ptr.To(wl.Spec.PodSets[0].Count),
	}}}
}

func admitted(wl *kueue.Workload) {
	reserved(wl)
	setCondition(kueue.WorkloadAdmitted, metav1.ConditionTrue, "Admitted", "")(wl)
}

func evicted(wl *kueue.Workload) {
	setCondition(kueue.WorkloadEvicted, metav1.ConditionTrue, kueue.WorkloadEvictedByPreemption, "a higher one came")(wl)
}

func finished(wl *kueue.Workload) {
	setCondition(kueue.WorkloadFinished, metav1.ConditionTrue, kueue.WorkloadSliceReplaced, "")(wl)
}

func deleting(wl *kueue.Workload) { wl.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func inactive(wl *kueue.Workload) { wl.Spec.Active = ptr.To(false) }

// replacing makes the Workload a slice that takes over from the n-th one.
func replacing(n int) func(*kueue.Workload) {
	return func(wl *kueue.Workload) {
		wl.Annotations[workloadslicing.WorkloadSliceReplacementFor] = "team/" + slice(n, 0).Name
	}
}

// placed assigns that many pods to one node.
func placed(n int) func(*kueue.Workload) {
	return func(wl *kueue.Workload) {
		wl.Status.Admission.PodSetAssignments[0].TopologyAssignment = &kueue.TopologyAssignment{
			Levels: []string{corev1.LabelHostname},
			Slices: []kueue.TopologyAssignmentSlice{{
				DomainCount:    1,
				ValuesPerLevel: []kueue.TopologyAssignmentSliceLevelValues{{Universal: ptr.To("n1")}},
				PodCounts:      kueue.TopologyAssignmentSlicePodCounts{Universal: ptr.To(int32(n))},
			}},
		}
	}
}

func pod(name string, mods ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team"}}
	for _, mod := range mods {
		mod(p)
	}
	return p
}

func gated(p *corev1.Pod) {
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: SchedulingGate}, {Name: kueue.TopologySchedulingGate}}
}

func ready(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func stopping(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func failed(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
