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
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// WorkAnnotation on a RayJob says what its driver has to do, as a YAML list
// of phases.
const WorkAnnotation = "sandbox.fleet.ai/work"

// maxItems bounds the items of one phase; more than this is a typing error.
const maxItems = 1_000_000

// DefaultRemoveUnready is how long the autoscaler bears with a worker that was
// ready and is not. Measured on a Ray cluster: about ten seconds.
const DefaultRemoveUnready = 10 * time.Second

// Phase is a number of equal items that do not depend on each other. A phase
// starts when the one before it, of the same group, is finished.
type Phase struct {
	// Name is the task's name in the ledger. The default is its position.
	Name string
	// Group is the worker group that works on it; empty for all workers.
	Group string
	// Items is how many there are.
	Items int
	// Duration is how long one item takes.
	Duration time.Duration
	// Workers is how many workers one item needs at the same time, as a
	// placement group does.
	Workers int
}

// Work is what a job has to do, and how its autoscaler behaves.
type Work struct {
	Phases []Phase
	// ItemsPerWorker is how many items a worker works on at the same time.
	ItemsPerWorker int
	// ModelLoad is what a new worker takes before its first item.
	ModelLoad time.Duration
	// Upscale is how many workers the autoscaler asks for in one step.
	Upscale int
	// RemoveUnready is when the autoscaler removes a worker that was ready
	// and is not any more; 0 is never.
	RemoveUnready time.Duration
	// FixedSize says that there is no autoscaler, whatever the manifest says.
	FixedSize bool
}

// Items is the number of items of all phases.
func (w Work) Items() int {
	total := 0
	for _, phase := range w.Phases {
		total += phase.Items
	}
	return total
}

// Parts splits the work by worker group. The phases of one group follow each
// other, those of different groups go on side by side. Work that names no
// groups is one part, under the empty name.
func (w Work) Parts() map[string]Work {
	parts := map[string]Work{}
	for _, phase := range w.Phases {
		part, ok := parts[phase.Group]
		if !ok {
			part = w
			part.Phases = nil
		}
		part.Phases = append(part.Phases, phase)
		parts[phase.Group] = part
	}
	return parts
}

// MixedGroups returns the first phase that names a group while another does
// not, or the other way round; -1 if there is none. Who works on what would
// not be clear.
func (w Work) MixedGroups() int {
	return slices.IndexFunc(w.Phases, func(phase Phase) bool { return (phase.Group == "") != (w.Phases[0].Group == "") })
}

// Scaled is the work in the time of a run in which one second stands for
// scale seconds.
func (w Work) Scaled(scale float64) Work {
	shorter := func(d time.Duration) time.Duration { return time.Duration(float64(d) / scale) }
	w.ModelLoad, w.RemoveUnready = shorter(w.ModelLoad), shorter(w.RemoveUnready)
	phases := make([]Phase, len(w.Phases))
	for i, phase := range w.Phases {
		phase.Duration = shorter(phase.Duration)
		phases[i] = phase
	}
	w.Phases = phases
	return w
}

// withDefaults fills in what is not set.
func (w Work) withDefaults() Work {
	w.ItemsPerWorker, w.Upscale = cmp.Or(w.ItemsPerWorker, 1), cmp.Or(w.Upscale, 1)
	phases := make([]Phase, len(w.Phases))
	for i, phase := range w.Phases {
		phase.Workers = cmp.Or(phase.Workers, 1)
		phases[i] = phase
	}
	w.Phases = phases
	return w
}

// ParseWork reads the value of WorkAnnotation. Errors name the phase and the
// field.
func ParseWork(annotation string) (Work, error) {
	var raw []struct {
		Name     string           `json:"name"`
		Group    string           `json:"group"`
		Items    *int             `json:"items"`
		Duration *metav1.Duration `json:"duration"`
		Workers  *int             `json:"workers"`
	}
	if err := yaml.UnmarshalStrict([]byte(annotation), &raw); err != nil {
		return Work{}, fmt.Errorf("failed to read annotation %s, want a list of {name, group, items, duration, workers}: %w", WorkAnnotation, err)
	}
	if len(raw) == 0 {
		return Work{}, fmt.Errorf("annotation %s has no phase, at least one is needed", WorkAnnotation)
	}
	work := Work{RemoveUnready: DefaultRemoveUnready}
	names := map[string]int{}
	for i, r := range raw {
		phase := Phase{Name: r.Name, Group: r.Group, Workers: 1}
		bad := func(field string, value any, allowed string) (Work, error) {
			return Work{}, fmt.Errorf("annotation %s: [%d].%s is %v, allowed is %s", WorkAnnotation, i, field, value, allowed)
		}
		if phase.Name == "" {
			phase.Name = fmt.Sprintf("phase-%d", i)
		}
		if first, ok := names[phase.Name]; ok {
			return bad("name", phase.Name, fmt.Sprintf("a name of its own, [%d] has this one", first))
		}
		names[phase.Name] = i
		if r.Items == nil {
			return bad("items", "missing", "a number from 1")
		}
		if phase.Items = *r.Items; phase.Items < 1 || phase.Items > maxItems {
			return bad("items", phase.Items, fmt.Sprintf("1 to %d", maxItems))
		}
		if r.Duration == nil {
			return bad("duration", "missing", "a duration above 0, such as 1500ms")
		}
		if phase.Duration = r.Duration.Duration; phase.Duration <= 0 {
			return bad("duration", phase.Duration, "a duration above 0, such as 1500ms")
		}
		if r.Workers != nil {
			phase.Workers = *r.Workers
		}
		if phase.Workers < 1 {
			return bad("workers", phase.Workers, "a number from 1")
		}
		work.Phases = append(work.Phases, phase)
		if work.MixedGroups() >= 0 {
			return bad("group", fmt.Sprintf("%q", phase.Group), "a worker group in all phases or in none")
		}
	}
	return work.withDefaults(), nil
}
