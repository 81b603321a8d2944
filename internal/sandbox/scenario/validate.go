// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// allowed values.
var (
	priorities   = []string{"q0", "q1", "q2"}
	expectations = []Expectation{Succeeds, Fails, Rejected, Whatever}
	states       = []State{
		StateSubmitted, StatePending, StateAdmitted, StateRunning, StateFinished, StateSucceeded, StateFailed, StateRejected, StateGone,
	}
	within       = []string{"Never", "LowerPriority", "LowerOrNewerEqualPriority"}
	reclaim      = []string{"Never", "LowerPriority", "Any"}
	autoscalers  = []string{"ray", "off"}
	eventActions = []string{
		"scale", "stallPods", "recoverPods", "holdPods", "releasePods", "deletePods", "failPods", "loseNode", "restoreNode",
		"cordon", "uncordon", "restartManager", "setQuota", "setPriority", "deleteJob", "finishJob", "createObject", "deleteObject",
	}
	checkKinds = []string{
		"sequence", "within", "never", "counts", "nodes", "evictions", "items", "progress", "keptPods", "messages", "warnings", "rejected", "waited", "filled",
		"nothingLeft",
	}
)

const maxCopies = 10000

// validator knows the names that other parts of the file may use.
type validator struct {
	*problems
	jobs, events, queues []string
	filling              bool
}

func (s *Scenario) validate(p *problems) {
	v := &validator{problems: p}
	if s.Title == "" {
		v.add("title", "is not set, allowed is one line of text")
	}
	if s.TimeScale < 0.1 || s.TimeScale > 10000 {
		v.add("timeScale", "is %v, allowed is 0.1 to 10000", s.TimeScale)
	}
	if err := s.Fleet.Shape().Validate(); err != nil {
		v.add("fleet", "is not possible: %v", err)
	}
	v.collectNames(s)
	for i := range s.Queues {
		v.queue(fmt.Sprintf("queues[%d]", i), &s.Queues[i])
	}
	for i := range s.Objects {
		v.object(fmt.Sprintf("objects[%d]", i), s.Objects[i])
	}
	for i := range s.Jobs {
		v.job(fmt.Sprintf("jobs[%d]", i), &s.Jobs[i])
	}
	for i := range s.Events {
		v.event(fmt.Sprintf("events[%d]", i), &s.Events[i])
	}
	if v.filling = s.Filling != nil; v.filling && s.Filling.Class == "" {
		v.add("filling.class", "is not set, allowed is the class of some jobs")
	}
	for i := range s.Checks {
		v.check(fmt.Sprintf("checks[%d]", i), &s.Checks[i])
	}
	for i := range s.Reference {
		v.reference(fmt.Sprintf("reference[%d]", i), &s.Reference[i])
	}
}

func (v *validator) collectNames(s *Scenario) {
	collect := func(into *[]string, path, name string) {
		if slices.Contains(*into, name) {
			v.add(path, "is %q, which is taken; allowed is a name of its own", name)
		}
		*into = append(*into, name)
	}
	for i, queue := range s.Queues {
		collect(&v.queues, fmt.Sprintf("queues[%d].name", i), queue.Name)
	}
	for i := range s.Jobs {
		for _, name := range s.Jobs[i].Names() {
			collect(&v.jobs, fmt.Sprintf("jobs[%d].name", i), name)
		}
	}
	for i := range s.Events {
		collect(&v.events, fmt.Sprintf("events[%d].name", i), s.Events[i].Name)
	}
}

func (v *validator) queue(path string, q *Queue) {
	v.dnsName(path+".name", q.Name)
	v.dnsName(path+".localQueue", q.LocalQueue)
	oneOf(v, path+".withinClusterQueue", q.WithinClusterQueue, within)
	oneOf(v, path+".reclaimWithinCohort", q.ReclaimFromCohort, reclaim)
	v.notNegative(path+".gpus", q.GPUs)
	v.notNegative(path+".borrowingLimit", q.BorrowingLimit)
	if q.BorrowingLimit != nil && q.Cohort == "" {
		v.add(path+".borrowingLimit", "is %d in a queue without a cohort, allowed only with one", *q.BorrowingLimit)
	}
}

func (v *validator) object(path string, o Object) {
	if (o.File == "") == (o.Manifest == nil) {
		v.add(path, "has %s, allowed is exactly one of file and manifest", oneOrOther(o.File != ""))
	}
}

func oneOrOther(both bool) string {
	if both {
		return "both file and manifest"
	}
	return "neither file nor manifest"
}

func (v *validator) job(path string, j *Job) {
	v.trigger(path, j.Trigger)
	v.dnsName(path+".name", j.Name)
	v.object(path, Object{File: j.File, Manifest: j.Manifest})
	oneOf(v, path+".expect", j.Expect, expectations)
	if j.Priority != "" {
		oneOf(v, path+".priority", j.Priority, priorities)
	}
	v.notNegative(path+".workers", j.Workers)
	v.notNegative(path+".gpus", j.GPUs)
	if j.Copies < 0 || j.Copies > maxCopies {
		v.add(path+".copies", "is %d, allowed is 1 to %d", j.Copies, maxCopies)
	}
	if j.Work != nil {
		v.work(path+".work", j.Work)
	}
}

func (v *validator) work(path string, w *Work) {
	v.atLeast(path+".itemsPerWorker", w.ItemsPerWorker, 1)
	v.atLeast(path+".upscale", w.Upscale, 1)
	oneOf(v, path+".autoscaler", w.Autoscaler, autoscalers)
	if len(w.Phases) == 0 {
		v.add(path+".phases", "has no phase, allowed is one or more")
	}
	names := map[string]bool{}
	for i, phase := range w.Phases {
		at := fmt.Sprintf("%s.phases[%d]", path, i)
		if phase.Items < 1 || phase.Items > 1_000_000 {
			v.add(at+".items", "is %d, allowed is 1 to 1000000", phase.Items)
		}
		if phase.Duration <= 0 {
			v.add(at+".duration", "is %s, allowed is more than 0s", phase.Duration.D())
		}
		v.atLeast(at+".workers", phase.Workers, 1)
		if names[phase.Name] {
			v.add(at+".name", "is %q, which is taken; allowed is a name of its own", phase.Name)
		}
		names[phase.Name] = true
		if (phase.Group == "") != (w.Phases[0].Group == "") {
			v.add(at+".group", "is %q, allowed is a worker group in all phases or in none", phase.Group)
		}
	}
}

func (v *validator) trigger(path string, t Trigger) {
	if t.At > 0 && t.When != nil {
		v.add(path, "has both at and when, allowed is one of them")
	}
	if t.When != nil {
		v.condition(path+".when", t.When)
	}
}

func (v *validator) condition(path string, c *Condition) {
	if c.Job == "" && c.Event == "" {
		v.add(path, "names neither a job nor an event, allowed is at least one of them")
	}
	if c.Event != "" {
		v.known(path+".event", c.Event, v.events)
	}
	asks := c.State != "" || c.Workers != nil || c.Waits != nil || c.Pods != nil || c.Items > 0 || c.Evictions > 0
	switch {
	case c.Job == "" && asks:
		v.add(path+".job", "is not set, allowed is a job of the scenario")
	case c.Job != "" && !asks:
		v.add(path, "asks nothing of job %q, allowed are state, workers, waits, pods, items and evictions", c.Job)
	case c.Job != "":
		v.known(path+".job", c.Job, v.jobs)
	}
	if c.State != "" {
		oneOf(v, path+".state", c.State, states)
	}
	v.notNegative(path+".workers", c.Workers)
	v.notNegative(path+".waits", c.Waits)
	v.notNegative(path+".pods", c.Pods)
	v.atLeast(path+".items", c.Items, 0)
	v.atLeast(path+".evictions", c.Evictions, 0)
}

func (v *validator) conditions(path string, list []Condition) {
	for i := range list {
		v.condition(fmt.Sprintf("%s[%d]", path, i), &list[i])
	}
}

func (v *validator) event(path string, e *Event) {
	v.trigger(path, e.Trigger)
	kinds := setFields(*e, eventActions)
	if len(kinds) != 1 {
		v.add(path, "has %s, allowed is exactly one of %s", orNone(kinds), strings.Join(eventActions, ", "))
		return
	}
	path += "." + kinds[0]
	switch {
	case e.Scale != nil:
		v.known(path+".job", e.Scale.Job, v.jobs)
		v.atLeast(path+".replicas", e.Scale.Replicas, 0)
	case e.SetQuota != nil:
		v.known(path+".queue", e.SetQuota.Queue, v.queues)
		v.atLeast(path+".gpus", e.SetQuota.GPUs, 0)
	case e.SetPriority != nil:
		v.known(path+".job", e.SetPriority.Job, v.jobs)
		oneOf(v, path+".priority", e.SetPriority.Priority, priorities)
	case e.DeleteJob != nil:
		v.known(path+".job", e.DeleteJob.Job, v.jobs)
	case e.FinishJob != nil:
		v.known(path+".job", e.FinishJob.Job, v.jobs)
	case e.CreateObject != nil:
		v.object(path, *e.CreateObject)
	case e.DeleteObject != nil:
		if e.DeleteObject.Kind == "" || e.DeleteObject.Name == "" {
			v.add(path, "lacks kind or name, both must be set")
		}
	}
	for _, target := range []*Target{e.StallPods, e.RecoverPods, e.HoldPods, e.ReleasePods, e.DeletePods, e.FailPods} {
		if target != nil {
			v.known(path+".job", target.Job, v.jobs)
			v.atLeast(path+".pods", target.Pods, 0)
		}
	}
	for _, target := range []*NodeTarget{e.LoseNode, e.RestoreNode, e.Cordon, e.Uncordon} {
		switch {
		case target == nil:
		case (target.Node == "") == (target.NodeOf == ""):
			v.add(path, "allowed is exactly one of node and nodeOf")
		case target.NodeOf != "":
			v.known(path+".nodeOf", target.NodeOf, v.jobs)
		}
	}
}

func (v *validator) check(path string, c *Check) {
	if c.Name == "" {
		v.add(path+".name", "is not set, allowed is a sentence")
	}
	kinds := setFields(*c, checkKinds)
	if len(kinds) != 1 {
		v.add(path, "has %s, allowed is exactly one of %s", orNone(kinds), strings.Join(checkKinds, ", "))
		return
	}
	path += "." + kinds[0]
	job := func(name string) { v.known(path+".job", name, v.jobs) }
	switch {
	case c.Sequence != nil:
		v.conditions(path, c.Sequence)
	case c.Within != nil:
		v.condition(path+".condition", &c.Within.Condition)
		v.conditions(path+".after", c.Within.After)
		if c.Within.Limit == 0 {
			v.add(path+".limit", "is not set, allowed is a duration above 0s")
		}
	case c.Never != nil:
		v.condition(path+".condition", &c.Never.Condition)
		v.conditions(path+".from", c.Never.From)
		v.conditions(path+".until", c.Never.Until)
	case c.Counts != nil:
		job(c.Counts.Job)
		if len(c.Counts.Are)+len(c.Counts.Begin)+len(c.Counts.End)+len(c.Counts.Never) == 0 {
			v.add(path, "asks nothing, allowed are are, begin, end and never")
		}
	case c.Nodes != nil:
		job(c.Nodes.Job)
		if len(c.Nodes.Are)+len(c.Nodes.Spread) == 0 && c.Nodes.AtMost == 0 && c.Nodes.Racks == 0 {
			v.add(path, "asks nothing, allowed are are, atMost, spread and racksAtMost")
		}
	case c.Evictions != nil:
		if (c.Evictions.Job == "") == (c.Evictions.Class == "") {
			v.add(path, "allowed is exactly one of job and class")
		} else if c.Evictions.Job != "" {
			job(c.Evictions.Job)
		}
		v.atLeast(path+".are", c.Evictions.Are, 0)
	case c.Items != nil:
		job(c.Items.Job)
	case c.Progress != nil:
		job(c.Progress.Job)
		v.conditions(path+".from", c.Progress.From)
		v.conditions(path+".until", c.Progress.Until)
		if len(c.Progress.From) == 0 || len(c.Progress.Until) == 0 {
			v.add(path, "lacks from or until, both must be set")
		}
		v.atLeast(path+".atLeast", c.Progress.AtLeast, 1)
	case c.KeptPods != nil:
		job(c.KeptPods.Job)
		v.conditions(path+".from", c.KeptPods.From)
		v.conditions(path+".until", c.KeptPods.Until)
		if len(c.KeptPods.From) == 0 || len(c.KeptPods.Until) == 0 {
			v.add(path, "lacks from or until, both must be set")
		}
	case c.Messages != nil:
		job(c.Messages.Job)
		if len(c.Messages.Contain)+len(c.Messages.Together)+len(c.Messages.Last)+len(c.Messages.Lack) == 0 && c.Messages.AtMost == 0 {
			v.add(path, "asks nothing, allowed are contain, together, last, lack and atMost")
		}
	case c.Warnings != nil:
		job(c.Warnings.Job)
		v.atLeast(path+".are", c.Warnings.Are, 0)
		if c.Warnings.Reason == "" {
			v.add(path+".reason", "is not set, allowed is the reason of an event")
		}
	case c.Rejected != nil:
		job(c.Rejected.Job)
	case c.Filled != nil:
		if c.Filled.AtLeast <= 0 || c.Filled.AtLeast > 1 {
			v.add(path+".atLeast", "is %v, allowed is above 0 and up to 1", c.Filled.AtLeast)
		}
		if !v.filling {
			v.add(path, "is asked of a scenario without filling, allowed only with one")
		}
	case c.Nothing != nil:
		job(c.Nothing.Job)
	case c.Waited != nil:
		job(c.Waited.Job)
		if c.Waited.AtMost == nil && c.Waited.AtLeast == nil {
			v.add(path, "asks nothing, allowed are atMost and atLeast")
		}
	}
}

func (v *validator) reference(path string, r *Reference) {
	if r.Measure == "" || r.Value == "" {
		v.add(path, "lacks measure or value, both must be set")
	}
	switch ofFleet := slices.Contains(FleetMetricNames(), r.Metric.Name); {
	case !ofFleet:
		oneOf(v, path+".metric.name", r.Metric.Name, append(MetricNames(), FleetMetricNames()...))
		v.known(path+".metric.job", r.Metric.Job, v.jobs)
	case !v.filling:
		v.add(path+".metric.name", "is %q of a scenario without filling, allowed only with one", r.Metric.Name)
	case r.Metric.Job != "":
		v.add(path+".metric.job", "is %q, allowed is none: %s is of the fleet", r.Metric.Job, r.Metric.Name)
	}
}

func (v *validator) dnsName(path, name string) {
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		v.add(path, "is %q: %s", name, strings.Join(msgs, "; "))
	}
}

func (v *validator) known(path, name string, names []string) {
	if !slices.Contains(names, name) {
		v.add(path, "is %q, allowed are %s", name, orNone(names))
	}
}

func (v *validator) notNegative(path string, n *int) {
	if n != nil {
		v.atLeast(path, *n, 0)
	}
}

func (v *validator) atLeast(path string, n, least int) {
	if n < least {
		v.add(path, "is %d, allowed is %d or more", n, least)
	}
}

func oneOf[T ~string](v *validator, path string, value T, allowed []T) {
	if !slices.Contains(allowed, value) {
		names := make([]string, len(allowed))
		for i, a := range allowed {
			names[i] = string(a)
		}
		v.add(path, "is %q, allowed are %s", string(value), strings.Join(names, ", "))
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// setFields are those of the named fields that are set.
func setFields(v any, names []string) []string {
	var set []string
	value := reflect.ValueOf(v)
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("yaml"), ",")
		if slices.Contains(names, name) && !value.Field(i).IsZero() {
			set = append(set, name)
		}
	}
	return set
}
