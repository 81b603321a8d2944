// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fakeKubelet stands in for the kubelets of all nodes: a bound pod is ready at once,
// a deleted one is gone at once. A pod can be told to be slow to stop, or to stop
// being ready.
// It changes nothing but the status of bound pods, and removes deleted ones.
type fakeKubelet struct {
	client client.Client

	mu    sync.Mutex
	stuck map[string]bool
	// stalled pods run and aren't ready.
	stalled map[string]bool
}

func newFakeKubelet(c client.Client) *fakeKubelet {
	return &fakeKubelet{client: c, stuck: map[string]bool{}, stalled: map[string]bool{}}
}

// hold keeps a pod in Terminating once it is deleted, until letGo.
func (k *fakeKubelet) hold(name string) { k.set(k.stuck, name, true) }

func (k *fakeKubelet) letGo(name string) { k.set(k.stuck, name, false) }

// stall keeps a pod from being ready, until recover.
func (k *fakeKubelet) stall(name string) { k.set(k.stalled, name, true) }

func (k *fakeKubelet) recover(name string) { k.set(k.stalled, name, false) }

func (k *fakeKubelet) set(pods map[string]bool, name string, value bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pods[name] = value
}

// Start implements manager.Runnable.
func (k *fakeKubelet) Start(ctx context.Context) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			k.tick(ctx)
		}
	}
}

// tick ignores errors: the next one comes soon, and a test that needs the change
// waits for it.
func (k *fakeKubelet) tick(ctx context.Context) {
	var pods corev1.PodList
	if k.client.List(ctx, &pods) != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.Spec.NodeName == "":
		case pod.DeletionTimestamp != nil:
			if !k.stuck[pod.Name] {
				_ = k.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
			}
		case pod.Status.Phase == corev1.PodPending || isReady(pod) == k.stalled[pod.Name]:
			ready := corev1.ConditionTrue
			if k.stalled[pod.Name] {
				ready = corev1.ConditionFalse
			}
			before := pod.DeepCopy()
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
			_ = k.client.Status().Patch(ctx, pod, client.MergeFrom(before))
		}
	}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
