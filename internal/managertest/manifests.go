// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package managertest

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Render builds the kustomization in dir.
func Render(dir string) ([]*unstructured.Unstructured, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("failed to render the kustomization in %s: %w", dir, err)
	}
	objects := make([]*unstructured.Unstructured, 0, resources.Size())
	for _, resource := range resources.Resources() {
		content, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("failed to read %s of the kustomization in %s: %w", resource.CurId(), dir, err)
		}
		object := &unstructured.Unstructured{}
		// Through YAML once more, because krusty's numbers are no JSON numbers.
		data, err := yaml.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("failed to encode %s of the kustomization in %s: %w", resource.CurId(), dir, err)
		}
		if err := yaml.Unmarshal(data, &object.Object); err != nil {
			return nil, fmt.Errorf("failed to decode %s of the kustomization in %s: %w", resource.CurId(), dir, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// ReadObjects reads the objects of YAML files, in their order.
func ReadObjects(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		data, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return nil, fmt.Errorf("failed to read an object: %w", err)
		}
		for document := range strings.SplitSeq("\n"+string(data), "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				return nil, fmt.Errorf("failed to decode %s: %w", path, err)
			}
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// ReadFolder is ReadObjects of a folder's YAML files, by name.
func ReadFolder(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("failed to list the objects in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("failed to read the objects in %s: it has no YAML file", dir)
	}
	return ReadObjects(files...)
}

// RayDefinitions are the CustomResourceDefinitions of RayClusters and RayJobs, from
// KubeRay's module.
func RayDefinitions(ctx context.Context, repoRoot string) ([]*unstructured.Unstructured, error) {
	ray, err := FindModule(ctx, repoRoot, "github.com/ray-project/kuberay/ray-operator")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(ray.Dir, "config", "crd", "bases")
	return ReadObjects(filepath.Join(dir, "ray.io_rayclusters.yaml"), filepath.Join(dir, "ray.io_rayjobs.yaml"))
}

// webhookTarget is where an API server reaches the webhook server of a manager
// that runs beside it instead of behind a Service.
type webhookTarget struct {
	address string
	caCert  []byte
}

// redirect replaces the Service in a clientConfig by the target's address and
// keeps the path.
func (w webhookTarget) redirect(clientConfig map[string]any) {
	path, _, _ := unstructured.NestedString(clientConfig, "service", "path")
	delete(clientConfig, "service")
	clientConfig["url"] = "https://" + w.address + path
	clientConfig["caBundle"] = base64.StdEncoding.EncodeToString(w.caCert)
}

// redirectObject does so in a webhook configuration and in a
// CustomResourceDefinition that converts by webhook.
func (w webhookTarget) redirectObject(object *unstructured.Unstructured) error {
	switch object.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return fmt.Errorf("failed to read the webhooks of %s: %w", object.GetName(), err)
		}
		for _, hook := range hooks {
			config, ok := hook.(map[string]any)["clientConfig"].(map[string]any)
			if !ok {
				return fmt.Errorf("failed to redirect %s: a webhook has no clientConfig", object.GetName())
			}
			w.redirect(config)
		}
		return unstructured.SetNestedSlice(object.Object, hooks, "webhooks")
	case "CustomResourceDefinition":
		config, found, err := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook", "clientConfig")
		if err != nil {
			return fmt.Errorf("failed to read the conversion of %s: %w", object.GetName(), err)
		}
		if found {
			w.redirect(config)
			return unstructured.SetNestedMap(object.Object, config, "spec", "conversion", "webhook", "clientConfig")
		}
	}
	return nil
}
