// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workload"
)

// arm is who does the work: Kueue's algorithm with its speed gates on, or the engine
// behind Kueue's interfaces.
type arm string

const (
	upstream arm = "upstream"
	fleet    arm = "fleet"
	// engineAlone is the engine without Kueue's types around it.
	engineAlone arm = "engine"
)

// scenario prepares an operation to measure on a cluster. The operation leaves the
// cluster as it was, or changes it back and forth.
type scenario struct {
	name    string
	prepare func(*cluster) (func() error, error)
	// before, if set, comes before each operation and isn't measured.
	before func(*cluster) error
}

var scenarios = []scenario{
	// An elastic group of 20 pods gets one more.
	{name: "growth", prepare: func(c *cluster) (func() error, error) {
		kept := &tas.TopologyAssignment{Levels: levels[len(levels)-1:]}
		r := request("workers", 21, &kueue.PodSetTopologyRequest{Unconstrained: new(true)})
		for _, pods := range keptPods(c.nodes) {
			kept.Domains = append(kept.Domains, tas.TopologyDomainAssignment{Values: []string{nodeName(pods.node)}, Count: pods.count})
		}
		r.PreviousAssignment, r.PinPrevious = tas.V1Beta2From(kept), true
		return finding(c, r)
	}},
	// 12 pods that must be in one rack.
	{name: "rack", prepare: func(c *cluster) (func() error, error) {
		return finding(c, request("workers", 12, &kueue.PodSetTopologyRequest{Required: new(rackLabel)}))
	}},
	// Pods for a third of the GPUs of a block, or of all nodes if there are fewer.
	{name: "placement", prepare: func(c *cluster) (func() error, error) {
		return finding(c, request("workers", third(c.nodes), &kueue.PodSetTopologyRequest{Preferred: new(rackLabel)}))
	}},
	{name: "placement-leader", prepare: func(c *cluster) (func() error, error) {
		topology := &kueue.PodSetTopologyRequest{Preferred: new(rackLabel)}
		workers, leader := request("workers", third(c.nodes), topology), request("leader", 1, topology)
		workers.PodSetGroupName, leader.PodSetGroupName = new("group"), new("group")
		return finding(c, workers, leader)
	}},
	// A request that no node is large enough for.
	{name: "no-room", prepare: func(c *cluster) (func() error, error) {
		r := request("workers", gpusPerNode+1, &kueue.PodSetTopologyRequest{Required: new(levels[len(levels)-1])})
		q, err := c.queue()
		if err != nil {
			return nil, err
		}
		return func() error {
			if find(q, r).Failure() == nil {
				return errors.New("there is room where there is none")
			}
			return nil
		}, nil
	}},
	// A workload's usage is taken out, a placement looked for, and the usage put back,
	// as when victims of a preemption are chosen.
	{name: "simulation", prepare: func(c *cluster) (func() error, error) {
		q, err := c.queue()
		if err != nil {
			return nil, err
		}
		victim := workload.NewInfo(c.running[0]).Usage()
		r := request("workers", 12, &kueue.PodSetTopologyRequest{Required: new(rackLabel)})
		return func() error {
			defer q.SimulateUsageRemoval(victim)()
			return failure(find(q, r))
		}, nil
	}},
	// A cycle's snapshot after one workload has ended and another has started. It is
	// that of all queues, of which there is one with few workloads.
	{name: "snapshot", before: (*cluster).restartOne, prepare: func(c *cluster) (func() error, error) {
		return func() error {
			_, err := c.queue()
			return err
		}, nil
	}},
}

func (c *cluster) restartOne() error {
	if err := c.cache.DeleteWorkload(logr.Discard(), workload.Key(c.running[0])); err != nil {
		return fmt.Errorf("failed to remove the workload: %w", err)
	}
	c.cache.AddOrUpdateWorkload(logr.Discard(), c.running[0])
	return nil
}

type nodePods struct {
	node  int
	count int32
}

// keptPods are the 20 pods that a group has, on the last nodes.
func keptPods(nodes int) []nodePods {
	return []nodePods{{nodes - 3, 4}, {nodes - 2, 8}, {nodes - 1, 8}}
}

func third(nodes int) int32 {
	return int32(min(nodes, nodesPerRack*racksPerBlock) * gpusPerNode / 3)
}

func find(q *schdcache.ClusterQueueSnapshot, requests ...schdcache.TASPodSetRequests) schdcache.TASAssignmentsResult {
	return q.FindTopologyAssignmentsForWorkload(context.Background(), schdcache.WorkloadTASRequests{flavorName: requests})
}

func failure(result schdcache.TASAssignmentsResult) error {
	if f := result.Failure(); f != nil {
		return fmt.Errorf("there is no room for PodSet %s: %s", f.PodSetName, f.Reason)
	}
	return nil
}

// finding returns the operation that finds places in one snapshot.
func finding(c *cluster, requests ...schdcache.TASPodSetRequests) (func() error, error) {
	q, err := c.queue()
	if err != nil {
		return nil, err
	}
	return func() error { return failure(find(q, requests...)) }, nil
}
