// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simray is a model of what runs inside a Ray cluster: work items
// handed to workers, a ledger of finished items, and the autoscaler. It is
// simulated: no Ray is involved, no item does anything but take time.
//
// Everything here is plain data and functions of a given time; package
// simruntime connects it to a cluster.
package simray

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// WorkAnnotation on a RayJob says what its driver has to do, as a YAML list
// of phases.
const WorkAnnotation = "sandbox.fleet.ai/work"

// maxItems bounds the items of one phase; more than this is a typing error.
const maxItems = 1_000_000

// Phase is a number of equal items that do not depend on each other. A phase
// starts when the one before it is finished.
type Phase struct {
	// Name is the task's name in the ledger. The default is its position.
	Name string
	// Items is how many there are.
	Items int
	// Duration is how long one item takes.
	Duration time.Duration
	// Workers is how many workers one item needs at the same time.
	Workers int
}

// Work is what a job has to do.
type Work []Phase

// Items is the number of items of all phases.
func (w Work) Items() int {
	total := 0
	for _, phase := range w {
		total += phase.Items
	}
	return total
}

// ParseWork reads the value of WorkAnnotation. Errors name the phase and the
// field.
func ParseWork(annotation string) (Work, error) {
	var raw []struct {
		Name     string           `json:"name"`
		Items    *int             `json:"items"`
		Duration *metav1.Duration `json:"duration"`
		Workers  *int             `json:"workers"`
	}
	if err := yaml.UnmarshalStrict([]byte(annotation), &raw); err != nil {
		return nil, fmt.Errorf("failed to read annotation %s, want a list of {name, items, duration, workers}: %w", WorkAnnotation, err)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("annotation %s has no phase, at least one is needed", WorkAnnotation)
	}
	work := make(Work, 0, len(raw))
	names := map[string]int{}
	for i, r := range raw {
		phase := Phase{Name: r.Name, Workers: 1}
		bad := func(field string, value any, allowed string) error {
			return fmt.Errorf("annotation %s: [%d].%s is %v, allowed is %s", WorkAnnotation, i, field, value, allowed)
		}
		if phase.Name == "" {
			phase.Name = fmt.Sprintf("phase-%d", i)
		}
		if first, ok := names[phase.Name]; ok {
			return nil, bad("name", phase.Name, fmt.Sprintf("a name of its own, [%d] has this one", first))
		}
		names[phase.Name] = i
		if r.Items == nil {
			return nil, bad("items", "missing", "a number from 1")
		}
		if phase.Items = *r.Items; phase.Items < 1 || phase.Items > maxItems {
			return nil, bad("items", phase.Items, fmt.Sprintf("1 to %d", maxItems))
		}
		if r.Duration == nil {
			return nil, bad("duration", "missing", "a duration above 0, such as 1500ms")
		}
		if phase.Duration = r.Duration.Duration; phase.Duration <= 0 {
			return nil, bad("duration", phase.Duration, "a duration above 0, such as 1500ms")
		}
		if r.Workers != nil {
			phase.Workers = *r.Workers
		}
		if phase.Workers < 1 {
			return nil, bad("workers", phase.Workers, "a number from 1")
		}
		work = append(work, phase)
	}
	return work, nil
}
