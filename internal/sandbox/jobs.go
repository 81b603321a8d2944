// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
)

// Job is a RayJob to submit.
type Job struct {
	object *unstructured.Unstructured
	name   types.NamespacedName
	work   simray.Work
}

// LoadJobs reads RayJobs from files. Errors name file, job and field.
func LoadJobs(files ...string) ([]Job, error) {
	if len(files) == 0 {
		return nil, errors.New("failed to load jobs: no file given")
	}
	var jobs []Job
	from := map[types.NamespacedName]string{}
	for _, file := range files {
		objects, err := manifests.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if len(objects) == 0 {
			return nil, fmt.Errorf("failed to load jobs: %s has no object", file)
		}
		for _, object := range objects {
			job, err := newJob(object)
			if err != nil {
				return nil, fmt.Errorf("failed to load %s: %s %q: %w", file, object.GetKind(), object.GetName(), err)
			}
			if first, ok := from[job.name]; ok {
				return nil, fmt.Errorf("failed to load %s: RayJob %q: metadata.name is taken by the job in %s", file, job.name.Name, first)
			}
			from[job.name] = file
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

func newJob(object *unstructured.Unstructured) (Job, error) {
	if gvk := object.GroupVersionKind(); gvk != rayv1.GroupVersion.WithKind("RayJob") {
		return Job{}, fmt.Errorf("apiVersion and kind are %s %s, allowed is %s RayJob", object.GetAPIVersion(), object.GetKind(), rayv1.GroupVersion)
	}
	if object.GetNamespace() != fleet.Namespace {
		return Job{}, fmt.Errorf("metadata.namespace is %q, allowed is %q", object.GetNamespace(), fleet.Namespace)
	}
	// Unknown fields would be dropped in silence by the API server.
	var typed rayv1.RayJob
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
		return Job{}, err
	}
	work, err := simray.ParseWork(object.GetAnnotations()[simray.WorkAnnotation])
	if err != nil {
		return Job{}, err
	}
	return Job{
		object: object,
		name:   types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		work:   work,
	}, nil
}
