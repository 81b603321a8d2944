// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/managertest"
)

var workloads = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "WorkloadList"}

// scenario takes two jobs through the queue, with the webhooks in the way: both
// are suspended, admitted and started, then evicted and suspended again.
func (l *live) scenario(ctx context.Context, t *testing.T) Facts {
	t.Helper()
	objects, err := managertest.ReadFolder(filepath.Join("testdata", "scenario"))
	if err != nil {
		t.Fatal(err)
	}
	facts := Facts{}
	var jobs []*unstructured.Unstructured
	for _, object := range objects {
		if err := l.plane.Admin.Create(ctx, object); err != nil {
			t.Fatalf("failed to create %s %s with %s: %v", object.GetKind(), object.GetName(), l.program.name, err)
		}
		if strings.HasSuffix(object.GetKind(), "Job") {
			facts[object.GetKind()+" as created"] = suspended(object)
			jobs = append(jobs, object)
		}
	}
	if len(jobs) != 2 {
		t.Fatalf("the scenario has %d jobs, want 2", len(jobs))
	}

	l.waitWorkloads(ctx, t, len(jobs), map[string]string{"QuotaReserved": "True", "Admitted": "True", "PodsReady": "False"})
	l.noteJobs(ctx, t, jobs, "false", "admitted", facts)

	for _, workload := range l.list(ctx, t) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"active":false}}`))
		if err := l.plane.Admin.Patch(ctx, &workload, patch); err != nil {
			t.Fatal(err)
		}
	}
	l.waitWorkloads(ctx, t, len(jobs), map[string]string{"QuotaReserved": "False", "Admitted": "False", "Evicted": "True", "Requeued": "False"})
	l.noteJobs(ctx, t, jobs, "true", "evicted", facts)
	return facts
}

func (l *live) list(ctx context.Context, t *testing.T) []unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloads)
	if err := l.plane.Admin.List(ctx, list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// waitWorkloads waits until there is a number of Workloads, all with the
// conditions.
func (l *live) waitWorkloads(ctx context.Context, t *testing.T, count int, want map[string]string) {
	t.Helper()
	l.waitUntil(ctx, t, fmt.Sprintf("%d Workloads with %v", count, want), func(ctx context.Context) (bool, error) {
		items := l.list(ctx, t)
		for _, item := range items {
			have := conditions(&item)
			for kind, status := range want {
				if !strings.HasPrefix(have[kind], status+" ") {
					return false, nil
				}
			}
		}
		return len(items) == count, nil
	})
}

// noteJobs waits until the jobs are suspended, or not, and then notes the state of
// their Workloads.
func (l *live) noteJobs(ctx context.Context, t *testing.T, jobs []*unstructured.Unstructured, want, when string, facts Facts) {
	t.Helper()
	for _, job := range jobs {
		l.waitUntil(ctx, t, fmt.Sprintf("suspend=%s of the %s", want, job.GetKind()), func(ctx context.Context) (bool, error) {
			if err := l.plane.Admin.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
				return false, err
			}
			return suspended(job) == "suspend: "+want, nil
		})
	}
	for _, item := range l.list(ctx, t) {
		owner := item.GetOwnerReferences()[0].Kind
		for kind, condition := range conditions(&item) {
			facts[fmt.Sprintf("%s %s: %s", owner, when, kind)] = condition
		}
		facts[owner+" finalizers and labels"] = fmt.Sprint(item.GetFinalizers(), labelKeys(&item))
	}
}

func suspended(job *unstructured.Unstructured) string {
	value, _, _ := unstructured.NestedBool(job.Object, "spec", "suspend")
	return fmt.Sprintf("suspend: %t", value)
}

func labelKeys(object *unstructured.Unstructured) []string {
	var keys []string
	for key := range object.GetLabels() {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// conditions are an object's conditions by type.
func conditions(object *unstructured.Unstructured) map[string]string {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	out := map[string]string{}
	for _, item := range list {
		condition, _ := item.(map[string]any)
		out[fmt.Sprint(condition["type"])] = fmt.Sprintf("%v %v: %v", condition["status"], condition["reason"], condition["message"])
	}
	return out
}
