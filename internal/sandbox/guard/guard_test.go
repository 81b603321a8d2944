// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func node(gpus string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"gpu": resource.MustParse(gpus), corev1.ResourcePods: resource.MustParse("10")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func boundPod(name, gpus string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"gpu": resource.MustParse(gpus)}},
		}}},
	}
}

// ofWorkload makes a pod one of a Workload.
func ofWorkload(pod *corev1.Pod, workload string) *corev1.Pod {
	pod.Annotations = map[string]string{kueue.WorkloadAnnotation: workload}
	pod.Labels = map[string]string{"kueue.x-k8s.io/podset": "main"}
	return pod
}

// evicted is a Workload that gave its quota back.
func evicted(name, elastic string) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Annotations: map[string]string{elasticAnnotation: elastic}},
		Spec:       kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1}}},
	}
}

func stopping(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"x/y"}
	return pod
}

func finished(name, reason string) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       kueue.WorkloadSpec{PodSets: []kueue.PodSet{{Name: "main", Count: 1}}},
		Status: kueue.WorkloadStatus{Conditions: []metav1.Condition{{
			Type: kueue.WorkloadFinished, Status: metav1.ConditionTrue, Reason: reason,
		}}},
	}
}

func TestGuard(t *testing.T) {
	overfull := []client.Object{node("4"), boundPod("a", "3"), boundPod("b", "2")}
	fine := []client.Object{node("4"), boundPod("a", "3")}
	unpaid := []client.Object{node("4"), ofWorkload(boundPod("a", "1"), "w")}
	cases := map[string]struct {
		cached, live []client.Object
		// wantAtOnce and wantSettled are the rules that are reported at the
		// first look and after the settling time.
		wantAtOnce, wantSettled []invariant.Rule
	}{
		"all is well":                              {cached: fine, live: fine},
		"a node that holds too much":               {cached: overfull, live: overfull, wantAtOnce: []invariant.Rule{invariant.NodeOvercommitted}, wantSettled: []invariant.Rule{invariant.NodeOvercommitted}},
		"a cache that is not in step":              {cached: overfull, live: fine},
		"pods without quota, which may be passing": {cached: unpaid, live: unpaid, wantSettled: []invariant.Rule{invariant.PodsWithoutQuota}},
		"pods of a job that is over": {
			cached: append([]client.Object{finished("w", "Succeeded")}, unpaid...),
			live:   append([]client.Object{finished("w", "Succeeded")}, unpaid...),
		},
		"stopping pods of an evicted job": {
			cached: []client.Object{node("4"), evicted("w", "false"), stopping(ofWorkload(boundPod("a", "1"), "w"))},
			live:   []client.Object{node("4"), evicted("w", "false"), stopping(ofWorkload(boundPod("a", "1"), "w"))},
		},
		"running pods of an evicted job": {
			cached:      []client.Object{node("4"), evicted("w", "false"), ofWorkload(boundPod("a", "1"), "w")},
			live:        []client.Object{node("4"), evicted("w", "false"), ofWorkload(boundPod("a", "1"), "w")},
			wantSettled: []invariant.Rule{invariant.PodsWithoutQuota},
		},
		"stopping pods of an evicted elastic job": {
			cached:      []client.Object{node("4"), evicted("w", "true"), stopping(ofWorkload(boundPod("a", "1"), "w"))},
			live:        []client.Object{node("4"), evicted("w", "true"), stopping(ofWorkload(boundPod("a", "1"), "w"))},
			wantSettled: []invariant.Rule{invariant.PodsWithoutQuota},
		},
		"pods of a slice that was replaced": {
			cached:      append([]client.Object{finished("w", kueue.WorkloadSliceReplaced)}, unpaid...),
			live:        append([]client.Object{finished("w", kueue.WorkloadSliceReplaced)}, unpaid...),
			wantSettled: []invariant.Rule{invariant.PodsWithoutQuota},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
			var got []invariant.Rule
			g := New(newClient(t, tc.cached...), newClient(t, tc.live...), clk, func(_ time.Time, v invariant.Violation) {
				got = append(got, v.Rule)
			})
			look := func() {
				t.Helper()
				if err := g.look(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			look()
			if diff := cmp.Diff(tc.wantAtOnce, got); diff != "" {
				t.Errorf("at once (-want,+got):\n%s", diff)
			}
			clk.Step(Settle - time.Millisecond)
			look()
			if diff := cmp.Diff(tc.wantAtOnce, got); diff != "" {
				t.Errorf("before it has settled (-want,+got):\n%s", diff)
			}
			clk.Step(time.Millisecond)
			look()
			look()
			if diff := cmp.Diff(tc.wantSettled, got); diff != "" {
				t.Errorf("settled (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestABreachThatPassesIsForgotten(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1000, 0))
	c := newClient(t, node("4"), ofWorkload(boundPod("a", "1"), "w"))
	reported := 0
	g := New(c, c, clk, func(time.Time, invariant.Violation) { reported++ })
	for _, present := range []bool{true, false, true} {
		pod := ofWorkload(boundPod("a", "1"), "w")
		var err error
		if present {
			if err = c.Create(context.Background(), pod); err != nil {
				err = client.IgnoreAlreadyExists(err)
			}
		} else {
			err = c.Delete(context.Background(), pod)
		}
		if err != nil {
			t.Fatal(err)
		}
		clk.Step(Settle * 3 / 4)
		if err := g.look(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if reported != 0 {
		t.Errorf("%d breaches were reported, none lasted", reported)
	}
}
