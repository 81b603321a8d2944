// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests reads the manifests that the sandbox installs from where
// their projects keep them, adapts them to a cluster without containers, and
// applies them.
package manifests

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// RenderKustomization builds the kustomization in dir.
func RenderKustomization(dir string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("failed to render %s: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, resources.Size())
	for _, resource := range resources.Resources() {
		content, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("failed to render %s: %w", dir, err)
		}
		objects = append(objects, &unstructured.Unstructured{Object: content})
	}
	return objects, nil
}

// ReadFile returns the objects of a YAML file with one or more documents.
func ReadFile(path string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read manifests: %w", err)
	}
	defer func() { _ = f.Close() }()
	return Decode(path, f)
}

// ReadFiles reads the named files of a folder.
func ReadFiles(dir string, names ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, name := range names {
		more, err := ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// Decode returns the objects of a YAML stream. name is what errors call it.
func Decode(name string, r io.Reader) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(r, 4096)
	var objects []*unstructured.Unstructured
	for doc := 1; ; doc++ {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("failed to decode document %d of %s: %w", doc, name, err)
		}
		if len(object.Object) == 0 {
			continue // Only comments, or nothing.
		}
		if object.GetAPIVersion() == "" || object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("failed to decode document %d of %s: apiVersion, kind and metadata.name must be set", doc, name)
		}
		objects = append(objects, object)
	}
}
