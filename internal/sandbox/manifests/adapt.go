// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const kindCRD = "CustomResourceDefinition"

// dropped are the kinds of the manager's installation that make no sense
// here: the manager is a process, not a pod, and what Services lead to is not
// reachable through them.
var dropped = map[string]bool{
	"Deployment": true,
	"Service":    true,
	"APIService": true,
	"ConfigMap":  true,
	// Its content comes from the sandbox's own CA.
	"Secret": true,
}

// Webhooks tells where the manager's webhooks answer.
type Webhooks struct {
	Port int
	// CACert is the PEM certificate that the API server checks them with.
	CACert []byte
}

// AdaptKueue takes out of the rendered installation what a cluster without
// containers cannot use, and points every webhook at the manager process.
func AdaptKueue(objects []*unstructured.Unstructured, hooks Webhooks) ([]*unstructured.Unstructured, error) {
	var kept []*unstructured.Unstructured
	for _, object := range objects {
		if dropped[object.GetKind()] {
			continue
		}
		if err := pointWebhooks(object, hooks); err != nil {
			return nil, fmt.Errorf("failed to adapt %s %q: %w", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == kindCRD {
			SlimCRD(object)
		}
		kept = append(kept, object)
	}
	return kept, nil
}

// pointWebhooks sets the port and the CA of each webhook of an object. The
// Service keeps its name; the sandbox makes it an alias of localhost.
func pointWebhooks(object *unstructured.Unstructured, hooks Webhooks) error {
	point := func(clientConfig map[string]any) error {
		service, ok := clientConfig["service"].(map[string]any)
		if !ok {
			return fmt.Errorf("a webhook's clientConfig has no service: %v", clientConfig)
		}
		service["port"] = int64(hooks.Port)
		clientConfig["caBundle"] = base64.StdEncoding.EncodeToString(hooks.CACert)
		return nil
	}
	switch object.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		list, ok := object.Object["webhooks"].([]any)
		if !ok {
			return fmt.Errorf("webhooks is %T, want a list", object.Object["webhooks"])
		}
		for _, entry := range list {
			hook, _ := entry.(map[string]any)
			clientConfig, ok := hook["clientConfig"].(map[string]any)
			if !ok {
				return fmt.Errorf("webhook %v has no clientConfig", hook["name"])
			}
			if err := point(clientConfig); err != nil {
				return err
			}
		}
	case kindCRD:
		spec, _ := object.Object["spec"].(map[string]any)
		conversion, _ := spec["conversion"].(map[string]any)
		webhook, ok := conversion["webhook"].(map[string]any)
		if !ok {
			return nil
		}
		clientConfig, ok := webhook["clientConfig"].(map[string]any)
		if !ok {
			return errors.New("the conversion webhook has no clientConfig")
		}
		return point(clientConfig)
	}
	return nil
}

// SlimCRD drops the descriptions from the schemas of a definition. They are
// half of its bytes, and the API server keeps and publishes all of them.
func SlimCRD(crd *unstructured.Unstructured) {
	spec, _ := crd.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		schema, _ := version["schema"].(map[string]any)
		if root, ok := schema["openAPIV3Schema"].(map[string]any); ok {
			slimSchema(root)
		}
	}
}

// slimSchema walks a schema. It must tell the keyword "description" from a
// property of that name.
func slimSchema(schema map[string]any) {
	delete(schema, "description")
	for key, value := range schema {
		switch key {
		case "properties", "patternProperties", "definitions", "dependencies":
			named, _ := value.(map[string]any)
			for _, sub := range named {
				if sub, ok := sub.(map[string]any); ok {
					slimSchema(sub)
				}
			}
		case "items", "additionalProperties", "not":
			if sub, ok := value.(map[string]any); ok {
				slimSchema(sub)
			}
		case "allOf", "anyOf", "oneOf":
			subs, _ := value.([]any)
			for _, sub := range subs {
				if sub, ok := sub.(map[string]any); ok {
					slimSchema(sub)
				}
			}
		}
	}
}

// KeepVersions drops all versions of a definition but those named. Dropping
// the storage version is an error.
func KeepVersions(crd *unstructured.Unstructured, names ...string) error {
	spec, _ := crd.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	var kept []any
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		keep := false
		for _, name := range names {
			keep = keep || version["name"] == name
		}
		if keep {
			kept = append(kept, entry)
			continue
		}
		if version["storage"] == true {
			return fmt.Errorf("failed to drop version %v of %s: objects are stored in it", version["name"], crd.GetName())
		}
	}
	if len(kept) == 0 {
		return fmt.Errorf("failed to keep versions %v of %s: it has none of them", names, crd.GetName())
	}
	spec["versions"] = kept
	return nil
}
