// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

// Check is something that must hold. Exactly one kind is set.
type Check struct {
	Name      string          `yaml:"name" doc:"a sentence that says what must hold; must be set"`
	Sequence  []Condition     `yaml:"sequence" doc:"these hold one after the other (or at once)"`
	Within    *WithinCheck    `yaml:"within" doc:"something holds soon after something else"`
	Never     *NeverCheck     `yaml:"never" doc:"something never holds"`
	Counts    *CountsCheck    `yaml:"counts" doc:"the sizes that were admitted, in order"`
	Nodes     *NodesCheck     `yaml:"nodes" doc:"where the workers ran"`
	Evictions *EvictionsCheck `yaml:"evictions" doc:"how often a job was evicted"`
	Items     *ItemsCheck     `yaml:"items" doc:"the work that was done"`
	Progress  *ProgressCheck  `yaml:"progress" doc:"the work that was done between two times"`
	KeptPods  *KeptPodsCheck  `yaml:"keptPods" doc:"pods that stayed the same pods"`
	Messages  *MessagesCheck  `yaml:"messages" doc:"what the Workload said while it waited"`
	Warnings  *WarningsCheck  `yaml:"warnings" doc:"the Warning events about a job"`
	Rejected  *RejectedCheck  `yaml:"rejected" doc:"the API server's answer to a job that is refused"`
	Waited    *WaitedCheck    `yaml:"waited" doc:"how long a job waited"`
	Filled    *FilledCheck    `yaml:"filled" doc:"how much of what others leave is filled"`
	Nothing   *NothingCheck   `yaml:"nothingLeft" doc:"nothing is left of a job"`
}

// WithinCheck bounds a wait. It is a bound on real time, for what must not
// depend on a later event; benchmarks measure speed.
type WithinCheck struct {
	Condition Condition   `yaml:"condition" doc:"what must hold"`
	After     []Condition `yaml:"after" doc:"counted from when these held, one after the other; default from the start"`
	Limit     Duration    `yaml:"limit" doc:"real time; must be set"`
}

// NeverCheck forbids a condition during a time.
type NeverCheck struct {
	Condition Condition   `yaml:"condition" doc:"what must not hold"`
	From      []Condition `yaml:"from" doc:"from when these held, one after the other; default from the start"`
	Until     []Condition `yaml:"until" doc:"until these held after that; default to the end. It must come true"`
}

// CountsCheck compares admitted sizes.
type CountsCheck struct {
	Job   string `yaml:"job" doc:"the job; must be set"`
	Group string `yaml:"group" doc:"worker group; default all but the head"`
	Are   []int  `yaml:"are" doc:"exactly these sizes, 0 for a time without admission"`
	Begin []int  `yaml:"begin" doc:"these first"`
	End   []int  `yaml:"end" doc:"these last"`
	Never []int  `yaml:"never" doc:"none of these at any time"`
}

// NodesCheck compares nodes.
type NodesCheck struct {
	Job    string   `yaml:"job" doc:"the job; must be set"`
	Group  string   `yaml:"group" doc:"worker group or head; default all workers"`
	Are    []string `yaml:"are" doc:"exactly these over the whole run"`
	AtMost int      `yaml:"atMost" doc:"so many at most"`
	Spread []int    `yaml:"spread" doc:"the most pods at one time on each node, largest first"`
	Racks  int      `yaml:"racksAtMost" doc:"so many racks at most"`
}

// EvictionsCheck counts evictions.
type EvictionsCheck struct {
	Job    string `yaml:"job" doc:"the job"`
	Class  string `yaml:"class" doc:"or all jobs of this class, together"`
	Group  string `yaml:"group" doc:"only of the Workload of this worker group, or of head; default all of the job"`
	Are    int    `yaml:"are" doc:"exactly so many"`
	Reason string `yaml:"reason" doc:"each for this reason, such as Preempted or PodsReadyTimeout"`
}

// ItemsCheck looks at the ledger.
type ItemsCheck struct {
	Job    string `yaml:"job" doc:"the job; must be set"`
	Done   *int   `yaml:"done" doc:"so many, each committed once; default all"`
	Redone *int   `yaml:"redoneAtMost" doc:"so many items were started again at most; default any number"`
}

// ProgressCheck counts items that were committed between two times.
type ProgressCheck struct {
	Job     string      `yaml:"job" doc:"the job; must be set"`
	From    []Condition `yaml:"from" doc:"from when these held, one after the other; must be set"`
	Until   []Condition `yaml:"until" doc:"until these held after that; must be set"`
	AtLeast int         `yaml:"atLeast" doc:"so many items at least; must be 1 or more"`
}

// KeptPodsCheck compares pods of two times.
type KeptPodsCheck struct {
	Job   string      `yaml:"job" doc:"the job; must be set"`
	Group string      `yaml:"group" doc:"worker group or head; default all workers"`
	From  []Condition `yaml:"from" doc:"the pods that ran when these held, one after the other; must be set"`
	Until []Condition `yaml:"until" doc:"still ran when these held after that; must be set"`
}

// MessagesCheck looks for text in the messages of a waiting Workload.
type MessagesCheck struct {
	Job      string   `yaml:"job" doc:"the job; must be set"`
	Contain  []string `yaml:"contain" doc:"each is part of some message"`
	Together []string `yaml:"together" doc:"all are part of one message"`
	Last     []string `yaml:"last" doc:"all are part of the last message before the admission"`
	Lack     []string `yaml:"lack" doc:"none is part of any message"`
	AtMost   int      `yaml:"atMost" doc:"so many different messages while it waited; default any number"`
}

// WarningsCheck counts Warning events about a job and its Workloads.
type WarningsCheck struct {
	Job     string   `yaml:"job" doc:"the job; must be set"`
	Reason  string   `yaml:"reason" doc:"those with this reason; must be set"`
	Are     int      `yaml:"are" doc:"exactly so many; one that is repeated counts each time"`
	Contain []string `yaml:"contain" doc:"each is part of every one of them"`
}

// RejectedCheck looks at the answer to a create.
type RejectedCheck struct {
	Job     string   `yaml:"job" doc:"the job; must be set"`
	Contain []string `yaml:"contain" doc:"each is part of the answer"`
}

// WaitedCheck bounds the time before the first admission.
type WaitedCheck struct {
	Job     string    `yaml:"job" doc:"the job; must be set"`
	AtMost  *Duration `yaml:"atMost" doc:"real time from submission to admission"`
	AtLeast *Duration `yaml:"atLeast" doc:"real time from submission to admission"`
}

// FilledCheck looks at the GPUs that other jobs leave free.
type FilledCheck struct {
	AtLeast float64 `yaml:"atLeast" doc:"share of the GPU-hours that others leave, above 0 and up to 1, that the jobs of the scenario's filling hold"`
}

// NothingCheck looks for what a job that is over left behind.
type NothingCheck struct {
	Job string `yaml:"job" doc:"the job that is over or deleted: no pod is there, and no Workload waits or holds quota; must be set"`
}

// Reference is a measure of another run.
type Reference struct {
	Measure string `yaml:"measure" doc:"what was measured, in words; must be set"`
	Value   string `yaml:"value" doc:"what it was; must be set"`
	Metric  Metric `yaml:"metric" doc:"the same measure of this run"`
}

// Metric is a measure of this run.
type Metric struct {
	Name  string `yaml:"name" doc:"of a job: growth-latency, readmission, sizes, evictions, nodes, waited, drain, head-drain, items, redone, duration, first-item-after-eviction, result; of the fleet, with filling: filled, mean-gpus, mean-gpus-of-others, nearly-full, unallocated"`
	Job   string `yaml:"job" doc:"the job, if it is a measure of one"`
	Group string `yaml:"group" doc:"worker group; default all but the head"`
}

// FleetMetricNames are the values of Metric.Name that are of no job.
func FleetMetricNames() []string {
	return []string{"filled", "mean-gpus", "mean-gpus-of-others", "nearly-full", "unallocated"}
}

// MetricNames are the values of Metric.Name that are of a job.
func MetricNames() []string {
	return []string{
		"growth-latency", "readmission", "sizes", "evictions", "nodes", "waited", "drain", "head-drain",
		"items", "redone", "duration", "first-item-after-eviction", "result",
	}
}
