// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recording holds what was seen of one run of a scenario: enough to
// write every report about it, and to play it back. Times are seconds since
// the start of the run, as the watch delivered the change; they are real
// seconds, not divided by the time scale.
package recording

import "time"

// Version is the version of the format. It changes when a field changes its
// meaning or goes away.
const Version = 1

// Recording is one run of one scenario.
type Recording struct {
	Version     int       `json:"version"`
	Scenario    string    `json:"scenario"`
	Title       string    `json:"title"`
	Description string    `json:"description,omitempty"`
	Manager     Manager   `json:"manager"`
	Started     time.Time `json:"started"`
	// Duration is the length of the run in seconds.
	Duration float64 `json:"duration"`
	// TimeScale says how many seconds of the scenario's story one second of
	// the run stands for; 1 is real time.
	TimeScale float64 `json:"timeScale"`
	// Filling is set if the run is about filling what others leave.
	Filling *Filling `json:"filling,omitempty"`

	Nodes       []Node       `json:"nodes"`
	Queues      []Queue      `json:"queues"`
	Jobs        []Job        `json:"jobs"`
	Workloads   []Workload   `json:"workloads"`
	Pods        []Pod        `json:"pods"`
	Events      []Event      `json:"events"`
	Checks      []Check      `json:"checks"`
	Comparisons []Comparison `json:"comparisons,omitempty"`
	Violations  []Violation  `json:"violations,omitempty"`
	// Warnings are recorded only for a scenario that asks for them.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Filling says who fills what others leave, and how long that counts.
type Filling struct {
	// Class is of the jobs that fill.
	Class string `json:"class"`
	// Until is in seconds of the story; 0 is the end of the run.
	Until float64 `json:"until,omitempty"`
}

// Manager is the queue manager that ran.
type Manager struct {
	// Name tells arms of one report apart, for example "upstream v0.19.2".
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Gates   []string `json:"gates,omitempty"`
	// Cost is nil if it was not measured.
	Cost *Cost `json:"cost,omitempty"`
}

// Cost is what the manager took from the start of the scenario to its end.
type Cost struct {
	// CPUSeconds is processor time, PeakBytes the most memory that it held
	// since it was started. A restart of the manager makes both less.
	CPUSeconds float64 `json:"cpuSeconds"`
	PeakBytes  int64   `json:"peakBytes"`
	// WorkloadWrites are the requests that changed Workloads, of any client.
	WorkloadWrites int64 `json:"workloadWrites"`
}

// Node is one simulated node.
type Node struct {
	Name  string `json:"name"`
	Block string `json:"block,omitempty"`
	Rack  string `json:"rack,omitempty"`
	// GPUs is 0 for a node that has none.
	GPUs int `json:"gpus"`
	// Away are the times during which nothing new could go to the node.
	Away []Away `json:"away,omitempty"`
}

// Away is a time during which a node took no new pods.
type Away struct {
	From float64 `json:"from"`
	// To is nil while it lasts.
	To *float64 `json:"to,omitempty"`
	// Why is "lost", "unready" or "cordoned".
	Why string `json:"why"`
}

// Queue is a ClusterQueue with its GPU quota.
type Queue struct {
	Name   string `json:"name"`
	Cohort string `json:"cohort,omitempty"`
	// GPUs is the nominal quota at the start.
	GPUs int `json:"gpus"`
}

// Job is one job of the scenario.
type Job struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Queue     string `json:"queue"`
	// Priority is the name of its WorkloadPriorityClass.
	Priority string `json:"priority,omitempty"`
	// Class groups jobs in reports, for example "training" or "evals".
	Class     string   `json:"class,omitempty"`
	Submitted float64  `json:"submitted"`
	Finished  *float64 `json:"finished,omitempty"`
	// Result is "Succeeded", "Failed", or empty while it has none.
	Result string `json:"result,omitempty"`
	// RedoneGPUSeconds is the time that GPUs worked on starts of items that
	// came to nothing, in seconds of the run; 0 if it was not measured.
	RedoneGPUSeconds float64 `json:"redoneGPUSeconds,omitempty"`
	// ItemsTotal and ItemsDone count work items; ItemsRedone counts starts
	// of an item beyond its first.
	ItemsTotal  int `json:"itemsTotal"`
	ItemsDone   int `json:"itemsDone"`
	ItemsRedone int `json:"itemsRedone"`
	// ItemsRepeated counts commits of an item beyond its first, which the
	// ledger refused.
	ItemsRepeated int `json:"itemsRepeated,omitempty"`
	// Progress is how many items were done at which time; neighbours differ.
	Progress []Progress `json:"progress,omitempty"`
	// Rejected is the answer of the API server, if it refused the job.
	Rejected string `json:"rejected,omitempty"`
}

// Progress is how many items of a job were done at a time.
type Progress struct {
	At   float64 `json:"at"`
	Done int     `json:"done"`
}

// Workload is one Workload (one slice of an elastic job, or one group of a
// job whose groups are admitted on their own).
type Workload struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	Job  string `json:"job"`
	// Group is the worker group it stands for; empty if the whole job.
	Group    string `json:"group,omitempty"`
	Priority string `json:"priority,omitempty"`
	// Replaces is the name of the slice that it takes over from.
	Replaces string `json:"replaces,omitempty"`
	Spans    []Span `json:"spans"`
}

// State is what a Workload does at a time.
type State string

// The states of a Workload.
const (
	// Pending waits for quota.
	Pending State = "pending"
	// Admitted holds quota and may run.
	Admitted State = "admitted"
	// Draining was evicted and still holds quota for pods that stop.
	Draining State = "draining"
	// BackingOff was evicted and may not be admitted yet.
	BackingOff State = "backing-off"
	// Inactive is deactivated (spec.active is false).
	Inactive State = "inactive"
	// Done has finished, or was replaced by another slice.
	Done State = "done"
)

// Span is a time during which a Workload's state, counts and reason stayed
// the same.
type Span struct {
	From float64 `json:"from"`
	// To is nil while it lasts.
	To    *float64 `json:"to,omitempty"`
	State State    `json:"state"`
	// Counts are the pods of each PodSet.
	Counts map[string]int `json:"counts,omitempty"`
	// GPUs is what it asks for (pending) or holds.
	GPUs int `json:"gpus"`
	// Reason and Message are of the condition that tells why.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Nodes are the pods by node of each PodSet that has an assignment.
	Nodes map[string]map[string]int `json:"nodes,omitempty"`
}

// Pod is one pod and its life. A time is nil if it has not come.
type Pod struct {
	Name      string `json:"name"`
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	// Job is empty for pods outside the queue.
	Job string `json:"job,omitempty"`
	// Workload is the Workload whose name the pod carries; a growth keeps the
	// name of the first slice.
	Workload string `json:"workload,omitempty"`
	// Group is the Ray group; "head" is the head.
	Group string `json:"group,omitempty"`
	GPUs  int    `json:"gpus"`
	Node  string `json:"node,omitempty"`

	Created  float64  `json:"created"`
	Released *float64 `json:"released,omitempty"`
	Bound    *float64 `json:"bound,omitempty"`
	Ready    *float64 `json:"ready,omitempty"`
	// Stopping is when its deletion was asked for; it holds its node until
	// Gone.
	Stopping *float64 `json:"stopping,omitempty"`
	Gone     *float64 `json:"gone,omitempty"`
	// Failed says that it ended with an error, at Gone at the latest.
	Failed bool `json:"failed,omitempty"`
	// Unready are the times after Ready during which it was not ready.
	Unready []Interval `json:"unready,omitempty"`
}

// Interval is a time with a start and, when it is over, an end.
type Interval struct {
	From float64  `json:"from"`
	To   *float64 `json:"to,omitempty"`
}

// Event is one line of the story.
type Event struct {
	At float64 `json:"at"`
	// Job is empty for what concerns the whole fleet.
	Job string `json:"job,omitempty"`
	// Group is the worker group that it concerns alone, as an eviction does
	// when groups are admitted on their own.
	Group string `json:"group,omitempty"`
	What  string `json:"what"`
	Text  string `json:"text"`
	// Name is the scenario's name for an event that it caused.
	Name string `json:"name,omitempty"`
	// Latency, in seconds, is the time since what caused the event, and Since
	// says what that was; both are empty if there is no such thing.
	Latency float64 `json:"latency,omitempty"`
	Since   string  `json:"since,omitempty"`
}

// Check is one thing that had to hold.
type Check struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	// Evidence are the observations that decided it, oldest first.
	Evidence []string `json:"evidence,omitempty"`
}

// Comparison is a measure beside the value that was measured elsewhere.
type Comparison struct {
	Measure string `json:"measure"`
	// Reference is the value of the run that the scenario retells.
	Reference string `json:"reference"`
	Here      string `json:"here"`
}

// Violation is a breach of an invariant that the checker saw.
type Violation struct {
	At     float64 `json:"at"`
	Rule   string  `json:"rule"`
	Detail string  `json:"detail"`
}

// Warning is a Warning event about an object.
type Warning struct {
	// At is when it was told for the first time.
	At float64 `json:"at"`
	// Kind, Name and UID are of the object that it is about.
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	UID    string `json:"uid"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
	// Count is how often it was told.
	Count int `json:"count"`
}
