// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

const (
	queueLabel    = "kueue.x-k8s.io/queue-name"
	priorityLabel = "kueue.x-k8s.io/priority-class"
)

// Names are the names of a job's copies.
func (j *Job) Names() []string {
	if j.Copies == 0 {
		return []string{j.Name}
	}
	names := make([]string, j.Copies)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", j.Name, i+1)
	}
	return names
}

// Submission is one RayJob as it is created, with its work.
type Submission struct {
	Job    *Job
	Object *unstructured.Unstructured
	Work   simray.Work
}

// Submissions reads the manifests of all jobs. Errors name the file, the job
// and the field.
func (s *Scenario) Submissions() ([]Submission, error) {
	var all []Submission
	for i := range s.Jobs {
		j := &s.Jobs[i]
		object, err := s.manifestOf(j)
		if err != nil {
			return nil, fmt.Errorf("failed to read job %q of scenario %s: %w", j.Name, s.Name, err)
		}
		work, err := workOf(j, object)
		if err == nil {
			err = checkGroups(work, object)
		}
		if err != nil {
			return nil, fmt.Errorf("failed to read job %q of scenario %s: %w", j.Name, s.Name, err)
		}
		for _, name := range j.Names() {
			submitted := object.DeepCopy()
			submitted.SetName(name)
			all = append(all, Submission{Job: j, Object: submitted, Work: work})
		}
	}
	return all, nil
}

func (s *Scenario) manifestOf(j *Job) (*unstructured.Unstructured, error) {
	objects, err := s.Read(Object{File: j.File, Manifest: j.Manifest})
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("file %s has %d objects, allowed is one RayJob", j.File, len(objects))
	}
	object := objects[0]
	if err := change(object, j); err != nil {
		return nil, err
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	if j.Priority != "" {
		labels[priorityLabel] = j.Priority
	}
	if j.Queue != "" {
		labels[queueLabel] = j.Queue
	}
	object.SetLabels(labels)
	if gvk := object.GroupVersionKind(); gvk != rayv1.GroupVersion.WithKind("RayJob") {
		return nil, fmt.Errorf("apiVersion and kind are %s %s, allowed is %s RayJob", object.GetAPIVersion(), object.GetKind(), rayv1.GroupVersion)
	}
	if object.GetNamespace() != fleet.Namespace {
		return nil, fmt.Errorf("metadata.namespace is %q, allowed is %q", object.GetNamespace(), fleet.Namespace)
	}
	// Unknown fields would be dropped in silence by the API server.
	var typed rayv1.RayJob
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		return nil, err
	}
	return object, nil
}

// change makes the changes that a job asks for.
func change(object *unstructured.Unstructured, j *Job) error {
	const group = "spec.rayClusterSpec.workerGroupSpecs[0]."
	type field struct {
		path  string
		value any
	}
	var fields []field
	if j.Workers != nil {
		for _, name := range []string{"replicas", "minReplicas", "maxReplicas"} {
			fields = append(fields, field{group + name, *j.Workers})
		}
	}
	if j.GPUs != nil {
		for _, name := range []string{"requests", "limits"} {
			path := group + "template.spec.containers[0].resources." + name + `["` + string(fleet.GPUResource) + `"]`
			fields = append(fields, field{path, strconv.Itoa(*j.GPUs)})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(j.Set)) {
		fields = append(fields, field{path, j.Set[path]})
	}
	for _, f := range fields {
		if err := setPath(object.Object, f.path, f.value); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	return nil
}

// Read returns the objects that o stands for.
func (s *Scenario) Read(o Object) ([]*unstructured.Unstructured, error) {
	if o.File != "" {
		file := o.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(s.Dir, file)
		}
		return manifests.ReadFile(file)
	}
	content, err := jsonValue(o.Manifest)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content.(map[string]any)}
	if object.GetAPIVersion() == "" || object.GetKind() == "" {
		return nil, fmt.Errorf("manifest: apiVersion is %q and kind is %q, both must be set", object.GetAPIVersion(), object.GetKind())
	}
	return []*unstructured.Unstructured{object}, nil
}

func workOf(j *Job, object *unstructured.Unstructured) (simray.Work, error) {
	if j.Work == nil {
		return simray.ParseWork(object.GetAnnotations()[simray.WorkAnnotation])
	}
	work := simray.Work{
		ItemsPerWorker: j.Work.ItemsPerWorker,
		ModelLoad:      j.Work.ModelLoad.D(),
		Upscale:        j.Work.Upscale,
		RemoveUnready:  j.Work.RemoveUnready.Or(simray.DefaultRemoveUnready),
		FixedSize:      j.Work.Autoscaler == "off",
	}
	for _, phase := range j.Work.Phases {
		work.Phases = append(work.Phases, simray.Phase{
			Name: phase.Name, Group: phase.Group, Items: phase.Items, Duration: phase.Duration.D(), Workers: phase.Workers,
		})
	}
	return work, nil
}

// checkGroups reports a phase whose worker group the job doesn't have.
func checkGroups(work simray.Work, object *unstructured.Unstructured) error {
	specs, _, err := unstructured.NestedSlice(object.Object, "spec", "rayClusterSpec", "workerGroupSpecs")
	if err != nil {
		return err
	}
	var names []string
	for _, spec := range specs {
		if group, ok := spec.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(group, "groupName")
			names = append(names, name)
		}
	}
	for i, phase := range work.Phases {
		if phase.Group != "" && !slices.Contains(names, phase.Group) {
			return fmt.Errorf("phase %d of the work: group is %q, allowed are the job's worker groups %s", i, phase.Group, orNone(names))
		}
	}
	return nil
}

// jsonValue turns what the YAML decoder made into what an API object holds.
func jsonValue(value any) (any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("failed to encode a manifest: %w", err)
	}
	object := &unstructured.Unstructured{}
	wrapped := fmt.Sprintf(`{"kind":"Any","apiVersion":"v1","value":%s}`, text)
	if err := object.UnmarshalJSON([]byte(wrapped)); err != nil {
		return nil, fmt.Errorf("failed to read a manifest: %w", err)
	}
	return object.Object["value"], nil
}

// setPath sets, or with nil removes, the value at a path such as
// spec.groups[0].replicas. A name with dots goes in quotes:
// metadata.annotations["a.b/c"].
func setPath(object map[string]any, path string, value any) error {
	steps, err := splitPath(path)
	if err != nil {
		return err
	}
	converted, err := jsonValue(value)
	if err != nil {
		return err
	}
	var at any = object
	for i, step := range steps {
		last := i == len(steps)-1
		switch holder := at.(type) {
		case map[string]any:
			switch {
			case last && converted == nil:
				delete(holder, step)
			case last:
				holder[step] = converted
			case holder[step] == nil:
				holder[step] = map[string]any{}
			}
			at = holder[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(holder) {
				return fmt.Errorf("path %q: %s is no index of a list of %d", path, step, len(holder))
			}
			if last {
				holder[index] = converted
			}
			at = holder[index]
		default:
			return fmt.Errorf("path %q: there is nothing to hold %q", path, step)
		}
	}
	return nil
}

func splitPath(path string) ([]string, error) {
	var steps []string
	for rest := path; rest != ""; {
		switch {
		case strings.HasPrefix(rest, `["`):
			name, after, ok := strings.Cut(rest[2:], `"]`)
			if !ok {
				return nil, fmt.Errorf("path %q: a quote is not closed", path)
			}
			steps, rest = append(steps, name), after
		case strings.HasPrefix(rest, "["):
			index, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				return nil, fmt.Errorf("path %q: a bracket is not closed", path)
			}
			steps, rest = append(steps, index), after
		default:
			rest = strings.TrimPrefix(rest, ".")
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, fmt.Errorf("path %q: a name is empty", path)
			}
			steps, rest = append(steps, rest[:end]), rest[end:]
		}
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("path %q is empty", path)
	}
	return steps, nil
}
