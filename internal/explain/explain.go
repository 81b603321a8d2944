// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apilabels "k8s.io/apimachinery/pkg/labels"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// What a Workload may wait for besides flavors.
const (
	ReasonFinished          Reason = "Finished"
	ReasonAdmitted          Reason = "Admitted"
	ReasonAdmissionChecks   Reason = "AdmissionChecks"
	ReasonDeactivated       Reason = "Deactivated"
	ReasonBackoff           Reason = "RequeueBackoff"
	ReasonNoQueue           Reason = "QueueNotFound"
	ReasonQueueStopped      Reason = "QueueStopped"
	ReasonQueueInactive     Reason = "QueueInactive"
	ReasonNamespaceMismatch Reason = "NamespaceMismatch"
	ReasonBehindOthers      Reason = "BehindOthers"
	ReasonNothing           Reason = "Nothing"
)

// Explain says why the state's Workload waits.
func Explain(s *State) Report {
	wl := s.Workload
	r := Report{Workload: wl.Namespace + "/" + wl.Name, LocalQueue: string(wl.Spec.QueueName), Priority: priority(wl), Waiting: true}
	if c := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil && c.Status != metav1.ConditionTrue {
		r.Scheduler = c.Message
	}
	if len(s.Unreadable) > 0 {
		r.Notes = append(r.Notes, "you may not read "+strings.Join(s.Unreadable, ", ")+": what depends on them is left out or wrong")
	}
	asks := s.asks()
	for _, a := range asks {
		r.Asked = append(r.Asked, Asked{PodSet: a.podSet.Name, Pods: a.count, Running: a.running, Each: a.each, Topology: topologyOf(a.podSet)})
	}
	queue := s.clusterQueue()
	if queue != nil {
		r.ClusterQueue = queue.Name
	}
	if r.Reason, r.Message = s.beforeScheduling(queue); r.Reason != "" {
		r.Waiting = r.Reason != ReasonFinished && r.Reason != ReasonAdmitted
		return r
	}
	s.judge(&r, queue, asks)
	return r
}

func (s *State) asks() []ask {
	var out []ask
	before := s.predecessor()
	for i := range s.Workload.Spec.PodSets {
		podSet := &s.Workload.Spec.PodSets[i]
		a := ask{podSet: podSet, each: podAmounts(&podSet.Template.Spec), count: int64(podSet.Count)}
		if before != nil {
			if old := findPodSet(before, podSet.Name); old != nil {
				a.running = min(int64(old.Count), a.count)
			}
		}
		out = append(out, a)
	}
	return out
}

func (s *State) localQueue() *kueue.LocalQueue {
	for i := range s.LocalQueues {
		if q := &s.LocalQueues[i]; q.Namespace == s.Workload.Namespace && q.Name == string(s.Workload.Spec.QueueName) {
			return q
		}
	}
	return nil
}

func (s *State) clusterQueue() *kueue.ClusterQueue {
	local := s.localQueue()
	for i := range s.ClusterQueues {
		if local != nil && s.ClusterQueues[i].Name == string(local.Spec.ClusterQueue) {
			return &s.ClusterQueues[i]
		}
	}
	return nil
}

// beforeScheduling looks at everything that keeps a Workload from the scheduler, or
// comes after it.
func (s *State) beforeScheduling(queue *kueue.ClusterQueue) (Reason, string) {
	wl, local := s.Workload, s.localQueue()
	stopped := func(policy *kueue.StopPolicy) bool { return policy != nil && *policy != kueue.None }
	switch {
	case isTrue(wl, kueue.WorkloadFinished):
		return ReasonFinished, apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadFinished).Message
	case isTrue(wl, kueue.WorkloadAdmitted):
		return ReasonAdmitted, "it holds quota and its pods may run"
	case holdsQuota(wl):
		return ReasonAdmissionChecks, "it holds quota and waits for the admission checks " + pendingChecks(wl)
	case wl.Spec.Active != nil && !*wl.Spec.Active:
		return ReasonDeactivated, "spec.active is false" + because(wl, kueue.WorkloadEvicted)
	case local == nil:
		return ReasonNoQueue, fmt.Sprintf("there is no LocalQueue %q in namespace %s", wl.Spec.QueueName, wl.Namespace)
	case queue == nil:
		return ReasonNoQueue, fmt.Sprintf("the LocalQueue %s names the ClusterQueue %q, which isn't there", local.Name, local.Spec.ClusterQueue)
	case stopped(local.Spec.StopPolicy):
		return ReasonQueueStopped, fmt.Sprintf("the LocalQueue %s has the stop policy %s", local.Name, *local.Spec.StopPolicy)
	case stopped(queue.Spec.StopPolicy):
		return ReasonQueueStopped, fmt.Sprintf("the ClusterQueue %s has the stop policy %s", queue.Name, *queue.Spec.StopPolicy)
	}
	if c := apimeta.FindStatusCondition(queue.Status.Conditions, kueue.ClusterQueueActive); c != nil && c.Status == metav1.ConditionFalse {
		return ReasonQueueInactive, fmt.Sprintf("the ClusterQueue %s is not active: %s", queue.Name, c.Message)
	}
	if s.Namespace != nil {
		selector, err := metav1.LabelSelectorAsSelector(queue.Spec.NamespaceSelector)
		if err == nil && !selector.Matches(apilabels.Set(s.Namespace.Labels)) {
			return ReasonNamespaceMismatch, fmt.Sprintf("the ClusterQueue %s doesn't take Workloads of namespace %s (selector %s)", queue.Name, wl.Namespace, selector)
		}
	}
	if state := wl.Status.RequeueState; state != nil && state.RequeueAt != nil && state.RequeueAt.After(s.Now) {
		return ReasonBackoff, fmt.Sprintf("it was evicted and is queued again in %s%s", state.RequeueAt.Sub(s.Now).Round(time.Second), because(wl, kueue.WorkloadEvicted))
	}
	return "", ""
}

func because(wl *kueue.Workload, condition string) string {
	if c := apimeta.FindStatusCondition(wl.Status.Conditions, condition); c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
		return ": " + c.Message
	}
	return ""
}

func pendingChecks(wl *kueue.Workload) string {
	var names []string
	for _, check := range wl.Status.AdmissionChecks {
		if check.State != kueue.CheckStateReady {
			names = append(names, fmt.Sprintf("%s (%s)", check.Name, check.State))
		}
	}
	return strings.Join(names, ", ")
}

// judge tries the flavors and names the blocker.
func (s *State) judge(r *Report, queue *kueue.ClusterQueue, asks []ask) {
	if s.inTree(queue.Spec.CohortName) {
		r.Notes = append(r.Notes, "the cohort is part of a tree, which counts as one cohort here")
	}
	verdicts, at := s.newTrial(queue).all(asks)
	r.Verdicts = verdicts
	r.Quota, r.Places = s.listFree(queue, asks)
	if at < 0 {
		r.Reason, r.Message = s.order(queue)
		return
	}
	v := nearest(verdicts, asks[at].podSet.Name)
	r.Reason = v.Reason
	r.Message = fmt.Sprintf("PodSet %s", v.PodSet)
	if v.Flavor != "" {
		r.Message += fmt.Sprintf(" in flavor %s", v.Flavor)
	}
	r.Message += ": " + v.Message
	if v.Reason == ReasonQuotaInUse || v.Reason == ReasonQuotaTooSmall || v.Reason == ReasonNoRoom {
		r.WouldFit = s.shapes(queue, asks, at)
		r.HeldBy = s.holders(v.Flavor, asks[at].each.key())
		if note := s.outsiders(v.Flavor, asks[at].each.key()); note != "" {
			r.Notes = append(r.Notes, note)
		}
	}
}

// nearest is the verdict that came the furthest: it is the one to do something
// about.
func nearest(verdicts []Verdict, name kueue.PodSetReference) Verdict {
	var best Verdict
	for _, v := range verdicts {
		if v.PodSet == name && !v.Fits && (best.PodSet == "" || slices.Index(byDistance, v.Reason) > slices.Index(byDistance, best.Reason)) {
			best = v
		}
	}
	return best
}

// order looks at who else waits, when nothing else is in the way.
func (s *State) order(queue *kueue.ClusterQueue) (Reason, string) {
	var ahead []*kueue.Workload
	for i := range s.Workloads {
		other := &s.Workloads[i]
		if other.UID != s.Workload.UID && s.waitsIn(other, queue) && before(other, s.Workload) {
			ahead = append(ahead, other)
		}
	}
	if len(ahead) == 0 {
		return ReasonNothing, "everything it asks for is free: it should start with the next cycle"
	}
	slices.SortFunc(ahead, func(a, b *kueue.Workload) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	text := fmt.Sprintf("everything it asks for is free, and %s before it in ClusterQueue %s, the first is %s/%s",
		map[bool]string{true: "1 Workload is", false: fmt.Sprintf("%d Workloads are", len(ahead))}[len(ahead) == 1], queue.Name, ahead[0].Namespace, ahead[0].Name)
	if queue.Spec.QueueingStrategy == kueue.StrictFIFO {
		text += "; the queue is StrictFIFO, so it waits until they start"
	}
	return ReasonBehindOthers, text
}

func (s *State) waitsIn(wl *kueue.Workload, queue *kueue.ClusterQueue) bool {
	if holdsQuota(wl) || isTrue(wl, kueue.WorkloadFinished) || wl.Spec.Active != nil && !*wl.Spec.Active {
		return false
	}
	for i := range s.LocalQueues {
		q := &s.LocalQueues[i]
		if q.Namespace == wl.Namespace && q.Name == string(wl.Spec.QueueName) {
			return string(q.Spec.ClusterQueue) == queue.Name
		}
	}
	return false
}

func before(a, b *kueue.Workload) bool {
	return cmp.Or(cmp.Compare(priority(b), priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}
