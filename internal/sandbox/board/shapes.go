// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recorder"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/web"
)

// Labels and annotations of a job that the queue reads.
const (
	queueLabel        = "kueue.x-k8s.io/queue-name"
	priorityLabel     = "kueue.x-k8s.io/priority-class"
	elasticAnnotation = "kueue.x-k8s.io/elastic-job"
)

// shape is a button.
type shape struct {
	web.Action
	// jobs is how many are submitted at once.
	jobs int
	// priority is a WorkloadPriorityClass, podPriority a PriorityClass.
	priority, podPriority string
	pods, podGPUs         int
	// maxPods makes the job elastic, between pods and maxPods.
	maxPods int
	// topology is the annotation of the worker pods and its value.
	topology, level string
	// class groups its jobs with others in reports.
	class string
	// work is what the simulated driver does, in time of the story.
	work string
}

// shapeList are the buttons, in their order on the page.
var shapeList = []shape{
	{
		Action: web.Action{Name: "fixed-gang", Title: "Fixed gang", Description: "q1 · 2 pods × 2 GPUs on one node, all or nothing"},
		jobs:   1, class: "training", priority: "q1", podPriority: "c1", pods: 2, podGPUs: 2,
		topology: kueue.PodSetRequiredTopologyAnnotation, level: corev1.LabelHostname,
		work: "- {name: step, items: 20, duration: 10s, workers: 2}",
	},
	{
		Action: web.Action{Name: "elastic-eval", Title: "Elastic eval", Description: "q2 · grows and shrinks from 1 to 16 pods × 1 GPU"},
		jobs:   1, class: "evals", priority: "q2", podPriority: "c2", pods: 1, podGPUs: 1, maxPods: 16,
		topology: kueue.PodSetUnconstrainedTopologyAnnotation, level: "true",
		work: "- {name: warm, items: 1, duration: 10s}\n- {name: burst, items: 400, duration: 20s}\n- {name: tail, items: 4, duration: 80s}",
	},
	{
		Action: web.Action{Name: "shaped-units", Title: "Shaped units", Description: "q2 · 1 to 4 units of 4 GPUs, never a part of one"},
		jobs:   1, class: "evals", priority: "q2", podPriority: "c2", pods: 1, podGPUs: 4, maxPods: 4,
		topology: kueue.PodSetUnconstrainedTopologyAnnotation, level: "true",
		work: "- {name: warm, items: 1, duration: 10s}\n- {name: burst, items: 60, duration: 20s}",
	},
	{
		Action: web.Action{Name: "arrival", Title: "q0 arrival", Description: "q0 · one whole node, evicts what is in its way"},
		jobs:   1, class: "urgent", priority: "q0", podPriority: "c1", pods: 1, podGPUs: 8,
		topology: kueue.PodSetRequiredTopologyAnnotation, level: corev1.LabelHostname,
		work: "- {name: step, items: 15, duration: 10s}",
	},
	{
		Action: web.Action{Name: "two-by-four", Title: "2 × 4 anywhere", Description: "q2 · 2 pods × 4 GPUs on any nodes"},
		jobs:   1, class: "training", priority: "q2", podPriority: "c2", pods: 2, podGPUs: 4,
		topology: kueue.PodSetUnconstrainedTopologyAnnotation, level: "true",
		work: "- {name: step, items: 20, duration: 10s, workers: 2}",
	},
	{
		Action: web.Action{Name: "large-gang", Title: "Large gang", Description: "q1 · 12 whole nodes, 96 GPUs"},
		jobs:   1, class: "training", priority: "q1", podPriority: "c1", pods: 12, podGPUs: 8,
		topology: kueue.PodSetUnconstrainedTopologyAnnotation, level: "true",
		work: "- {name: step, items: 20, duration: 10s, workers: 12}",
	},
	{
		Action: web.Action{Name: "sweep", Title: "Sweep", Description: "q2 · six trials × 1 GPU, each a job"},
		jobs:   6, class: "sweep", priority: "q2", podPriority: "c2", pods: 1, podGPUs: 1,
		topology: kueue.PodSetUnconstrainedTopologyAnnotation, level: "true",
		work: "- {name: trial, items: 10, duration: 10s}",
	},
}

// Actions are the buttons of the board.
func Actions() []web.Action {
	actions := make([]web.Action, len(shapeList))
	for i, shape := range shapeList {
		actions[i] = shape.Action
	}
	return actions
}

func findShape(name string) (shape, bool) {
	i := slices.IndexFunc(shapeList, func(s shape) bool { return s.Name == name })
	if i < 0 {
		return shape{}, false
	}
	return shapeList[i], true
}

func shapeNames() []string {
	var names []string
	for _, shape := range shapeList {
		names = append(names, shape.Name)
	}
	return names
}

// shapes numbers jobs, so that each has a name of its own.
type shapes struct {
	mu   sync.Mutex
	made map[string]int
}

// jobs makes the jobs of a shape.
func (s *shapes) jobs(shape shape) ([]*unstructured.Unstructured, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[string]int{}
	}
	s.made[shape.Name]++
	var jobs []*unstructured.Unstructured
	for i := range shape.jobs {
		name := fmt.Sprintf("%s-%d", shape.Name, s.made[shape.Name])
		if shape.jobs > 1 {
			name += fmt.Sprintf("-%d", i+1)
		}
		job, err := shape.job(name)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

// job makes one job.
func (s shape) job(name string) (*unstructured.Unstructured, error) {
	job := &rayv1.RayJob{
		TypeMeta: metav1.TypeMeta{APIVersion: rayv1.GroupVersion.String(), Kind: "RayJob"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: fleet.Namespace,
			Labels:      map[string]string{queueLabel: fleet.LocalQueue, priorityLabel: s.priority},
			Annotations: map[string]string{simray.WorkAnnotation: s.work, recorder.ClassAnnotation: s.class},
		},
		Spec: rayv1.RayJobSpec{
			Suspend: true, ShutdownAfterJobFinishes: true, SubmissionMode: rayv1.HTTPMode, Entrypoint: "python main.py",
			RayClusterSpec: &rayv1.RayClusterSpec{
				RayVersion: "2.49.2",
				HeadGroupSpec: rayv1.HeadGroupSpec{
					RayStartParams: map[string]string{"num-cpus": "0"},
					Template:       template("c2", fleet.CPUNodeGroup, "1", "4Gi", 0),
				},
				WorkerGroupSpecs: []rayv1.WorkerGroupSpec{s.workers()},
			},
		},
	}
	if s.maxPods > 0 {
		job.Annotations[elasticAnnotation] = "true"
		job.Spec.RayClusterSpec.EnableInTreeAutoscaling = ptr.To(true)
		job.Spec.RayClusterSpec.AutoscalerOptions = &rayv1.AutoscalerOptions{IdleTimeoutSeconds: ptr.To[int32](30)}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return nil, fmt.Errorf("failed to convert %s: %w", name, err)
	}
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}, nil
}

func (s shape) workers() rayv1.WorkerGroupSpec {
	workers := rayv1.WorkerGroupSpec{
		GroupName: "workers",
		Replicas:  ptr.To(int32(s.pods)), MinReplicas: ptr.To(int32(s.pods)), MaxReplicas: ptr.To(int32(max(s.pods, s.maxPods))),
		RayStartParams: map[string]string{"num-gpus": strconv.Itoa(s.podGPUs)},
		Template:       template(s.podPriority, fleet.GPUNodeGroup, "4", "32Gi", s.podGPUs),
	}
	workers.Template.Annotations = map[string]string{s.topology: s.level}
	return workers
}

func template(priority, nodeGroup, cpu, memory string, gpus int) corev1.PodTemplateSpec {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	spec := corev1.PodSpec{
		PriorityClassName: priority,
		NodeSelector:      map[string]string{fleet.NodeGroupLabel: nodeGroup},
		Containers:        []corev1.Container{{Name: "ray", Image: "ray", Resources: corev1.ResourceRequirements{Requests: requests}}},
	}
	if gpus > 0 {
		amount := *resource.NewQuantity(int64(gpus), resource.DecimalSI)
		requests[fleet.GPUResource] = amount
		spec.Containers[0].Resources.Limits = corev1.ResourceList{fleet.GPUResource: amount}
		spec.Tolerations = []corev1.Toleration{{
			Key: fleet.NodeGroupLabel, Operator: corev1.TolerationOpEqual, Value: nodeGroup, Effect: corev1.TaintEffectNoSchedule,
		}}
	}
	return corev1.PodTemplateSpec{Spec: spec}
}
