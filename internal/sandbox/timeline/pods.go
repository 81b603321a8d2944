// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
)

// pod is what is known about a pod that exists.
type pod struct {
	worker bool
	ready  bool
	node   string
	gpus   int
	bound  time.Time
}

func (j *job) observePod(obs Observation, object *corev1.Pod) []Event {
	if obs.Deleted {
		if p := j.pods[object.UID]; p != nil {
			j.sum.GPUSeconds += p.gpuSeconds(obs.At)
			delete(j.pods, object.UID)
		}
		return j.checkReleased(obs.At)
	}
	p := j.pods[object.UID]
	if p == nil {
		p = &pod{worker: object.Labels[utils.RayNodeTypeLabelKey] == string(rayv1.WorkerNode), gpus: podGPUs(&object.Spec, j.gpu)}
		j.pods[object.UID] = p
	}
	if p.bound.IsZero() && object.Spec.NodeName != "" {
		p.bound, p.node = obs.At, object.Spec.NodeName
		j.sum.PeakGPUs = max(j.sum.PeakGPUs, j.heldGPUs())
	}
	p.ready = object.DeletionTimestamp.IsZero() && slices.ContainsFunc(object.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return j.checkRunning(obs.At)
}

// checkRunning tells when all admitted workers are ready.
func (j *job) checkRunning(at time.Time) []Event {
	nodes := map[string]int{}
	ready := 0
	for _, p := range j.pods {
		if p.worker && p.ready {
			ready++
			nodes[p.node]++
		}
	}
	if j.ended || j.size == 0 || ready < j.size || j.running >= j.size {
		return nil
	}
	j.running = j.size
	if j.sum.Running.IsZero() {
		j.sum.Running = at
	}
	return []Event{j.event(at, Running, "%s on %s", workers(j.size), nodeList(nodes)).after(j.grownAt, "admission")}
}

// checkReleased tells when nothing of an ended job is left.
func (j *job) checkReleased(at time.Time) []Event {
	if !j.ended || j.sum.Released || len(j.clusters) > 0 || len(j.pods) > 0 {
		return nil
	}
	j.sum.Released = true
	return []Event{j.event(at, Released, "all pods are gone").after(j.sum.Finished, "the end")}
}

func (j *job) heldGPUs() int {
	held := 0
	for _, p := range j.pods {
		if !p.bound.IsZero() {
			held += p.gpus
		}
	}
	return held
}

func (p *pod) gpuSeconds(until time.Time) float64 {
	if p.bound.IsZero() {
		return 0
	}
	return float64(p.gpus) * until.Sub(p.bound).Seconds()
}
