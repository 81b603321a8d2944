// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
)

// State is what a person wants to know of a group. It is the reason of the events,
// too.
type State string

const (
	// StateHeld waits for the head, which is admitted first.
	StateHeld State = "Held"
	// StateWaiting waits for quota.
	StateWaiting State = "Waiting"
	// StateDeactivated was switched off by spec.active of its Workload.
	StateDeactivated State = "Deactivated"
	// StateDraining waits for the pods of an evicted group to stop.
	StateDraining State = "Draining"
	// StateStarting was admitted; not all of its pods are ready.
	StateStarting State = "Starting"
	// StateRunning has all the pods that it should have.
	StateRunning State = "Running"
	// StateGrowing runs and waits for quota to grow.
	StateGrowing State = "Growing"
	// StateShrinking waits for removed pods to stop.
	StateShrinking State = "Shrinking"
	// StateEnding waits for the pods of a job that has ended.
	StateEnding State = "Ending"
	// StateEnded holds nothing any more.
	StateEnded State = "Ended"
)

// maxReason is how much of a Workload's message is shown; Kueue's messages may name
// every flavor and node.
const maxReason = 256

// Status is the line of a group in StatusAnnotation.
type Status struct {
	Group   string
	State   State
	Ready   int32
	Desired int32
	Reason  string
}

// String is the line as it is shown.
func (s Status) String() string {
	line := fmt.Sprintf("%s: %s %d/%d", s.Group, s.State, s.Ready, s.Desired)
	if s.Reason != "" {
		line += ", " + s.Reason
	}
	return line
}

func (s *Status) fill(o Observed, c chain) {
	s.Group, s.Ready, s.Desired = o.Group.Name, o.Pods.ready(), o.Group.Desired()
	s.State, s.Reason = stateOf(o, c)
	s.Reason = strings.Join(strings.Fields(s.Reason), " ")
	if len(s.Reason) > maxReason {
		s.Reason = strings.ToValidUTF8(s.Reason[:maxReason], "") + "..."
	}
}

func stateOf(o Observed, c chain) (State, string) {
	held := o.Pods.held()
	switch {
	case o.Phase == JobEnding && c.holder == nil && held == 0:
		return StateEnded, o.Outcome.Message
	case o.Phase == JobEnding:
		return StateEnding, fmt.Sprintf("%d pods are left", held)
	case c.holder == nil && held > 0:
		return StateDraining, fmt.Sprintf("%d pods have to stop: the group holds no quota", held)
	case c.holder == nil && c.pending == nil:
		if o.Phase == JobHeld && !o.Group.IsHead() {
			return StateHeld, "waiting for the admission of the head"
		}
		return StateWaiting, ""
	case c.holder == nil && !workload.IsActive(c.pending):
		return StateDeactivated, messageOf(c.pending, kueue.WorkloadEvicted)
	case c.holder == nil:
		return StateWaiting, messageOf(c.pending, kueue.WorkloadQuotaReserved)
	case isStopping(c.holder):
		return StateDraining, fmt.Sprintf("%d pods have to stop: %s", held, stopReason(c.holder))
	case !workload.IsAdmitted(c.holder):
		return StateWaiting, "quota is reserved, admission checks are pending"
	case c.pending != nil:
		return StateGrowing, strings.TrimSuffix(fmt.Sprintf("%d granted: %s", count(c.holder), messageOf(c.pending, kueue.WorkloadQuotaReserved)), ": ")
	case o.Group.Desired() < count(c.holder):
		return StateShrinking, fmt.Sprintf("%d pods are left", held)
	case o.Pods.ready() < o.Group.Desired():
		return StateStarting, ""
	default:
		return StateRunning, ""
	}
}

func stopReason(wl *kueue.Workload) string {
	if wl.DeletionTimestamp != nil {
		return "its Workload is deleted"
	}
	return messageOf(wl, kueue.WorkloadEvicted)
}

func messageOf(wl *kueue.Workload, condition string) string {
	if cond := apimeta.FindStatusCondition(wl.Status.Conditions, condition); cond != nil {
		return cond.Message
	}
	return ""
}

// formatStatus is the value of StatusAnnotation, a line for each group.
func formatStatus(statuses []Status) string {
	lines := make([]string, 0, len(statuses))
	for _, s := range statuses {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "\n")
}

// changed returns the groups whose state is not what the annotation says.
func changed(annotation string, statuses []Status) []Status {
	states := map[string]string{}
	for line := range strings.Lines(annotation) {
		if group, rest, found := strings.Cut(line, ": "); found {
			states[group], _, _ = strings.Cut(rest, " ")
		}
	}
	var out []Status
	for _, s := range statuses {
		if states[s.Group] != string(s.State) {
			out = append(out, s)
		}
	}
	return out
}
