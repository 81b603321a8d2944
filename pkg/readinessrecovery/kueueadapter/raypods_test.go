// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func worker(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "worker", Namespace: "team",
		Labels: map[string]string{"ray.io/cluster": "cluster", "ray.io/node-type": "worker", "ray.io/group": "Workers"},
	}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func ready(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}
func terminating(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }
func unlabelled(pod *corev1.Pod)  { pod.Labels = nil }

func TestReadinessChanged(t *testing.T) {
	update := func(before, after *corev1.Pod) bool {
		return readinessChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	cases := map[string]struct{ got, want bool }{
		"a new pod":                        {readinessChanged.Create(event.CreateEvent{Object: worker()}), false},
		"a ready pod that wasn't known":    {readinessChanged.Create(event.CreateEvent{Object: worker(ready)}), true},
		"a pod becomes ready":              {update(worker(), worker(ready)), true},
		"a pod is lost":                    {update(worker(ready), worker()), true},
		"a pod is ready still":             {update(worker(ready), worker(ready)), false},
		"a pod goes":                       {update(worker(ready), worker(ready, terminating)), true},
		"a pod is gone at once":            {readinessChanged.Delete(event.DeleteEvent{Object: worker(ready)}), true},
		"a pod that went is gone":          {readinessChanged.Delete(event.DeleteEvent{Object: worker(terminating)}), false},
		"a pod of no cluster":              {update(worker(unlabelled), worker(ready, unlabelled)), false},
		"something that isn't a pod":       {readinessChanged.Create(event.CreateEvent{Object: &corev1.Node{}}), false},
		"an event from outside the stream": {readinessChanged.Generic(event.GenericEvent{Object: worker(ready)}), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("passed (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestRequestsForPod(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	controlled := true
	cluster := func(kind string) *rayv1.RayCluster {
		c := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: "team"}}
		if kind != "" {
			c.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: rayv1.GroupVersion.String(), Kind: kind, Name: "owner", UID: "uid", Controller: &controlled,
			}}
		}
		return c
	}
	request := func(name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}}
	}
	cases := map[string]struct {
		cluster *rayv1.RayCluster
		kind    string
		want    []reconcile.Request
	}{
		"the cluster of a RayJob wakes the job":          {cluster: cluster("RayJob"), kind: "RayJob", want: request("owner")},
		"the cluster of a RayJob isn't a job itself":     {cluster: cluster("RayJob"), kind: "RayCluster"},
		"the cluster of a RayJob isn't a service's":      {cluster: cluster("RayJob"), kind: "RayService"},
		"the cluster of a RayService wakes the service":  {cluster: cluster("RayService"), kind: "RayService", want: request("owner")},
		"a cluster of nobody is woken":                   {cluster: cluster(""), kind: "RayCluster", want: request("cluster")},
		"a cluster of nobody is no RayJob's":             {cluster: cluster(""), kind: "RayJob"},
		"a cluster that is gone wakes nobody":            {kind: "RayJob"},
		"a cluster of another API's object wakes nobody": {cluster: cluster("Workflow"), kind: "RayCluster"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder().WithScheme(scheme)
			if tc.cluster != nil {
				builder.WithObjects(tc.cluster)
			}
			got := requestsForPod(t.Context(), builder.Build(), rayv1.GroupVersion.WithKind(tc.kind), worker())
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestRayClusterOf(t *testing.T) {
	service := func(active, pending string) *rayv1.RayService {
		s := &rayv1.RayService{}
		s.Status.ActiveServiceStatus.RayClusterName = active
		s.Status.PendingServiceStatus.RayClusterName = pending
		return s
	}
	cases := map[string]struct {
		job     client.Object
		want    string
		wantRay bool
	}{
		"a RayCluster":                   {job: &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}, want: "c", wantRay: true},
		"a RayJob":                       {job: &rayv1.RayJob{Status: rayv1.RayJobStatus{RayClusterName: "c"}}, want: "c", wantRay: true},
		"a RayJob that hasn't begun":     {job: &rayv1.RayJob{}, wantRay: true},
		"a RayService that starts":       {job: service("", "new"), want: "new", wantRay: true},
		"a RayService that is replaced":  {job: service("old", "new"), want: "old", wantRay: true},
		"a job of another kind":          {job: &corev1.Pod{}},
		"a RayService that hasn't begun": {job: service("", ""), wantRay: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, isRay := rayClusterOf(tc.job)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("cluster (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantRay, isRay); diff != "" {
				t.Errorf("is a Ray job (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestPodSetOf(t *testing.T) {
	label := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Labels[key] = value }
	}
	cases := map[string]struct {
		pod  *corev1.Pod
		want kueue.PodSetReference
	}{
		"by Kueue's label":      {pod: worker(label("kueue.x-k8s.io/podset", "gpus")), want: "gpus"},
		"a worker by KubeRay's": {pod: worker(), want: "workers"},
		"a head by KubeRay's":   {pod: worker(label("ray.io/node-type", "head"), label("ray.io/group", "headgroup")), want: "head"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, podSetOf(tc.pod)); diff != "" {
				t.Errorf("podSetOf() (-want,+got):\n%s", diff)
			}
		})
	}
}
