// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import "strings"

// Leaf is a domain at the lowest level of a topology, as far as one resource goes.
type Leaf struct {
	// Values has one for each level, from the highest.
	Values          []string
	Capacity, Usage int64
}

func (l Leaf) free() int64 { return max(l.Capacity-l.Usage, 0) }

// Shape is a group of pods that starts together.
type Shape struct {
	Pods int64
	// Each is what one pod asks for; more than 0.
	Each int64
}

// smaller compares what the groups ask for together, then by pod.
func (s Shape) smaller(other Shape) bool {
	if a, b := s.Pods*s.Each, other.Pods*other.Each; a != b {
		return a < b
	}
	return s.Each < other.Each
}

// Packing tells how the pods lie on the nodes of a flavor.
type Packing struct {
	Allocated, Free int64
	// Levels has one for each level, from the highest.
	Levels []LevelPacking
}

// LevelPacking tells what the free amount is worth if a group of pods has to stay in
// one domain of a level.
type LevelPacking struct {
	// LargestFree is the most that is free in one domain.
	LargestFree int64
	// Unusable is free and of no use to the shape that was asked about.
	Unusable int64
}

// Pack measures the leaves of a topology with so many levels. The shape may be nil;
// then nothing is unusable.
//
// At the lowest level the shape is one pod, since a group that has to stay on one
// node is rare. Above, a domain that can't hold the whole group is of no use, and of
// one that can, the rest that no pod fits in.
func Pack(levels int, leaves []Leaf, shape *Shape) Packing {
	out := Packing{Levels: make([]LevelPacking, levels)}
	for _, leaf := range leaves {
		out.Allocated += leaf.Usage
		out.Free += leaf.free()
	}
	for i := range levels {
		pods := int64(1)
		if shape != nil && i < levels-1 {
			pods = shape.Pods
		}
		for _, d := range domains(leaves, i+1, shape) {
			out.Levels[i].LargestFree = max(out.Levels[i].LargestFree, d.free)
			switch {
			case shape == nil:
			case d.pods < pods:
				out.Levels[i].Unusable += d.free
			default:
				out.Levels[i].Unusable += d.free - d.pods*shape.Each
			}
		}
	}
	return out
}

type domain struct {
	free int64
	// pods is how many of the shape's fit in the leaves below.
	pods int64
}

// domains sums up the leaves that have the first values in common.
func domains(leaves []Leaf, values int, shape *Shape) map[string]domain {
	out := map[string]domain{}
	for _, leaf := range leaves {
		key := strings.Join(leaf.Values[:values], "\x00")
		d := out[key]
		d.free += leaf.free()
		if shape != nil {
			d.pods += leaf.free() / shape.Each
		}
		out[key] = d
	}
	return out
}
