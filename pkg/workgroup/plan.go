// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

// JobPhase is what the job as a whole asks of its groups.
type JobPhase string

const (
	// JobHeld waits for the first admission of its head.
	JobHeld JobPhase = "Held"
	// JobActive runs, or may.
	JobActive JobPhase = "Active"
	// JobEnding has ended or is deleted: nothing is started any more, and quota goes
	// with the last pods.
	JobEnding JobPhase = "Ending"
)

// Outcome is how a job that ends has ended.
type Outcome struct {
	// Reason is a reason of a Workload's Finished condition.
	Reason  string
	Message string
}

// Observed is one group with all there is of it.
type Observed struct {
	Group Group
	Phase JobPhase
	// Outcome is set in JobEnding.
	Outcome Outcome
	// BaseName is the name of the group's first Workload.
	BaseName string
	// Workloads are all of the group, in any order.
	Workloads []*kueue.Workload
	Pods      Pods
}

// Plan is what to do for one group now, and what to say about it. Where several
// things are to be done their order is that of the fields.
type Plan struct {
	Unfinalize []*kueue.Workload
	Finish     []Ending
	Delete     []*corev1.Pod
	// Requeue gives its quota back and queues again.
	Requeue *kueue.Workload
	// Shrink lowers what a Workload holds to its Count.
	Shrink *Size
	// Resize sets the count of a Workload that holds no quota.
	Resize  *Size
	Create  *NewWorkload
	Release []*corev1.Pod
	// Holder is the Workload that pods are released by.
	Holder *kueue.Workload

	Status Status
}

// Ending is a Workload to finish, and why.
type Ending struct {
	Workload *kueue.Workload
	Outcome
}

// Size is a Workload and the count that it should have.
type Size struct {
	Workload *kueue.Workload
	Count    int32
}

// NewWorkload is a Workload to be made.
type NewWorkload struct {
	Name  string
	Count int32
	// Replaces is the slice that it takes over from; nil for a start.
	Replaces *kueue.Workload
}

// Critical returns whether acting on old copies of objects could release more pods
// than were granted, or give back quota that pods use.
func (p Plan) Critical() bool {
	return len(p.Unfinalize) > 0 || len(p.Finish) > 0 || p.Requeue != nil || p.Shrink != nil || p.Create != nil || len(p.Release) > 0
}

var (
	outOfSync = Outcome{Reason: kueue.WorkloadFinishedReasonOutOfSync, Message: "The group has no use for it any more"}
	takenOver = Outcome{Reason: kueue.WorkloadSliceReplaced, Message: "Replaced by a newer slice of the group"}
)

// Decide says what to do for a group. It is a function of what it is given; acting
// on the same plan twice does no harm.
func Decide(o Observed) Plan {
	c := readChain(o.BaseName, o.Workloads)
	p := Plan{}
	for _, wl := range c.finished {
		if hasFinalizer(wl) {
			p.Unfinalize = append(p.Unfinalize, wl)
		}
	}
	for _, wl := range c.replaced {
		p.Finish = append(p.Finish, Ending{wl, takenOver})
	}
	for _, wl := range c.surplus {
		p.end(wl, outOfSync)
	}
	switch {
	case o.Phase == JobEnding:
		p.ending(o, c)
	case c.holder == nil:
		p.waiting(o, c)
	case isStopping(c.holder):
		p.stopping(o, c)
	default:
		p.holding(o, c)
	}
	p.Status.fill(o, c)
	return p
}

// end ends a Workload that holds nothing: one that is being deleted goes by itself.
func (p *Plan) end(wl *kueue.Workload, outcome Outcome) {
	if wl.DeletionTimestamp != nil {
		p.Unfinalize = append(p.Unfinalize, wl)
		return
	}
	p.Finish = append(p.Finish, Ending{wl, outcome})
}

// ending gives back what the group holds as its pods go. KubeRay removes them, or
// keeps them for the job's TTL.
func (p *Plan) ending(o Observed, c chain) {
	if c.pending != nil {
		p.end(c.pending, o.Outcome)
	}
	switch {
	case c.holder == nil:
	case o.Pods.held() == 0:
		p.end(c.holder, o.Outcome)
	case isStopping(c.holder) && c.holder.DeletionTimestamp == nil:
		p.Delete = o.Pods.running()
	case o.Group.Elastic && !isStopping(c.holder):
		p.shrinkTo(c.holder, 0, o.Pods.held())
	}
}

// waiting is for a group that holds no quota: it has no business to have pods.
func (p *Plan) waiting(o Observed, c chain) {
	if o.Pods.held() > 0 {
		p.Delete = o.Pods.running()
		return
	}
	switch {
	case c.pending == nil:
		if o.Phase == JobActive || o.Group.IsHead() {
			p.Create = &NewWorkload{Name: nextName(o.BaseName, o.Workloads), Count: o.Group.Desired()}
		}
	case c.pending.DeletionTimestamp != nil:
		p.Unfinalize = append(p.Unfinalize, c.pending)
	case count(c.pending) != o.Group.Desired():
		p.Resize = &Size{c.pending, o.Group.Desired()}
	}
}

// stopping drains a group that was evicted, and only then gives its quota back.
func (p *Plan) stopping(o Observed, c chain) {
	if o.Pods.held() > 0 {
		p.Delete = o.Pods.running()
		return
	}
	if c.holder.DeletionTimestamp != nil {
		p.Unfinalize = append(p.Unfinalize, c.holder)
		return
	}
	p.Requeue = c.holder
}

// holding follows the size of a group that holds quota.
func (p *Plan) holding(o Observed, c chain) {
	want, has := o.Group.Desired(), count(c.holder)
	switch {
	case want > has && o.Group.Elastic:
		switch {
		case c.pending == nil:
			// A slice that takes over before its predecessor was fully admitted could
			// leave pods without a grant.
			if workload.IsAdmitted(c.holder) {
				p.Create = &NewWorkload{Name: nextName(o.BaseName, o.Workloads), Count: want, Replaces: c.holder}
			}
		case count(c.pending) != want:
			p.Resize = &Size{c.pending, want}
		}
	case c.pending != nil:
		p.end(c.pending, outOfSync)
	}
	if o.Group.Elastic {
		p.shrinkTo(c.holder, min(want, has), o.Pods.held())
	}
	p.Holder = c.holder
	if room := min(granted(c.holder), want) - o.Pods.held(); room > 0 && o.Phase == JobActive {
		p.Release = o.Pods.Gated[:min(int(room), len(o.Pods.Gated))]
	}
}

// shrinkTo lowers the holder to what is wanted, or to what its pods still use.
func (p *Plan) shrinkTo(holder *kueue.Workload, want, held int32) {
	lower := min(count(holder), max(want, held))
	if lower < count(holder) || assignsTooMany(holder) {
		p.Shrink = &Size{holder, lower}
	}
}
