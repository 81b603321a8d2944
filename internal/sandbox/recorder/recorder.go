// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recorder turns what watches deliver into a recording. Times are
// those at which a change was seen.
package recorder

import (
	"slices"
	"sync"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
)

// Job is what the scenario knows about a job before it exists.
type Job struct {
	Class string
	Items int
}

// ClassAnnotation on a RayJob that is not of the scenario groups it with
// others in reports.
const ClassAnnotation = "sandbox.fleet.ai/class"

// Recorder is safe for concurrent use.
type Recorder struct {
	gpu corev1.ResourceName

	mu      sync.Mutex
	start   time.Time
	rec     recording.Recording
	tracker *timeline.Tracker
	plan    map[string]Job
	ledger  *simray.Ledger
	out     func(timeline.Event)
	waiting []chan struct{}

	nodes map[string]int
	jobs  map[types.UID]int
	// workerGPUs is how many GPUs a worker of a job has; the model has one
	// kind of work, which the first group does.
	workerGPUs map[types.UID]int
	workloads  map[types.UID]int
	pods       map[types.UID]int
	// warnings are by the UID of the event.
	warnings map[types.UID]int
	// clusters tells whose Ray cluster it is, and homeless whose pods were
	// seen before it.
	clusters map[types.NamespacedName]string
	homeless map[types.NamespacedName][]int
}

// New returns a Recorder. rec has what is known before the start. plan is by
// the name of a job, out gets each line of the story.
func New(rec recording.Recording, plan map[string]Job, ledger *simray.Ledger, gpu corev1.ResourceName, out func(timeline.Event)) *Recorder {
	rec.Version = recording.Version
	return &Recorder{
		gpu: gpu, start: rec.Started, rec: rec, plan: plan, ledger: ledger, out: out,
		tracker: timeline.NewTracker(gpu),
		nodes:   map[string]int{}, jobs: map[types.UID]int{}, workerGPUs: map[types.UID]int{}, workloads: map[types.UID]int{}, pods: map[types.UID]int{}, warnings: map[types.UID]int{},
		clusters: map[types.NamespacedName]string{}, homeless: map[types.NamespacedName][]int{},
	}
}

// Observe takes in an event of a watch.
func (r *Recorder) Observe(obs timeline.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.since(obs.At)
	switch object := obs.Object.(type) {
	case *corev1.Node:
		r.observeNode(at, object, obs.Deleted)
	case *rayv1.RayJob:
		r.observeJob(at, object)
	case *rayv1.RayCluster:
		r.observeCluster(object)
	case *kueue.Workload:
		r.observeWorkload(at, object, obs.Deleted)
	case *corev1.Pod:
		r.observePod(at, object, obs.Deleted)
	case *eventsv1.Event:
		r.observeWarning(at, object)
	}
	for _, event := range r.tracker.Observe(obs) {
		r.addEvent(event)
	}
	r.changed()
}

// Note adds an event of the scenario.
func (r *Recorder) Note(at time.Time, name, job, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Events = append(r.rec.Events, recording.Event{At: r.since(at), Job: job, What: "event", Name: name, Text: text})
	r.out(timeline.Event{At: at, Job: job, What: "event", Text: text})
	r.changed()
}

// Reject notes that the API server refused a job.
func (r *Recorder) Reject(at time.Time, job recording.Job, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	job.Submitted, job.Rejected = r.since(at), answer
	r.rec.Jobs = append(r.rec.Jobs, job)
	event := timeline.Event{At: at, Job: job.Name, What: "rejected", Text: answer}
	r.addEvent(event)
	r.changed()
}

// Violated notes a breach of an invariant.
func (r *Recorder) Violated(at time.Time, rule, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Violations = append(r.rec.Violations, recording.Violation{At: r.since(at), Rule: rule, Detail: detail})
	r.out(timeline.Event{At: at, What: "violation", Text: rule + ": " + detail})
	r.changed()
}

// Tick brings what no watch tells, the work done, to the time now.
func (r *Recorder) Tick(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, moved := r.since(now), false
	for uid, i := range r.jobs {
		job, account := &r.rec.Jobs[i], r.ledger.Account(string(uid))
		if account.Done != job.ItemsDone {
			job.Progress = append(job.Progress, recording.Progress{At: at, Done: account.Done})
			moved = true
		}
		job.ItemsDone, job.ItemsRedone, job.ItemsRepeated = account.Done, account.Redone, account.Repeated
		job.RedoneGPUSeconds = account.Lost.Seconds() * float64(r.workerGPUs[uid])
	}
	r.rec.Duration = at
	if moved {
		r.changed()
	}
}

// Read calls f with the recording as it is now. f must not keep it.
func (r *Recorder) Read(f func(*recording.Recording)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.rec)
}

// Snapshot is a copy of the recording as it is now.
func (r *Recorder) Snapshot() *recording.Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	return clone(&r.rec)
}

// Summary is what the story says of a job; false if nothing.
func (r *Recorder) Summary(name types.NamespacedName, now time.Time) (timeline.Summary, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tracker.Summary(name, now)
}

// Changed returns a channel that is closed at the next change.
func (r *Recorder) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan struct{})
	r.waiting = append(r.waiting, c)
	return c
}

func (r *Recorder) changed() {
	for _, c := range r.waiting {
		close(c)
	}
	r.waiting = nil
}

func (r *Recorder) since(at time.Time) float64 {
	return max(at.Sub(r.start).Seconds(), 0)
}

func (r *Recorder) addEvent(e timeline.Event) {
	r.rec.Events = append(r.rec.Events, recording.Event{
		At: r.since(e.At), Job: e.Job, Group: e.Group, What: string(e.What), Text: e.Text, Latency: e.Latency.Seconds(), Since: e.Since,
	})
	r.out(e)
}

func (r *Recorder) observeJob(at float64, object *rayv1.RayJob) {
	i, ok := r.jobs[object.UID]
	if !ok {
		i = len(r.rec.Jobs)
		r.jobs[object.UID] = i
		plan, planned := r.plan[object.Name]
		if !planned {
			plan = r.unplanned(object)
		}
		if spec := object.Spec.RayClusterSpec; spec != nil && len(spec.WorkerGroupSpecs) > 0 {
			r.workerGPUs[object.UID] = gpusOf(&spec.WorkerGroupSpecs[0].Template.Spec, r.gpu)
		}
		r.rec.Jobs = append(r.rec.Jobs, recording.Job{
			Name: object.Name, Namespace: object.Namespace, Kind: "RayJob", Queue: object.Labels[queueLabel],
			Class: plan.Class, ItemsTotal: plan.Items, Submitted: at,
		})
	}
	job := &r.rec.Jobs[i]
	job.Priority = object.Labels[priorityLabel]
	if job.Finished != nil {
		return
	}
	switch object.Status.JobDeploymentStatus {
	case rayv1.JobDeploymentStatusComplete:
		job.Finished, job.Result = &at, "Succeeded"
		if object.Status.JobStatus != rayv1.JobStatusSucceeded {
			job.Result = "Failed"
		}
	case rayv1.JobDeploymentStatusFailed, rayv1.JobDeploymentStatusValidationFailed:
		job.Finished, job.Result = &at, "Failed"
	}
}

// unplanned is what a job says about itself that is not of the scenario.
func (r *Recorder) unplanned(object *rayv1.RayJob) Job {
	job := Job{Class: object.Annotations[ClassAnnotation]}
	// Work that can't be read makes a job that fails, with no items.
	if work, err := simray.ParseWork(object.Annotations[simray.WorkAnnotation]); err == nil {
		job.Items = work.Items()
	}
	return job
}

func (r *Recorder) observeCluster(object *rayv1.RayCluster) {
	if object.Labels[utils.RayOriginatedFromCRDLabelKey] != utils.RayOriginatedFromCRDLabelValue(utils.RayJobCRD) {
		return
	}
	name := client.ObjectKeyFromObject(object)
	owner := object.Labels[utils.RayOriginatedFromCRNameLabelKey]
	r.clusters[name] = owner
	for _, i := range r.homeless[name] {
		r.rec.Pods[i].Job = owner
	}
	delete(r.homeless, name)
}

func (r *Recorder) observeNode(at float64, object *corev1.Node, deleted bool) {
	i, ok := r.nodes[object.Name]
	if !ok {
		i = len(r.rec.Nodes)
		r.nodes[object.Name] = i
		gpus := object.Status.Allocatable[r.gpu]
		r.rec.Nodes = append(r.rec.Nodes, recording.Node{
			Name: object.Name, Block: object.Labels[blockLabel], Rack: object.Labels[rackLabel], GPUs: int(gpus.Value()),
		})
	}
	node := &r.rec.Nodes[i]
	why := awayReason(object, deleted)
	open := len(node.Away) > 0 && node.Away[len(node.Away)-1].To == nil
	if open && node.Away[len(node.Away)-1].Why == why {
		return
	}
	if open {
		node.Away[len(node.Away)-1].To = ptr.To(at)
	}
	if why != "" {
		node.Away = append(node.Away, recording.Away{From: at, Why: why})
	}
}

// ReleasedAll reports whether each of the jobs has ended and holds nothing.
func (r *Recorder) ReleasedAll(names []types.NamespacedName, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(names, func(name types.NamespacedName) bool {
		summary, ok := r.tracker.Summary(name, now)
		return !ok || !summary.Released
	})
}
