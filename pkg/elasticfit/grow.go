// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"cmp"
	"slices"
	"sync"
)

// growth is the scratch space of Grow.
type growth struct {
	req     Request
	usage   []LeafUsage
	amounts []int64
	merged  []Placement
}

var growths = sync.Pool{New: func() any { return &growth{} }}

// Grow places the pods of a group that is to have req.Pods when those of kept stay
// where they are: it leaves room for them, places what is missing, and writes all
// to out. kept is in the order of the leaves; the state doesn't count its pods.
func (s *State) Grow(req *Request, kept []Placement, out *Assignment) error {
	g := growths.Get().(*growth)
	defer growths.Put(g)
	g.req = *req
	width := len(req.Pod)
	g.amounts, g.usage = g.amounts[:0], append(g.usage[:0], req.Assumed...)
	for _, k := range kept {
		for _, amount := range req.Pod {
			g.amounts = append(g.amounts, amount*int64(k.Pods))
		}
		g.req.Pods -= k.Pods
	}
	for i, k := range kept {
		g.usage = append(g.usage, LeafUsage{Leaf: k.Leaf, Amounts: g.amounts[i*width : (i+1)*width]})
	}
	g.req.Assumed = g.usage
	if g.req.Pods <= 0 {
		out.Leader, out.Workers = out.Leader[:0], append(out.Workers[:0], kept...)
		return nil
	}
	if err := s.Place(&g.req, out); err != nil {
		return err
	}
	g.merged = append(g.merged[:0], out.Workers...)
	out.Workers = mergePlacements(out.Workers[:0], g.merged, kept)
	return nil
}

// mergePlacements appends the pods of both to dst, in the order of the leaves.
func mergePlacements(dst, a, b []Placement) []Placement {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Leaf < b[0].Leaf:
			dst, a = append(dst, a[0]), a[1:]
		case len(a) == 0 || b[0].Leaf < a[0].Leaf:
			dst, b = append(dst, b[0]), b[1:]
		default:
			dst = append(dst, Placement{Leaf: a[0].Leaf, Pods: a[0].Pods + b[0].Pods})
			a, b = a[1:], b[1:]
		}
	}
	return dst
}

// byLeaf puts usage in the order of the leaves and adds up what is on one leaf.
func byLeaf(usage []LeafUsage) []LeafUsage {
	slices.SortStableFunc(usage, func(a, b LeafUsage) int { return cmp.Compare(a.Leaf, b.Leaf) })
	result := usage[:0]
	for _, u := range usage {
		if len(result) == 0 || result[len(result)-1].Leaf != u.Leaf {
			result = append(result, u)
			continue
		}
		last := &result[len(result)-1]
		sum := append(Vector(nil), last.Amounts...)
		for i, amount := range u.Amounts {
			if i < len(sum) {
				sum[i] = addClamped(sum[i], amount)
			} else {
				sum = append(sum, amount)
			}
		}
		last.Amounts = sum
	}
	return result
}
