// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodeboard shows nodes and who has their GPUs, for a terminal.
package nodeboard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/explain"
)

// Board is what is shown.
type Board struct {
	At       time.Time           `json:"at"`
	Resource corev1.ResourceName `json:"resource"`
	Capacity int64               `json:"capacity"`
	Free     int64               `json:"free"`
	Nodes    []Node              `json:"nodes"`
	// Jobs have something on the nodes, Waiting would like to.
	Jobs    []Job    `json:"jobs"`
	Waiting []Job    `json:"waiting,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Node is one that has the resource.
type Node struct {
	Name   string   `json:"name"`
	Domain []string `json:"domain,omitempty"`
	// Usable says whether new pods may come.
	Usable   bool     `json:"usable"`
	Capacity int64    `json:"capacity"`
	Free     int64    `json:"free"`
	Holders  []Holder `json:"holders,omitempty"`
}

// Holder is what a job has on a node.
type Holder struct {
	// Job is empty for pods that Kueue has nothing to do with.
	Job    string `json:"job,omitempty"`
	Amount int64  `json:"amount"`
	// ToCome says that the place was granted and no pod is there yet.
	ToCome bool `json:"toCome,omitempty"`
}

// Job is a job with a Workload, or with pods that say so.
type Job struct {
	Name     string `json:"name"`
	Priority int32  `json:"priority"`
	Queue    string `json:"queue,omitempty"`
	// Amount is what it has on the nodes, or what it asks for while it waits.
	Amount int64 `json:"amount"`
}

// Device is the resource that a board is about if nobody names one: the extended
// resource that the nodes have the most of. Empty if they have none.
func Device(nodes []corev1.Node) corev1.ResourceName {
	sum := map[corev1.ResourceName]int64{}
	for i := range nodes {
		for name, quantity := range nodes[i].Status.Allocatable {
			if strings.Contains(string(name), "/") {
				sum[name] += quantity.Value()
			}
		}
	}
	var best corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		if sum[name] > sum[best] {
			best = name
		}
	}
	return best
}

// New lays out the board of a resource.
func New(s *explain.State, resource corev1.ResourceName) Board {
	b := Board{At: s.Now, Resource: resource, Nodes: []Node{}, Jobs: []Job{}}
	if len(s.Unreadable) > 0 {
		b.Notes = append(b.Notes, "you may not read "+strings.Join(s.Unreadable, ", ")+": what depends on them is left out or wrong")
	}
	names, workloads := jobs(s)
	onNodes := map[string]map[Holder]int64{}
	amounts := map[string]int64{}
	for _, on := range s.OnNodes(resource) {
		holder := Holder{Job: named(on.Job, names), ToCome: on.ToCome}
		if onNodes[on.Node] == nil {
			onNodes[on.Node] = map[Holder]int64{}
		}
		onNodes[on.Node][holder] += on.Amount
		if holder.Job != "" {
			amounts[holder.Job] += on.Amount
		}
	}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		quantity := node.Status.Allocatable[resource]
		if quantity.Value() == 0 {
			continue
		}
		n := Node{Name: node.Name, Domain: s.Domain(node), Usable: explain.Usable(node), Capacity: quantity.Value(), Free: quantity.Value()}
		for holder, amount := range onNodes[node.Name] {
			holder.Amount = amount
			n.Free -= amount
			n.Holders = append(n.Holders, holder)
		}
		slices.SortFunc(n.Holders, holderOrder)
		b.Nodes = append(b.Nodes, n)
		b.Capacity += n.Capacity
		if n.Usable {
			b.Free += max(n.Free, 0)
		}
	}
	slices.SortFunc(b.Nodes, func(a, c Node) int {
		return cmp.Or(slices.Compare(a.Domain, c.Domain), cmp.Compare(a.Name, c.Name))
	})
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		b.Jobs = append(b.Jobs, job(name, workloads[name], amounts[name]))
	}
	b.Waiting = waiting(s, resource)
	return b
}

// holderOrder puts jobs by name, pods before places for pods to come, and what isn't
// a job's last.
func holderOrder(a, b Holder) int {
	switch {
	case (a.Job == "") != (b.Job == ""):
		if a.Job == "" {
			return 1
		}
		return -1
	case a.Job != b.Job:
		return cmp.Compare(a.Job, b.Job)
	case a.ToCome:
		return 1
	}
	return -1
}

// jobs maps what the Workloads of a job are called to the name that is shown, and
// that to the Workload that holds the quota.
func jobs(s *explain.State) (names map[string]string, workloads map[string]*kueue.Workload) {
	names, workloads = map[string]string{}, map[string]*kueue.Workload{}
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if explain.HoldsQuota(wl) || names[explain.JobName(wl)] == "" {
			shown := display(wl)
			names[explain.JobName(wl)], workloads[shown] = shown, wl
		}
	}
	return names, workloads
}

// display is the job's name if there is one, with the group's if it is one of
// several.
func display(wl *kueue.Workload) string {
	name := wl.Name
	if owner := metav1.GetControllerOfNoCopy(wl); owner != nil {
		name = owner.Name
	}
	if group := wl.Labels["fleet.ai/worker-group"]; group != "" {
		name += "/" + group
	}
	return wl.Namespace + "/" + name
}

func named(chain string, names map[string]string) string {
	if name := names[chain]; name != "" {
		return name
	}
	return chain
}

func job(name string, wl *kueue.Workload, amount int64) Job {
	j := Job{Name: name, Amount: amount}
	if wl == nil {
		return j
	}
	if wl.Spec.Priority != nil {
		j.Priority = *wl.Spec.Priority
	}
	j.Queue = string(wl.Spec.QueueName)
	return j
}

// waiting are the Workloads that hold no quota, the most urgent first.
func waiting(s *explain.State, resource corev1.ResourceName) []Job {
	type pending struct {
		Job
		since time.Time
	}
	var found []pending
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		asked := explain.AskedOf(wl, resource)
		finished := apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
		inactive := wl.Spec.Active != nil && !*wl.Spec.Active
		if asked > 0 && !finished && !inactive && !explain.HoldsQuota(wl) {
			found = append(found, pending{job(display(wl), wl, asked), wl.CreationTimestamp.Time})
		}
	}
	slices.SortStableFunc(found, func(a, b pending) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.since.Compare(b.since), cmp.Compare(a.Name, b.Name))
	})
	var out []Job
	for _, p := range found {
		out = append(out, p.Job)
	}
	return out
}
