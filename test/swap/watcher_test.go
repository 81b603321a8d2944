// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package swap

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var workloads = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "WorkloadList"}

// watcher sees every change of a Workload, also one that is gone a moment later, and
// of the lease of the managers.
type watcher struct {
	mu sync.Mutex
	// held are the CPUs that each Workload has a reservation for.
	held map[types.UID]int64
	most int64
	// reserved counts how often a Workload got a reservation.
	reserved map[string]int
	deleted  []string
	evicted  []string
	// holders are those of the lease, one after the other.
	holders []string
}

func newWatcher(t *testing.T, c client.WithWatch) *watcher {
	t.Helper()
	w := &watcher{held: map[types.UID]int64{}, reserved: map[string]int{}}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloads)
	follow(t, c, list, w.workload)
	leases := &unstructured.UnstructuredList{}
	leases.SetGroupVersionKind(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "LeaseList"})
	follow(t, c, leases, w.lease, client.InNamespace("kueue-system"))
	return w
}

// follow calls see for each event until the test ends. The API server ends a watch
// after half an hour or more, which no test takes.
func follow(t *testing.T, c client.WithWatch, list client.ObjectList, see func(watch.Event), options ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	events, err := c.Watch(ctx, list, options...)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			see(event)
		}
	}()
	t.Cleanup(func() {
		cancel()
		events.Stop()
		<-done
	})
}

func (w *watcher) workload(event watch.Event) {
	wl, isObject := event.Object.(*unstructured.Unstructured)
	if !isObject {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := jobOf(wl)
	if event.Type == watch.Deleted {
		w.deleted = append(w.deleted, name)
		delete(w.held, wl.GetUID())
		return
	}
	conditions := conditionsOf(wl)
	if conditions["Evicted"] == "True" && name != "stopped" {
		w.evicted = append(w.evicted, name)
	}
	_, had := w.held[wl.GetUID()]
	has := conditions["QuotaReserved"] == "True" && conditions["Finished"] != "True"
	if has {
		w.held[wl.GetUID()] = cpus(wl)
	} else {
		delete(w.held, wl.GetUID())
	}
	if has && !had {
		w.reserved[name]++
	}
	var sum int64
	for _, n := range w.held {
		sum += n
	}
	w.most = max(w.most, sum)
}

func (w *watcher) lease(event watch.Event) {
	lease, isObject := event.Object.(*unstructured.Unstructured)
	if !isObject {
		return
	}
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.holders); holder != "" && (n == 0 || w.holders[n-1] != holder) {
		w.holders = append(w.holders, holder)
	}
}

func (w *watcher) leaders() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.holders...)
}

// jobOf is the name of the Workload's job.
func jobOf(wl *unstructured.Unstructured) string {
	if owners := wl.GetOwnerReferences(); len(owners) > 0 {
		return owners[0].Name
	}
	return wl.GetName()
}

func conditionsOf(wl *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	conditions, _, _ := unstructured.NestedSlice(wl.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		out[fmt.Sprint(fields["type"])] = fmt.Sprint(fields["status"])
	}
	return out
}

// cpus is what the Workload was granted; all its pods together.
func cpus(wl *unstructured.Unstructured) int64 {
	assignments, _, _ := unstructured.NestedSlice(wl.Object, "status", "admission", "podSetAssignments")
	var sum int64
	for _, assignment := range assignments {
		fields, _ := assignment.(map[string]any)
		usage, _, _ := unstructured.NestedString(fields, "resourceUsage", "cpu")
		var n int64
		if _, err := fmt.Sscan(usage, &n); err == nil {
			sum += n
		}
	}
	return sum
}
