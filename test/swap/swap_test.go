// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package swap replaces upstream's manager by ours under load, and goes back: as a
// rolling update does, with the new manager beside the old one for a while.
package swap

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/managertest"
)

func TestSwapUnderLoad(t *testing.T) {
	w := newWorld(t)
	objects, err := managertest.ReadFolder("testdata")
	if err != nil {
		t.Fatal(err)
	}

	upstream, oldPort := w.start(t, w.upstream, w.rendered)
	w.webhooks.set(oldPort)
	w.leader(t, upstream, 1)
	for _, object := range objects {
		if err := w.plane.Admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	// One after the other, and a second apart: creation times have whole seconds, and
	// they are the order of the queue.
	want := map[string]string{}
	add := func(manager *managertest.Installed, name string, pods int64, state string, annotations map[string]any) map[string]string {
		w.job(t, name, pods, annotations)
		want[name] = state
		full := w.wait(t, manager, want)
		time.Sleep(1100 * time.Millisecond)
		return full
	}
	add(upstream, "first", 1, "admitted", nil)
	add(upstream, "second", 1, "admitted", nil)
	add(upstream, "elastic", 1, "admitted", map[string]any{"kueue.x-k8s.io/elastic-job": "true"})
	add(upstream, "next-1", 2, "pending", nil)
	add(upstream, "next-2", 2, "pending", nil)
	add(upstream, "stopped", 3, "pending", nil)
	w.deactivate(t, "stopped")
	want["stopped"] = "deactivated"
	before := w.wait(t, upstream, want)

	// Forward. Both run for a while, and the webhooks of either may be asked.
	ours, newPort := w.start(t, w.ours, w.rendered)
	w.webhooks.set(newPort, oldPort)
	before = merge(before, add(upstream, "next-3", 2, "pending", nil))
	w.same(t, "while both run, upstream leading", upstream, want, before)
	stop(t, upstream)
	w.webhooks.set(newPort)
	w.leader(t, ours, 2)
	w.same(t, "after the swap", ours, want, before)

	// Ours goes on where upstream stopped: the queue's order is kept.
	w.finish(t, "first")
	want["first"], want["next-1"] = "finished", "admitted"
	before = add(ours, "next-4", 2, "pending", nil)

	// Back, in the same way.
	upstream, oldPort = w.start(t, w.upstream, w.rendered)
	w.webhooks.set(oldPort, newPort)
	w.same(t, "while both run, ours leading", ours, want, before)
	stop(t, ours)
	w.webhooks.set(oldPort)
	w.leader(t, upstream, 3)
	w.same(t, "after going back", upstream, want, before)
	w.finish(t, "next-1")
	want["next-1"], want["next-2"] = "finished", "admitted"
	w.wait(t, upstream, want)
	stop(t, upstream)

	w.verdict(t, want)
}

func merge(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	for name, fact := range b {
		if _, known := out[name]; !known {
			out[name] = fact
		}
	}
	return out
}

// same wants every Workload to be the one it was, with all that it had.
func (w *world) same(t *testing.T, when string, manager *managertest.Installed, want, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, w.wait(t, manager, want)); diff != "" {
		t.Errorf("%s, Workloads are not what they were (-before,+now):\n%s", when, diff)
	}
}

func stop(t *testing.T, manager *managertest.Installed) {
	t.Helper()
	if err := manager.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *world) deactivate(t *testing.T, job string) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloads)
	if err := w.plane.Admin.List(t.Context(), list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	for _, wl := range list.Items {
		if jobOf(&wl) == job {
			if err := w.plane.Admin.Patch(t.Context(), &wl, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"active":false}}`))); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no Workload", job)
}

// verdict looks at what the watcher saw all the time.
func (w *world) verdict(t *testing.T, want map[string]string) {
	t.Helper()
	w.watcher.mu.Lock()
	defer w.watcher.mu.Unlock()
	if w.watcher.most > 4 {
		t.Errorf("%d CPUs were granted at a time, and there are 4", w.watcher.most)
	}
	if len(w.watcher.evicted) > 0 || len(w.watcher.deleted) > 0 {
		t.Errorf("Workloads were evicted (%v) or deleted (%v)", w.watcher.evicted, w.watcher.deleted)
	}
	grants := map[string]int{}
	for name, state := range want {
		if state == "admitted" || state == "finished" {
			grants[name] = 1
		}
	}
	if diff := cmp.Diff(grants, w.watcher.reserved); diff != "" {
		t.Errorf("unexpected numbers of admissions (-want,+got):\n%s", diff)
	}
	if len(w.watcher.holders) != 3 {
		t.Errorf("the leaders were %v, want three terms: upstream, ours, upstream", w.watcher.holders)
	}
	t.Logf("%d Workloads kept through two swaps, at most %d of 4 CPUs granted, terms of leaders %d", len(want), w.watcher.most, len(w.watcher.holders))
}
