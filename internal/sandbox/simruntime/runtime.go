// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simruntime plays the part of the Ray processes in the pods that
// KubeRay makes: it is the dashboard that KubeRay submits jobs to, it runs
// their simulated drivers on the pods that are ready, and it asks for more or
// fewer workers as Ray's autoscaler does. Package simray holds the model.
package simruntime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

const (
	// tickPeriod is how often drivers look at their workers.
	tickPeriod = 50 * time.Millisecond
	// scalePeriod is how often the autoscaler decides, in time of the story;
	// the default of Ray's.
	scalePeriod = 5 * time.Second
)

// ErrUnknownJob says that a dashboard has no job of the given id.
var ErrUnknownJob = errors.New("job does not exist on the cluster")

// ErrUnreachable says that no dashboard answers: the head pod does not run.
var ErrUnreachable = errors.New("dashboard is not reachable, the head pod is not ready")

// Runtime holds the simulated Ray processes of all clusters. What a head pod
// knows is lost with it, as in Ray; the ledger stays.
type Runtime struct {
	client client.Client
	ledger *simray.Ledger
	clock  clock.WithTicker
	log    logr.Logger

	mu    sync.Mutex
	jobs  map[jobKey]*job
	works map[types.NamespacedName]simray.Work
	scale float64
}

type jobKey struct {
	cluster types.NamespacedName
	id      string
}

// Job is a submitted job.
type Job struct {
	ID         string
	Entrypoint string
	Status     rayv1.JobStatus
	Message    string
	Start, End time.Time
}

type job struct {
	Job
	rayJob types.NamespacedName
	head   types.UID
	// drivers are the parts of the program by the worker group that they use;
	// empty when the work could not be read.
	drivers   map[string]*simray.Driver
	nextScale time.Time
	// unready is since when workers that were ready are not.
	unready map[string]time.Time
	ready   map[string]bool
}

// New returns a Runtime. c should read from a cache: it is asked many times a
// second.
func New(c client.Client, ledger *simray.Ledger, clk clock.WithTicker, log logr.Logger) *Runtime {
	return &Runtime{
		client: c, ledger: ledger, clock: clk, log: log,
		jobs: map[jobKey]*job{}, works: map[types.NamespacedName]simray.Work{}, scale: 1,
	}
}

// SetTimeScale says how many seconds of the story one second of the run
// stands for. It counts for jobs that are submitted later.
func (r *Runtime) SetTimeScale(scale float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scale = scale
}

// SetWork says what the driver of a RayJob does, in place of the annotation.
func (r *Runtime) SetWork(rayJob types.NamespacedName, work simray.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works[rayJob] = work
}

// Finish lets the driver of a RayJob end at once, with all items done.
func (r *Runtime) Finish(rayJob types.NamespacedName) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		if j.rayJob == rayJob && len(j.drivers) > 0 && !rayv1.IsJobTerminal(j.Status) {
			for _, driver := range j.drivers {
				driver.Finish()
			}
			return nil
		}
	}
	return fmt.Errorf("failed to finish job %s: its driver does not run", rayJob)
}

// Start runs the simulation until ctx is done.
func (r *Runtime) Start(ctx context.Context) error {
	ticker := r.clock.NewTicker(tickPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			r.tick(ctx)
		}
	}
}

// Submit starts a job on a cluster. Work that cannot be read makes a failed
// job, like a driver that ends with an error.
func (r *Runtime) Submit(ctx context.Context, cluster types.NamespacedName, rayJob *rayv1.RayJob) error {
	pods, err := r.pods(ctx, cluster)
	if err != nil {
		return err
	}
	if !pods.headReady() {
		return fmt.Errorf("failed to submit a job to %s: %w", cluster, ErrUnreachable)
	}
	now := r.clock.Now()
	j := &job{
		Job:    Job{ID: rayJob.Status.JobId, Entrypoint: rayJob.Spec.Entrypoint, Status: rayv1.JobStatusRunning, Start: now},
		rayJob: client.ObjectKeyFromObject(rayJob),
		head:   pods.head.UID,
		ready:  map[string]bool{}, unready: map[string]time.Time{},
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	work, known := r.works[j.rayJob]
	if !known {
		work, err = simray.ParseWork(rayJob.Annotations[simray.WorkAnnotation])
	}
	if err != nil {
		j.Status, j.Message, j.End = rayv1.JobStatusFailed, err.Error(), now
	} else {
		j.drivers = map[string]*simray.Driver{}
		for group, part := range work.Scaled(r.scale).Parts() {
			j.drivers[group] = simray.NewDriver(string(rayJob.UID), part, r.ledger)
		}
	}
	key := jobKey{cluster, j.ID}
	if _, ok := r.jobs[key]; ok {
		return fmt.Errorf("failed to submit job %q to %s: it exists already", j.ID, cluster)
	}
	r.jobs[key] = j
	return nil
}

// Job returns a job as the dashboard of the cluster knows it.
func (r *Runtime) Job(ctx context.Context, cluster types.NamespacedName, id string) (Job, error) {
	pods, err := r.pods(ctx, cluster)
	if err != nil {
		return Job{}, err
	}
	if !pods.headReady() {
		return Job{}, fmt.Errorf("failed to ask for job %q on %s: %w", id, cluster, ErrUnreachable)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := jobKey{cluster, id}
	j, ok := r.jobs[key]
	if ok && j.head != pods.head.UID {
		delete(r.jobs, key)
		ok = false
	}
	if !ok {
		return Job{}, fmt.Errorf("failed to ask for job %q on %s: %w", id, cluster, ErrUnknownJob)
	}
	return j.Job, nil
}

// Jobs returns all jobs of a cluster.
func (r *Runtime) Jobs(cluster types.NamespacedName) []Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var jobs []Job
	for key, j := range r.jobs {
		if key.cluster == cluster {
			jobs = append(jobs, j.Job)
		}
	}
	return jobs
}

// Stop ends a job before its work is done.
func (r *Runtime) Stop(cluster types.NamespacedName, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if j, ok := r.jobs[jobKey{cluster, id}]; ok && !rayv1.IsJobTerminal(j.Status) {
		j.Status, j.End = rayv1.JobStatusStopped, r.clock.Now()
	}
}

// Forget removes a job.
func (r *Runtime) Forget(cluster types.NamespacedName, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs, jobKey{cluster, id})
}

// tick brings every job to the present.
func (r *Runtime) tick(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, j := range r.jobs {
		pods, err := r.pods(ctx, key.cluster)
		if err != nil {
			r.log.Error(err, "Failed to look at a Ray cluster", "cluster", key.cluster)
			continue
		}
		if pods.head == nil || pods.head.UID != j.head {
			if !rayv1.IsJobTerminal(j.Status) {
				for _, driver := range j.drivers {
					driver.Abandon(r.clock.Now())
				}
			}
			delete(r.jobs, key)
			continue
		}
		if rayv1.IsJobTerminal(j.Status) || !pods.headReady() {
			continue
		}
		now := r.clock.Now()
		done := true
		for group, driver := range j.drivers {
			driver.Advance(now, pods.readyWorkers(group))
			done = done && driver.Done()
		}
		if done {
			j.Status, j.End = rayv1.JobStatusSucceeded, now
			continue
		}
		// A worker may be ready between two decisions only.
		j.noteReadiness(now, pods)
		if !now.Before(j.nextScale) {
			j.nextScale = now.Add(time.Duration(float64(scalePeriod) / r.scale))
			if err := r.scaleGroups(ctx, now, key.cluster, j, pods); err != nil {
				r.log.Error(err, "Failed to scale a Ray cluster", "cluster", key.cluster)
			}
		}
	}
}
