// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package invariant says what must be true of elastic placement at every moment.
// It judges API objects only: no client, no cache, nothing of the scheduler. Tests
// call it after every step, whatever drives the cluster.
package invariant

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// State is what the API server holds at one moment.
type State struct {
	Nodes         []corev1.Node
	Topologies    []kueue.Topology
	Flavors       []kueue.ResourceFlavor
	ClusterQueues []kueue.ClusterQueue
	Cohorts       []kueue.Cohort
	Workloads     []kueue.Workload
	Pods          []corev1.Pod
	// Settled is set when no controller has anything left to do. Gaps between two
	// writes, which are tolerated otherwise, are then violations.
	Settled bool
}

// Rule names a promise. The same names are used in reports and in the documents.
type Rule string

const (
	// DomainCapacity says: admitted pods never ask a domain for more of a resource than
	// its nodes have.
	DomainCapacity Rule = "DomainCapacity"
	// DomainPodSlots says: admitted pods never need more pod slots than a domain has.
	DomainPodSlots Rule = "DomainPodSlots"
	// NodeOvercommitted says: pods that are bound, terminating ones too, never hold more
	// than their node has.
	NodeOvercommitted Rule = "NodeOvercommitted"
	// QueueQuota says: a ClusterQueue never uses more than its nominal quota and what it
	// may borrow.
	QueueQuota Rule = "QueueQuota"
	// CohortQuota says: the members of a cohort never use more than the cohort has.
	CohortQuota Rule = "CohortQuota"
	// AssignmentTotal says: a topology assignment places as many pods as the PodSet has.
	AssignmentTotal Rule = "AssignmentTotal"
	// AssignmentMissing says: pods on a flavor with a topology have an assignment.
	AssignmentMissing Rule = "AssignmentMissing"
	// UnknownDomain says: an assignment names domains of the flavor's topology only.
	UnknownDomain Rule = "UnknownDomain"
	// LostNodeForgotten says: a slice that was left with pods on a node that is gone says
	// so in its status, for somebody has to replace it.
	LostNodeForgotten Rule = "LostNodeForgotten"
	// OneAdmittedSlice says: one slice of a job holds quota. Two do only between the
	// admission of a replacement and the end of its predecessor.
	OneAdmittedSlice Rule = "OneAdmittedSlice"
	// OnePendingSlice says: one slice of a job waits at most.
	OnePendingSlice Rule = "OnePendingSlice"
	// ForeignReplacement says: a slice is replaced by a slice of its own elastic job only.
	ForeignReplacement Rule = "ForeignReplacement"
	// FinishedStays says: a Workload that has finished stays finished. A Checker alone
	// can judge it.
	FinishedStays Rule = "FinishedStays"
	// EvictedStops says: a slice that was told to stop isn't replaced by a growth, which
	// would let it run on. A Checker alone can judge it.
	EvictedStops Rule = "EvictedStops"
	// PodsWithoutQuota says: pods that hold a node, terminating ones too, are covered by
	// a slice that holds quota.
	PodsWithoutQuota Rule = "PodsWithoutQuota"
	// MorePodsThanGranted says: no more pods are released than the slice was granted.
	MorePodsThanGranted Rule = "MorePodsThanGranted"
	// PodOutsideAssignment says: pods run in the domains of the assignment, no more in a
	// domain than it says.
	PodOutsideAssignment Rule = "PodOutsideAssignment"
	// RequiredDomain says: the pods of a group that requires a topology level are in one
	// domain of that level.
	RequiredDomain Rule = "RequiredDomain"
	// UnitSplit says: pods that belong together, such as the hosts of a multi-host replica
	// of an elastic job, are in one domain of the level of their slices, and an assignment
	// has room for whole units in every domain.
	UnitSplit Rule = "UnitSplit"
	// UndecodableObject says: an object can't be judged.
	UndecodableObject Rule = "UndecodableObject"
)

// Violation is a promise that was broken.
type Violation struct {
	Rule Rule
	// Subject is what the rule was broken for, such as "node n1".
	Subject string
	// Evidence has the numbers and who contributes to them.
	Evidence string
}

// String is one line for a test's log.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s: %s", v.Rule, v.Subject, v.Evidence)
}

// Check judges one state by itself. A state in which a limit was just lowered below
// what is in use is a violation for Check; a Checker knows better.
func Check(s State) []Violation {
	found := newView(s).violations()
	out := make([]Violation, 0, len(found))
	for _, f := range found {
		out = append(out, f.Violation)
	}
	return out
}
