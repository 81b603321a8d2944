// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"os"
	"path/filepath"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"sigs.k8s.io/yaml"
)

// The examples are accepted as they stand.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "workgroup", "*.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("found the examples %v, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			job := &rayv1.RayJob{}
			if err := yaml.UnmarshalStrict(data, job); err != nil {
				t.Fatal(err)
			}
			if errs := ValidateCreate(job, classes); len(errs) > 0 {
				t.Errorf("ValidateCreate() = %v, want nothing", errs)
			}
			Default(job)
			if _, err := GroupsOf(job, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
