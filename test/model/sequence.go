// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

// sequence is a cluster and what happens to it.
type sequence struct {
	setup setup
	ops   []op
}

// newSequence makes the sequence of a seed.
func newSequence(seed uint64) sequence {
	r := rand.New(rand.NewPCG(seed, 0x6b75657565))
	q := sequence{setup: newSetup(r), ops: newOps(r)}
	own := rand.New(rand.NewPCG(seed, 0x686162697473))
	q.setup.habits = newHabits(own)
	return direct(q, own)
}

// play runs a sequence. A panic is a violation as well.
func play(ctx context.Context, scheme *runtime.Scheme, q sequence, st *stats, strict bool, trace func(string, ...any)) (found []invariant.Violation) {
	defer func() {
		if p := recover(); p != nil {
			found = append(found, invariant.Violation{Rule: "Panic", Subject: "manager", Evidence: fmt.Sprintf("%v\n%s", p, debug.Stack())})
		}
	}()
	return newWorld(ctx, scheme, q.setup, st, strict, trace).run(q.ops)
}

// shrink leaves out steps, larger parts first, as long as the same rule is broken.
func shrink(q sequence, rule invariant.Rule, again func(sequence) []invariant.Violation) sequence {
	broken := func(ops []op) bool {
		return slices.ContainsFunc(again(sequence{q.setup, ops}), func(v invariant.Violation) bool { return v.Rule == rule })
	}
	for size := len(q.ops) / 2; size > 0; {
		left := false
		for start := 0; start+size <= len(q.ops); {
			shorter := slices.Concat(q.ops[:start], q.ops[start+size:])
			if broken(shorter) {
				q.ops, left = shorter, true
			} else {
				start += size
			}
		}
		if !left || size > len(q.ops) {
			size /= 2
		}
	}
	return simplify(q, broken)
}

// simplify replaces steps by simpler ones of their kind.
func simplify(q sequence, broken func([]op) bool) sequence {
	try := func(i int, edit func(*op)) {
		ops := slices.Clone(q.ops)
		ops[i].groups = slices.Clone(ops[i].groups)
		edit(&ops[i])
		if broken(ops) {
			q.ops = ops
		}
	}
	for i := range q.ops {
		if q.ops[i].rounds >= 0 {
			try(i, func(o *op) { o.rounds = -1 })
		}
		if q.ops[i].kind != opSubmit {
			continue
		}
		for g := len(q.ops[i].groups) - 1; g > 0; g-- {
			try(i, func(o *op) { o.groups = slices.Delete(o.groups, g, g+1) })
		}
		for g := range q.ops[i].groups {
			try(i, func(o *op) { o.groups[g].gpus = 1 })
		}
	}
	return q
}
