// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Some sequences are directed: random ones seldom get to where several things have to
// come together. Their sizes and orders are random all the same.

// direct turns some seeds into directed sequences.
func direct(q sequence, r *rand.Rand) sequence {
	switch r.IntN(24) {
	case 0:
		return crowd(q, r)
	case 1:
		return handover(q, r)
	}
	return q
}

// crowd lets a job that preempts start in one cycle with jobs of other queues, which use
// the same node and would fit in the place of its victim.
func crowd(q sequence, r *rand.Rand) sequence {
	victim := 2 + r.IntN(4)
	s := &q.setup
	s.habits, s.flaky, s.headsPlain, s.cohort = habits{}, false, true, false
	s.nodes = []nodeSetup{{name: "n01", rack: "r1", kind: "a", gpus: 8, pods: 110}}
	s.flavors = []flavorSetup{{"f1", "a"}}
	s.queues = nil
	for i, quota := range []int64{int64(victim), 8, 8} {
		s.queues = append(s.queues, queueSetup{
			name: []string{"q1", "q2", "q3"}[i], flavors: []string{"f1"}, quota: []int64{quota}, borrowing: -1, lending: -1,
			preemption: kueue.ClusterQueuePreemption{
				WithinClusterQueue: kueue.PreemptionPolicyLowerPriority, ReclaimWithinCohort: kueue.PreemptionPolicyNever,
			},
		})
	}
	job := func(queue, priority, pods, rounds int) op {
		return op{
			kind: opSubmit, target: queue, value: priority, fixed: r.IntN(2) == 0, rounds: rounds, salt: r.Uint64(),
			groups: []groupSpec{{gpus: 1, count: pods}},
		}
	}
	q.ops = append([]op{
		job(0, 0, victim, -1), job(0, 2, 1+r.IntN(victim), 0), job(1, 0, 1+r.IntN(4), 0), job(2, 0, 1+r.IntN(4), -1),
	}, q.ops[:min(3, len(q.ops))]...)
	return q
}

// handover resizes a job again and again within a second, and deactivates its Workloads,
// while writes fail.
func handover(q sequence, r *rand.Rand) sequence {
	s := &q.setup
	s.habits, s.flaky = habits{quick: true, eager: true, shaky: 4}, false
	s.nodes[0].gpus, s.nodes[0].pods = 8, 110
	ops := []op{{kind: opSubmit, groups: []groupSpec{{gpus: 1, count: 1}}, rounds: 20, salt: r.Uint64()}}
	for range 2 + r.IntN(3) {
		ops = append(ops,
			op{kind: opResize, value: 2 + r.IntN(5), rounds: 3 + r.IntN(10), salt: r.Uint64()},
			op{kind: opDeactivate, target: r.IntN(2), rounds: r.IntN(10), salt: r.Uint64()},
			op{kind: opActivate, rounds: 5 + r.IntN(10), salt: r.Uint64()})
	}
	q.ops = append(ops, q.ops[:min(3, len(q.ops))]...)
	return q
}
