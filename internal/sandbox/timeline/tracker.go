// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Observation is one event of a watch.
type Observation struct {
	At      time.Time
	Object  client.Object
	Deleted bool
}

// Tracker follows jobs. It is not safe for concurrent use. The order of
// observations of different kinds does not matter, except that it decides
// which latencies can be told.
type Tracker struct {
	gpu  corev1.ResourceName
	jobs map[types.NamespacedName]*job
	// clusters tells whose Ray cluster a pod belongs to. orphans are pods that
	// were seen before their cluster.
	clusters map[types.NamespacedName]types.NamespacedName
	orphans  []Observation
}

// NewTracker returns a Tracker. gpu is the resource that is counted.
func NewTracker(gpu corev1.ResourceName) *Tracker {
	return &Tracker{
		gpu:      gpu,
		jobs:     map[types.NamespacedName]*job{},
		clusters: map[types.NamespacedName]types.NamespacedName{},
	}
}

// Observe takes in a change and returns what it means.
func (t *Tracker) Observe(obs Observation) []Event {
	switch object := obs.Object.(type) {
	case *rayv1.RayJob:
		return t.job(client.ObjectKeyFromObject(object)).observeRayJob(obs, object)
	case *rayv1.RayCluster:
		return t.observeCluster(obs, object)
	case *kueue.Workload:
		owner := slices.IndexFunc(object.OwnerReferences, func(ref ownerReference) bool {
			return ref.Kind == "RayJob" && ptr.Deref(ref.Controller, false)
		})
		if owner < 0 {
			return nil
		}
		name := types.NamespacedName{Namespace: object.Namespace, Name: object.OwnerReferences[owner].Name}
		return t.job(name).observeWorkload(obs, object)
	case *corev1.Pod:
		return t.observePod(obs, object)
	}
	return nil
}

func (t *Tracker) observeCluster(obs Observation, cluster *rayv1.RayCluster) []Event {
	if cluster.Labels[utils.RayOriginatedFromCRDLabelKey] != utils.RayOriginatedFromCRDLabelValue(utils.RayJobCRD) {
		return nil
	}
	name := client.ObjectKeyFromObject(cluster)
	owner := types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Labels[utils.RayOriginatedFromCRNameLabelKey]}
	t.clusters[name] = owner
	events := t.job(owner).observeCluster(obs, cluster)

	waiting := t.orphans
	t.orphans = nil
	for _, orphan := range waiting {
		events = append(events, t.Observe(orphan)...)
	}
	return events
}

func (t *Tracker) observePod(obs Observation, pod *corev1.Pod) []Event {
	cluster, ok := pod.Labels[utils.RayClusterLabelKey]
	if !ok {
		return nil
	}
	owner, ok := t.clusters[types.NamespacedName{Namespace: pod.Namespace, Name: cluster}]
	if !ok {
		t.orphans = append(t.orphans, obs)
		return nil
	}
	return t.job(owner).observePod(obs, pod)
}

func (t *Tracker) job(name types.NamespacedName) *job {
	j, ok := t.jobs[name]
	if !ok {
		j = newJob(name.Name, t.gpu)
		t.jobs[name] = j
	}
	return j
}

// Summary is what a job got and when. Times are zero for what has not
// happened.
type Summary struct {
	Job                                            string
	Priority                                       string
	Submitted, Queued, Admitted, Running, Finished time.Time
	// Succeeded says that the job ended and did not fail.
	Succeeded bool
	// Released says that the job has ended and all its pods are gone.
	Released bool
	// PeakWorkers and PeakGPUs are the most that were admitted and held at
	// one time. A GPU is held from the binding of a pod until the pod is gone.
	PeakWorkers, PeakGPUs  int
	GPUSeconds             float64
	Grown, Shrunk, Evicted int
	Nodes                  []string
	// Reasons are the messages with which the job waited, each once.
	Reasons []string
}

// Summary returns the state of a job at the time now; false if nothing is
// known about it.
func (t *Tracker) Summary(name types.NamespacedName, now time.Time) (Summary, bool) {
	j, ok := t.jobs[name]
	if !ok {
		return Summary{}, false
	}
	return j.summary(now), true
}

func workers(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}
