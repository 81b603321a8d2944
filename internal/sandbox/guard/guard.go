// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guard checks the invariants of elastic placement on a running
// cluster, all the time.
//
// Watches of different kinds are not in step, so what a cache shows together
// may never have been true together. The guard looks at its cache first, which
// is cheap. What looks wrong there is looked at again in a snapshot: lists of
// all kinds at one revision of etcd. Rules about amounts must hold in every
// snapshot. The other rules compare what several controllers write one after
// the other; those are broken when the same breach is in all snapshots over
// the settling time.
package guard

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

const (
	// period is how often the cache is looked at.
	period = 200 * time.Millisecond
	// Settle is how long a breach of a rule must last that compares the writes
	// of several controllers.
	Settle = 2 * time.Second
)

// atOnce are the rules that no intermediate state may break.
var atOnce = map[invariant.Rule]bool{
	invariant.DomainCapacity:    true,
	invariant.DomainPodSlots:    true,
	invariant.NodeOvercommitted: true,
	invariant.QueueQuota:        true,
	invariant.CohortQuota:       true,
}

// Guard checks one cluster.
type Guard struct {
	cached, live client.Reader
	clock        clock.WithTicker
	report       func(at time.Time, v invariant.Violation)

	checker  *invariant.Checker
	previous *invariant.State
	since    map[breach]time.Time
	reported map[breach]bool
	snapshots,
	looks int
}

// breach is what is broken for whom, whatever the numbers are.
type breach struct {
	rule    invariant.Rule
	subject string
}

// New returns a Guard. cached reads from a cache, live from the API server.
// report gets each breach once.
func New(cached, live client.Reader, clk clock.WithTicker, report func(at time.Time, v invariant.Violation)) *Guard {
	return &Guard{
		cached: cached, live: live, clock: clk, report: report,
		checker: invariant.NewChecker(), since: map[breach]time.Time{}, reported: map[breach]bool{},
	}
}

// Run checks until ctx is done and returns how often it looked and how many
// snapshots it took.
func (g *Guard) Run(ctx context.Context) (looks, snapshots int, err error) {
	ticker := g.clock.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := g.look(ctx); err != nil && ctx.Err() == nil {
			return g.looks, g.snapshots, fmt.Errorf("failed to check the invariants: %w", err)
		}
		select {
		case <-ctx.Done():
			return g.looks, g.snapshots, nil
		case <-ticker.C():
		}
	}
}

func (g *Guard) look(ctx context.Context) error {
	state, err := read(ctx, g.cached, nil)
	if err != nil {
		return err
	}
	g.looks++
	if len(withoutUpstreams(g.checker.Check(state), state)) == 0 && len(g.since) == 0 {
		g.previous = &state
		return nil
	}
	snapshot, err := Snapshot(ctx, g.live)
	if err != nil {
		return err
	}
	g.snapshots++
	// The limits of the last good state decide what was lowered meanwhile.
	judge := invariant.NewChecker()
	if g.previous != nil {
		judge.Check(*g.previous)
	}
	g.judge(withoutUpstreams(judge.Check(snapshot), snapshot))
	if len(g.since) == 0 {
		g.previous = &snapshot
	}
	return nil
}

// judge keeps what was found and reports what is certain.
func (g *Guard) judge(found []invariant.Violation) {
	now := g.clock.Now()
	there := map[breach]bool{}
	for _, v := range found {
		key := breach{v.Rule, v.Subject}
		there[key] = true
		if g.since[key].IsZero() {
			g.since[key] = now
		}
		if !g.reported[key] && (atOnce[v.Rule] || now.Sub(g.since[key]) >= Settle) {
			g.reported[key] = true
			g.report(now, v)
		}
	}
	for key := range g.since {
		if !there[key] {
			delete(g.since, key)
		}
	}
}

// Snapshot reads all kinds at one revision.
func Snapshot(ctx context.Context, live client.Reader) (invariant.State, error) {
	var nodes corev1.NodeList
	if err := live.List(ctx, &nodes, &client.ListOptions{Limit: 1}); err != nil {
		return invariant.State{}, fmt.Errorf("failed to find the revision: %w", err)
	}
	return read(ctx, live, &metav1.ListOptions{
		ResourceVersion: nodes.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
}

func read(ctx context.Context, from client.Reader, at *metav1.ListOptions) (invariant.State, error) {
	var (
		nodes      corev1.NodeList
		topologies kueue.TopologyList
		flavors    kueue.ResourceFlavorList
		queues     kueue.ClusterQueueList
		cohorts    kueue.CohortList
		workloads  kueue.WorkloadList
		pods       corev1.PodList
	)
	options := &client.ListOptions{Raw: at}
	if at == nil {
		// Nothing here changes an object.
		yes := true
		options.UnsafeDisableDeepCopy = &yes
	}
	for _, list := range []client.ObjectList{&nodes, &topologies, &flavors, &queues, &cohorts, &workloads, &pods} {
		if err := from.List(ctx, list, options); err != nil {
			return invariant.State{}, fmt.Errorf("failed to list %T: %w", list, err)
		}
	}
	return invariant.State{
		Nodes: nodes.Items, Topologies: topologies.Items, Flavors: flavors.Items, ClusterQueues: queues.Items,
		Cohorts: cohorts.Items, Workloads: workloads.Items, Pods: pods.Items,
	}, nil
}
