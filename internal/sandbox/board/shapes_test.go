// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recorder"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

// Every button must make jobs that the API server, the queue and the
// simulated driver take.
func TestShapes(t *testing.T) {
	type size struct{ Jobs, GPUs, MaxGPUs int }
	want := map[string]size{
		"fixed-gang": {1, 4, 4}, "elastic-eval": {1, 1, 16}, "shaped-units": {1, 4, 16}, "arrival": {1, 8, 8},
		"two-by-four": {1, 8, 8}, "large-gang": {1, 96, 96}, "sweep": {6, 1, 1},
	}
	got := map[string]size{}
	for _, action := range Actions() {
		shape, ok := findShape(action.Name)
		if !ok || action.Title == "" || action.Description == "" {
			t.Errorf("action %+v is incomplete", action)
			continue
		}
		jobs, err := (&shapes{}).jobs(shape)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range jobs {
			var job rayv1.RayJob
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &job, true); err != nil {
				t.Errorf("%s: %v", object.GetName(), err)
				continue
			}
			if job.Namespace != fleet.Namespace || job.Labels[queueLabel] != fleet.LocalQueue || job.Labels[priorityLabel] == "" {
				t.Errorf("%s does not go to the queue: %v", job.Name, job.ObjectMeta)
			}
			if job.Annotations[recorder.ClassAnnotation] == "" {
				t.Errorf("%s belongs to no class: %v", job.Name, job.Annotations)
			}
			if _, err := simray.ParseWork(job.Annotations[simray.WorkAnnotation]); err != nil {
				t.Errorf("%s: %v", job.Name, err)
			}
			cluster := job.Spec.RayClusterSpec
			workers := cluster.WorkerGroupSpecs[0]
			gpus := workers.Template.Spec.Containers[0].Resources.Limits[fleet.GPUResource]
			elastic := *workers.MaxReplicas > *workers.MinReplicas
			if autoscales := cluster.EnableInTreeAutoscaling != nil && *cluster.EnableInTreeAutoscaling; autoscales != elastic || (job.Annotations[elasticAnnotation] == "true") != elastic {
				t.Errorf("%s: elastic is %v, but autoscaling is %v and its annotation %q", job.Name, elastic, autoscales, job.Annotations[elasticAnnotation])
			}
			got[action.Name] = size{len(jobs), int(*workers.Replicas) * int(gpus.Value()), int(*workers.MaxReplicas) * int(gpus.Value())}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sizes (-want,+got):\n%s", diff)
	}
}

func TestShapesCountUp(t *testing.T) {
	shape, _ := findShape("arrival")
	made := &shapes{}
	for _, want := range []string{"arrival-1", "arrival-2"} {
		jobs, err := made.jobs(shape)
		if err != nil {
			t.Fatal(err)
		}
		if got := jobs[0].GetName(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
