// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/managertest"
)

// groupLabel is on the Workloads of jobs that are admitted by group.
const groupLabel = "fleet.ai/worker-group"

// TestGroupsAfterGoingBack goes back to upstream's manager while a RayJob is admitted
// by group, which upstream's doesn't know. The job must not go on outside of quota.
func TestGroupsAfterGoingBack(t *testing.T) {
	w := newWorld(t)
	objects, err := managertest.ReadFolder("testdata")
	if err != nil {
		t.Fatal(err)
	}
	ours, port := w.start(t, w.ours, w.fleet)
	w.webhooks.set(port)
	w.leader(t, ours, 1)
	for _, object := range append(objects, priorityClass("q0", 20000), groupJob()) {
		if err := w.plane.Admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	job := groupJob()
	w.until(t, ours, "the admission of the head", func(all []unstructured.Unstructured) string {
		if suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend"); suspended {
			return "the job is suspended"
		}
		for _, wl := range all {
			if wl.GetLabels()[groupLabel] == "head" && conditionsOf(&wl)["Admitted"] == "True" {
				return ""
			}
		}
		return "no head is admitted"
	}, job)
	stop(t, ours)

	upstream, port := w.start(t, w.upstream, w.rendered)
	w.webhooks.set(port)
	w.leader(t, upstream, 2)
	w.until(t, upstream, "upstream to take the job over", func(all []unstructured.Unstructured) string {
		own := 0
		for _, wl := range all {
			switch {
			case wl.GetLabels()[groupLabel] == "":
				own++
			case conditionsOf(&wl)["QuotaReserved"] == "True":
				return fmt.Sprintf("the Workload of group %s holds quota, and nobody looks after it", wl.GetLabels()[groupLabel])
			}
		}
		suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
		if own == 0 {
			return fmt.Sprintf("the job (suspended: %t) has no Workload of upstream's", suspended)
		}
		return ""
	}, job)
	stop(t, upstream)
}

// until waits until wrong finds nothing about the job, which it gets read anew, and
// the Workloads.
func (w *world) until(t *testing.T, manager *managertest.Installed, what string, wrong func([]unstructured.Unstructured) string, job *unstructured.Unstructured) {
	t.Helper()
	last := ""
	err := manager.Until(t.Context(), what, func(ctx context.Context) (bool, error) {
		if err := w.plane.Admin.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(workloads)
		if err := w.plane.Admin.List(ctx, list, client.InNamespace("default")); err != nil {
			return false, err
		}
		last = wrong(list.Items)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("%s: %v", last, err)
	}
}

func priorityClass(name string, value int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": map[string]any{"name": name}, "value": value,
	}}
}

// groupJob is a RayJob of a head and one worker, 1 CPU each.
func groupJob() *unstructured.Unstructured {
	template := func() map[string]any {
		return map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"ray/kueue-priority-class": "q0"}},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "ray", "image": "ray", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}, "limits": map[string]any{"cpu": "1"}},
			}}},
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": "RayJob",
		"metadata": map[string]any{
			"name": "rl", "namespace": "default", "labels": map[string]any{"kueue.x-k8s.io/queue-name": "queue"},
			"annotations": map[string]any{"ray/kueue-admission-scope": "worker-group"},
		},
		"spec": map[string]any{
			"shutdownAfterJobFinishes": true, "submissionMode": "HTTPMode", "entrypoint": "python train.py",
			"rayClusterSpec": map[string]any{
				"rayVersion":    "2.49.2",
				"headGroupSpec": map[string]any{"rayStartParams": map[string]any{}, "template": template()},
				"workerGroupSpecs": []any{map[string]any{
					"groupName": "trainer", "replicas": int64(1), "minReplicas": int64(1), "maxReplicas": int64(1),
					"rayStartParams": map[string]any{}, "template": template(),
				}},
			},
		},
	}}
}
