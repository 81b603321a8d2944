// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario reads the files that say what happens on a sandbox: its
// machines and queues, jobs with their work, events, and what must hold. It
// only reads and judges text; package play makes it happen.
//
// The doc tags below are the text of docs/scenarios.md.
package scenario

import (
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
)

// Scenario is one file.
type Scenario struct {
	// Name is the file's name without its extension.
	Name string `yaml:"-"`
	// Dir is the folder that relative file names start from.
	Dir string `yaml:"-"`

	Title       string      `yaml:"title" doc:"one line that says what it shows; must be set"`
	Description string      `yaml:"description" doc:"more about it, for the report"`
	Long        bool        `yaml:"long" doc:"true if it takes minutes; run --all leaves it out"`
	TimeScale   float64     `yaml:"timeScale" doc:"seconds of the story that one second of the run stands for, 0.1 to 10000; default 10"`
	Timeout     Duration    `yaml:"timeout" doc:"real time after which the run has failed; default 5m"`
	Fleet       Fleet       `yaml:"fleet" doc:"the machines"`
	Queues      []Queue     `yaml:"queues" doc:"the queues; default is one, training, over the whole fleet"`
	Manager     Manager     `yaml:"manager" doc:"settings of the queue manager"`
	Drain       Drain       `yaml:"drain" doc:"how long deleted pods hold their node"`
	Objects     []Object    `yaml:"objects" doc:"what is there before the first job, such as pods outside the queue"`
	Jobs        []Job       `yaml:"jobs" doc:"the jobs"`
	Filling     *Filling    `yaml:"filling" doc:"set if the story is about filling what others leave; reports then have the figures of a week"`
	Events      []Event     `yaml:"events" doc:"what happens besides"`
	Checks      []Check     `yaml:"checks" doc:"what must hold"`
	Reference   []Reference `yaml:"reference" doc:"measures of another run to put beside this one's"`
}

// Filling says who fills what others leave.
type Filling struct {
	Class string `yaml:"class" doc:"class of the jobs that fill; must be set"`
	// What comes after the story is over counts for nobody.
	Until Duration `yaml:"until" doc:"time of the story up to which it counts; default to the end"`
}

// Fleet says which machines there are. What is not set is as in
// fleet.DefaultShape.
type Fleet struct {
	GPUNodes      *int `yaml:"gpuNodes" doc:"machines with GPUs; default 24"`
	GPUsPerNode   *int `yaml:"gpusPerNode" doc:"default 8"`
	CPUNodes      *int `yaml:"cpuNodes" doc:"machines without; default 2"`
	Racks         *int `yaml:"racks" doc:"default 3, or fewer if there are fewer GPU machines"`
	RacksPerBlock *int `yaml:"racksPerBlock" doc:"default 2"`
}

// Shape is the fleet with its defaults filled in.
func (f Fleet) Shape() fleet.Shape {
	shape := fleet.DefaultShape()
	set := func(to *int, from *int) {
		if from != nil {
			*to = *from
		}
	}
	set(&shape.GPUNodes, f.GPUNodes)
	set(&shape.GPUsPerNode, f.GPUsPerNode)
	set(&shape.CPUNodes, f.CPUNodes)
	shape.Racks = max(min(shape.Racks, shape.GPUNodes), 1)
	set(&shape.Racks, f.Racks)
	set(&shape.RacksPerBlock, f.RacksPerBlock)
	return shape
}

// Queue is a ClusterQueue with a LocalQueue in the namespace of the jobs.
type Queue struct {
	Name               string `yaml:"name" doc:"name of the ClusterQueue; must be set"`
	LocalQueue         string `yaml:"localQueue" doc:"name that jobs use; default is the name with -lq"`
	Cohort             string `yaml:"cohort" doc:"cohort it belongs to; default none"`
	GPUs               *int   `yaml:"gpus" doc:"nominal quota of GPUs; default is all of the fleet's"`
	BorrowingLimit     *int   `yaml:"borrowingLimit" doc:"GPUs it may borrow; default no limit within a cohort"`
	WithinClusterQueue string `yaml:"withinClusterQueue" doc:"preemption in the queue: Never, LowerPriority (default) or LowerOrNewerEqualPriority"`
	ReclaimFromCohort  string `yaml:"reclaimWithinCohort" doc:"taking back what was lent: Never (default), LowerPriority or Any"`
}

// Manager are settings of the queue manager.
type Manager struct {
	Gates          map[string]bool `yaml:"gates" doc:"feature gates to set besides those of elastic jobs and topologies"`
	StartWindow    *Duration       `yaml:"startWindow" doc:"how long a job may take to get ready, in time of the story; default 30m"`
	RecoveryWindow *Duration       `yaml:"recoveryWindow" doc:"how long it may be unready later, in time of the story; default 5m"`
	FleetGates     map[string]bool `yaml:"fleetGates" doc:"more gates, for a manager that is kueue-fleet; others do not get them"`
	FleetConfig    map[string]any  `yaml:"fleetConfig" doc:"sections of a FleetConfiguration, for a manager that is kueue-fleet"`
}

// Drain says how long deleted pods hold their node, in time of the story.
type Drain struct {
	Worker *Duration `yaml:"worker" doc:"median for workers and all other pods; default 1.2s"`
	Head   *Duration `yaml:"head" doc:"for heads of Ray clusters; default 30s, the usual grace period"`
}

// Object is any object of the cluster.
type Object struct {
	File     string         `yaml:"file" doc:"file with one or more objects, relative to the scenario"`
	Manifest map[string]any `yaml:"manifest" doc:"the object itself; either this or file"`
}

// Trigger says when something happens. Nothing set means at the start.
type Trigger struct {
	At    Duration   `yaml:"at" doc:"time of the story since the start"`
	When  *Condition `yaml:"when" doc:"or when this holds for the first time"`
	Delay Duration   `yaml:"delay" doc:"time of the story to wait after that"`
}

// Expectation is how a job is to end.
type Expectation string

// The ways for a job to end.
const (
	Succeeds Expectation = "succeeds"
	Fails    Expectation = "fails"
	Rejected Expectation = "rejected"
	Whatever Expectation = "whatever"
)

// Job is a RayJob and its work.
type Job struct {
	Trigger  `yaml:",inline"`
	Name     string         `yaml:"name" doc:"name, in place of the manifest's"`
	File     string         `yaml:"file" doc:"file with one RayJob, relative to the scenario"`
	Manifest map[string]any `yaml:"manifest" doc:"the RayJob itself; either this or file"`
	Set      map[string]any `yaml:"set" doc:"changes: a path such as spec.rayClusterSpec.workerGroupSpecs[0].replicas and its value; null removes"`
	Workers  *int           `yaml:"workers" doc:"a fixed size of the first worker group, in place of the manifest's"`
	GPUs     *int           `yaml:"gpus" doc:"GPUs of each of its workers, in place of the manifest's"`
	Priority string         `yaml:"priority" doc:"q0, q1 or q2, in place of the manifest's"`
	Queue    string         `yaml:"queue" doc:"LocalQueue, in place of the manifest's"`
	Class    string         `yaml:"class" doc:"groups jobs in reports"`
	Copies   int            `yaml:"copies" doc:"so many jobs of this kind, with -1, -2 … at the end of their names; default one without"`
	Work     *Work          `yaml:"work" doc:"what its driver does; default is the manifest's annotation"`
	Expect   Expectation    `yaml:"expect" doc:"succeeds (default: with every item done), fails, rejected (at create), or whatever (the run does not wait for its end)"`
}

// Work is what a job's driver does and how its autoscaler behaves.
type Work struct {
	ItemsPerWorker int       `yaml:"itemsPerWorker" doc:"items that a worker works on at the same time; default 1"`
	ModelLoad      Duration  `yaml:"modelLoad" doc:"what each new worker takes before its first item"`
	Autoscaler     string    `yaml:"autoscaler" doc:"ray (default) follows the demand; off leaves the size alone, for scale events"`
	Upscale        int       `yaml:"upscale" doc:"workers that the autoscaler asks for in one step; default 1"`
	RemoveUnready  *Duration `yaml:"removeUnready" doc:"the autoscaler removes a worker that was ready and is not for so long; default 10s, 0s never"`
	Phases         []Phase   `yaml:"phases" doc:"one after the other; at least one"`
}

// Phase is a number of equal items.
type Phase struct {
	Name     string   `yaml:"name" doc:"name of the task in the ledger; default is its position"`
	Group    string   `yaml:"group" doc:"worker group that works on it, beside the phases of other groups; default all workers. In all phases or in none"`
	Items    int      `yaml:"items" doc:"how many, 1 to 1000000"`
	Duration Duration `yaml:"duration" doc:"what one takes"`
	Workers  int      `yaml:"workers" doc:"workers that one item takes at the same time, as a placement group does; default 1"`
}

// State is what a condition can ask of a job.
type State string

// The states.
const (
	StateSubmitted State = "submitted"
	StatePending   State = "pending"
	StateAdmitted  State = "admitted"
	StateRunning   State = "running"
	StateFinished  State = "finished"
	StateSucceeded State = "succeeded"
	StateFailed    State = "failed"
	StateRejected  State = "rejected"
	StateGone      State = "gone"
)

// Condition is something that is true at a time or is not. All that is set
// must hold.
type Condition struct {
	Job       string `yaml:"job" doc:"the job it is about"`
	Group     string `yaml:"group" doc:"count only this worker group (its evictions too); default all but the head"`
	State     State  `yaml:"state" doc:"submitted, pending (waits and holds nothing), admitted, running (all admitted workers are ready), finished, succeeded, failed, rejected, or gone (had pods, has none)"`
	Workers   *int   `yaml:"workers" doc:"workers admitted (or ready, with running)"`
	Waits     *int   `yaml:"waits" doc:"workers of a Workload of the job that waits"`
	Pods      *int   `yaml:"pods" doc:"workers that hold a node, those that stop included"`
	Items     int    `yaml:"items" doc:"at least so many items are done"`
	Evictions int    `yaml:"evictions" doc:"at least so many evictions"`
	Event     string `yaml:"event" doc:"the event of this name has happened"`
}

// Target names pods of a job.
type Target struct {
	Job   string `yaml:"job" doc:"the job; must be set"`
	Group string `yaml:"group" doc:"worker group, or head; default all workers"`
	Pods  int    `yaml:"pods" doc:"so many, the youngest first; default all"`
}

// NodeTarget names a node.
type NodeTarget struct {
	Node   string `yaml:"node" doc:"name of the node"`
	NodeOf string `yaml:"nodeOf" doc:"or the node of the oldest worker of this job"`
}

// Scale changes the size of a group as an autoscaler would.
type Scale struct {
	Job      string `yaml:"job" doc:"the job; must be set"`
	Group    string `yaml:"group" doc:"worker group; default the first"`
	Replicas int    `yaml:"replicas" doc:"its new size; when it shrinks the youngest workers go"`
}

// Restart ends the manager's process and starts it again.
type Restart struct {
	DownFor Duration `yaml:"downFor" doc:"time of the story that it is away; default 0s"`
}

// SetQuota changes a quota.
type SetQuota struct {
	Queue string `yaml:"queue" doc:"the ClusterQueue; must be set"`
	GPUs  int    `yaml:"gpus" doc:"its new nominal quota"`
}

// JobTarget names a job.
type JobTarget struct {
	Job string `yaml:"job" doc:"the job; must be set"`
}

// SetPriority changes the queue priority of a job.
type SetPriority struct {
	Job      string `yaml:"job" doc:"the job; must be set"`
	Priority string `yaml:"priority" doc:"q0, q1 or q2"`
}

// ObjectTarget names an object that the scenario made.
type ObjectTarget struct {
	Kind string `yaml:"kind" doc:"its kind; must be set"`
	Name string `yaml:"name" doc:"its name; must be set"`
}

// Event is something that happens. Exactly one of the actions is set.
type Event struct {
	Trigger        `yaml:",inline"`
	Name           string        `yaml:"name" doc:"name for conditions; default is the action and its position"`
	Scale          *Scale        `yaml:"scale" doc:"change the size of a group"`
	StallPods      *Target       `yaml:"stallPods" doc:"make running pods unready"`
	RecoverPods    *Target       `yaml:"recoverPods" doc:"make stalled pods ready again"`
	HoldPods       *Target       `yaml:"holdPods" doc:"from now on these pods don't end when they are deleted"`
	ReleasePods    *Target       `yaml:"releasePods" doc:"let held pods end"`
	DeletePods     *Target       `yaml:"deletePods" doc:"delete pods"`
	FailPods       *Target       `yaml:"failPods" doc:"make pods end with an error"`
	LoseNode       *NodeTarget   `yaml:"loseNode" doc:"the machine is gone from the network: not ready, its pods neither run nor end"`
	RestoreNode    *NodeTarget   `yaml:"restoreNode" doc:"it is back, restarted: its pods have failed"`
	Cordon         *NodeTarget   `yaml:"cordon" doc:"nothing new goes to the node"`
	Uncordon       *NodeTarget   `yaml:"uncordon" doc:"it takes pods again"`
	RestartManager *Restart      `yaml:"restartManager" doc:"kill the queue manager and start it again"`
	SetQuota       *SetQuota     `yaml:"setQuota" doc:"change a quota of GPUs"`
	SetPriority    *SetPriority  `yaml:"setPriority" doc:"change a job's priority in the queue"`
	DeleteJob      *JobTarget    `yaml:"deleteJob" doc:"delete a job"`
	FinishJob      *JobTarget    `yaml:"finishJob" doc:"let a job's driver end at once; all its open items count as done"`
	CreateObject   *Object       `yaml:"createObject" doc:"create an object"`
	DeleteObject   *ObjectTarget `yaml:"deleteObject" doc:"delete an object of objects or createObject"`
}

// FleetQueues are the queues as package fleet makes them.
func (s *Scenario) FleetQueues() []fleet.Queue {
	queues := make([]fleet.Queue, len(s.Queues))
	for i := range s.Queues {
		q := &s.Queues[i]
		queues[i] = fleet.Queue{
			Name: q.Name, LocalQueue: q.LocalQueue, Cohort: q.Cohort, GPUs: q.GPUs, BorrowingLimit: q.BorrowingLimit,
			WithinClusterQueue:  kueue.PreemptionPolicy(q.WithinClusterQueue),
			ReclaimWithinCohort: kueue.PreemptionPolicy(q.ReclaimFromCohort),
		}
	}
	return queues
}

// WithoutJobs takes out all that happens and leaves the fleet.
func (s *Scenario) WithoutJobs() {
	s.Jobs, s.Events, s.Checks, s.Reference = nil, nil, nil, nil
}
