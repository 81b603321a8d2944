// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

type ownerReference = metav1.OwnerReference

// job is what is known about one job.
type job struct {
	gpu     corev1.ResourceName
	sum     Summary
	ended   bool
	asked   resize // the last size that the autoscaler asked for
	size    int    // workers admitted now
	running int    // the size that was last seen fully ready
	grownAt time.Time
	nodes   map[string]int // pods per node, as admitted
	slices  map[types.UID]*slice
	pods    map[types.UID]*pod
	// clusters are the Ray clusters that exist.
	clusters map[types.UID]bool
}

// resize is a wish of the autoscaler.
type resize struct {
	at      time.Time
	workers int
}

// slice is one Workload of the job.
type slice struct {
	// group is the worker group that it is for; empty for the whole job.
	group    string
	created  time.Time
	seen     time.Time
	workers  int
	admitted bool
	evicted  bool
	over     bool
	nodes    map[string]int
}

func newJob(name string, gpu corev1.ResourceName) *job {
	return &job{
		gpu: gpu, sum: Summary{Job: name}, nodes: map[string]int{},
		slices: map[types.UID]*slice{}, pods: map[types.UID]*pod{}, clusters: map[types.UID]bool{},
	}
}

func (j *job) event(at time.Time, what What, format string, args ...any) Event {
	return Event{At: at, Job: j.sum.Job, What: what, Text: fmt.Sprintf(format, args...)}
}

func (e Event) after(cause time.Time, since string) Event {
	if !cause.IsZero() {
		e.Latency, e.Since = e.At.Sub(cause), since
	}
	return e
}

func (j *job) observeRayJob(obs Observation, rayJob *rayv1.RayJob) []Event {
	var events []Event
	if j.sum.Submitted.IsZero() {
		j.sum.Submitted = obs.At
		events = append(events, j.event(obs.At, Submitted, "%s", shape(rayJob, j.gpu)))
	}
	status := rayJob.Status.JobDeploymentStatus
	if j.ended || (status != rayv1.JobDeploymentStatusComplete && status != rayv1.JobDeploymentStatusFailed && status != rayv1.JobDeploymentStatusValidationFailed) {
		return append(events, j.checkReleased(obs.At)...)
	}
	j.ended, j.sum.Finished = true, obs.At
	if status == rayv1.JobDeploymentStatusComplete {
		j.sum.Succeeded = rayJob.Status.JobStatus == rayv1.JobStatusSucceeded
		events = append(events, j.event(obs.At, Finished, "%s", rayJob.Status.JobStatus).after(j.sum.Submitted, "it was submitted"))
	} else {
		events = append(events, j.event(obs.At, Failed, "%s: %s", rayJob.Status.Reason, rayJob.Status.Message))
	}
	return append(events, j.checkReleased(obs.At)...)
}

func (j *job) observeCluster(obs Observation, cluster *rayv1.RayCluster) []Event {
	if obs.Deleted {
		delete(j.clusters, cluster.UID)
		return j.checkReleased(obs.At)
	}
	j.clusters[cluster.UID] = true
	total := 0
	for _, group := range cluster.Spec.WorkerGroupSpecs {
		total += int(ptr.Deref(group.Replicas, 0))
	}
	if total != j.asked.workers {
		j.asked = resize{at: obs.At, workers: total}
	}
	return nil
}

func (j *job) observeWorkload(obs Observation, workload *kueue.Workload) []Event {
	if obs.Deleted {
		delete(j.slices, workload.UID)
		return j.resized(obs.At)
	}
	var events []Event
	s := readSlice(workload)
	if old := j.slices[workload.UID]; old != nil {
		s.seen = old.seen
		if s.evicted && !old.evicted {
			j.sum.Evicted++
			event := j.event(obs.At, Evicted, "%s", evictedReason(workload))
			event.Group = s.group
			events = append(events, event)
		}
	} else {
		s.seen = obs.At
	}
	j.slices[workload.UID] = s

	if j.sum.Queued.IsZero() {
		j.sum.Queued = obs.At
		if ref := workload.Spec.PriorityClassRef; ref != nil {
			j.sum.Priority = ref.Name
		}
		events = append(events, j.event(obs.At, Queued, "in %s at %s, priority %d",
			workload.Spec.QueueName, j.sum.Priority, ptr.Deref(workload.Spec.Priority, 0)))
	}
	j.noteReason(workload)
	return append(events, j.resized(obs.At)...)
}

// resized compares the size that is admitted now with the one before.
func (j *job) resized(at time.Time) []Event {
	current := j.current()
	if current == nil {
		// A finished job keeps the size it had; an evicted one has none.
		if !j.ended {
			j.size, j.running, j.nodes = 0, 0, map[string]int{}
		}
		return nil
	}
	before, beforeNodes := j.size, j.nodes
	if current.workers == before {
		j.nodes = current.nodes
		return nil
	}
	j.size, j.nodes = current.workers, current.nodes
	j.sum.PeakWorkers = max(j.sum.PeakWorkers, j.size)
	j.noteNodes(current.nodes)
	switch {
	case before == 0:
		first := j.sum.Admitted.IsZero()
		if first {
			j.sum.Admitted = at
		}
		j.grownAt = at
		event := j.event(at, Admitted, "%s on %s", workers(j.size), nodeList(j.nodes))
		if first {
			return []Event{event.after(j.sum.Queued, "it was queued")}
		}
		return []Event{event}
	case j.size > before:
		j.sum.Grown++
		j.grownAt = at
		event := j.event(at, Grown, "%d -> %d, the new one on %s", before, j.size, nodeList(added(beforeNodes, j.nodes)))
		if j.size-before > 1 {
			event = j.event(at, Grown, "%d -> %d, the new ones on %s", before, j.size, nodeList(added(beforeNodes, j.nodes)))
		}
		if j.asked.workers == j.size {
			event = event.after(j.asked.at, "the autoscaler asked")
		}
		return append([]Event{event}, j.checkRunning(at)...)
	default:
		j.sum.Shrunk++
		event := j.event(at, Shrunk, "%d -> %d", before, j.size)
		if j.asked.workers == j.size {
			event = event.after(j.asked.at, "the autoscaler asked")
		}
		j.running = min(j.running, j.size)
		return []Event{event}
	}
}

// current is what is admitted: the newest Workload, or that of each group
// taken together; nil if none is.
func (j *job) current() *slice {
	byGroup := map[string]*slice{}
	for _, s := range j.slices {
		if !s.admitted || s.evicted || s.over {
			continue
		}
		newest := byGroup[s.group]
		if newest == nil || s.created.After(newest.created) || s.created.Equal(newest.created) && s.seen.After(newest.seen) {
			byGroup[s.group] = s
		}
	}
	if len(byGroup) == 0 {
		return nil
	}
	sum := &slice{admitted: true, nodes: map[string]int{}}
	for _, s := range byGroup {
		sum.workers += s.workers
		for node, pods := range s.nodes {
			sum.nodes[node] += pods
		}
	}
	return sum
}

func (j *job) noteNodes(nodes map[string]int) {
	for node := range nodes {
		if !slices.Contains(j.sum.Nodes, node) {
			j.sum.Nodes = append(j.sum.Nodes, node)
		}
	}
	slices.Sort(j.sum.Nodes)
}

func (j *job) noteReason(workload *kueue.Workload) {
	for _, condition := range workload.Status.Conditions {
		if condition.Type == kueue.WorkloadQuotaReserved && condition.Status == metav1.ConditionFalse &&
			condition.Message != "" && !slices.Contains(j.sum.Reasons, condition.Message) {
			j.sum.Reasons = append(j.sum.Reasons, condition.Message)
		}
	}
}

func (j *job) summary(now time.Time) Summary {
	sum := j.sum
	for _, p := range j.pods {
		sum.GPUSeconds += p.gpuSeconds(now)
	}
	sum.Nodes = slices.Clone(sum.Nodes)
	sum.Reasons = slices.Clone(sum.Reasons)
	return sum
}

// added is how many pods more there are on each node.
func added(before, after map[string]int) map[string]int {
	more := map[string]int{}
	for node, n := range after {
		if n > before[node] {
			more[node] = n - before[node]
		}
	}
	return more
}

// nodeList names nodes with the pods on them.
func nodeList(nodes map[string]int) string {
	if len(nodes) == 0 {
		return "no node yet"
	}
	var list []string
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		if n := nodes[node]; len(nodes) > 1 && n > 1 {
			list = append(list, fmt.Sprintf("%s (%d)", node, n))
		} else {
			list = append(list, node)
		}
	}
	return strings.Join(list, ", ")
}
