// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"sort"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Shape is another form of the Workload that would start now.
type Shape struct {
	PodSet kueue.PodSetReference `json:"podSet"`
	// Pods is the number of pods, Each what one asks for.
	Pods int64   `json:"pods"`
	Each Amounts `json:"each"`
	// Whole says that the shape asks for no less than the Workload does.
	Whole   bool   `json:"whole"`
	Message string `json:"message"`
}

// shapes looks for forms of one PodSet that would start now: the same work in
// smaller pods, and fewer of the pods as they are. The other PodSets stay.
func (s *State) shapes(queue *kueue.ClusterQueue, asks []ask, at int) []Shape {
	starts := func(changed ask) bool {
		with := append([]ask(nil), asks...)
		with[at] = changed
		_, stuck := s.newTrial(queue).all(with)
		return stuck < 0
	}
	var out []Shape
	original := asks[at]
	res := original.each.key()
	for parts := int64(2); parts <= original.each[res]; parts++ {
		if original.each[res]%parts != 0 {
			continue
		}
		split := original
		split.each = Amounts{}
		for name, n := range original.each {
			// A part gets its share, rounded up; it is one pod.
			split.each[name] = (n + parts - 1) / parts
		}
		split.count, split.running = original.count*parts, original.running*parts
		if starts(split) {
			out = append(out, Shape{
				PodSet: original.podSet.Name, Pods: split.count, Each: split.each, Whole: true,
				Message: fmt.Sprintf("as %d × %s it would start now", split.count, amount(res, split.each[res])),
			})
			break
		}
	}
	fewer := int64(sort.Search(int(original.wanted()), func(n int) bool {
		changed := original
		changed.count = original.running + int64(n) + 1
		return !starts(changed)
	}))
	if fewer > 0 && fewer < original.wanted() {
		out = append(out, Shape{
			PodSet: original.podSet.Name, Pods: original.running + fewer, Each: original.each,
			Message: fmt.Sprintf("%d of its %s would start now", original.running+fewer, plural(original.count, "pod")),
		})
	}
	return out
}
