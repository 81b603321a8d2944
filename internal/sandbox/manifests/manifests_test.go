// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Decode("test", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// same compares objects with the YAML that they should be.
func same(t *testing.T, want string, got ...*unstructured.Unstructured) {
	t.Helper()
	var parts []string
	for _, object := range got {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	var wantParts []string
	for _, object := range decode(t, want) {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		wantParts = append(wantParts, string(text))
	}
	if diff := cmp.Diff(wantParts, parts); diff != "" {
		t.Errorf("objects (-want,+got):\n%s", diff)
	}
}

func TestDecode(t *testing.T) {
	cases := map[string]struct {
		text    string
		want    int
		wantErr string
	}{
		"several documents, some empty": {text: "# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n", want: 2},
		"broken YAML in the second":     {text: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\na: [", wantErr: "document 2 of jobs.yaml"},
		"an object without a name":      {text: "apiVersion: v1\nkind: Namespace\n", wantErr: "document 1 of jobs.yaml: apiVersion, kind and metadata.name must be set"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := Decode("jobs.yaml", strings.NewReader(tc.text))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || len(objects) != tc.want {
				t.Errorf("got %d objects, %v, want %d", len(objects), err, tc.want)
			}
		})
	}
}

func TestSlimCRDKeepsPropertiesThatAreCalledDescription(t *testing.T) {
	crd := decode(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          description: a thing
          type: object
          properties:
            description: {type: string, description: what people say about it}
            properties:
              description: a map
              additionalProperties: {description: a value, type: string}
            list:
              items:
                description: an element
                properties: {a: {description: a letter, type: string}}
              x-kubernetes-validations: [{rule: "true", message: description}]
            either:
              oneOf: [{description: this}, {type: string, not: {description: that}}]
`)[0]
	SlimCRD(crd)
	same(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            description: {type: string}
            properties: {additionalProperties: {type: string}}
            list:
              items:
                properties: {a: {type: string}}
              x-kubernetes-validations: [{rule: "true", message: description}]
            either:
              oneOf: [{}, {type: string, not: {}}]
`, crd)
}

func TestKeepVersions(t *testing.T) {
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  versions: [{name: v1, storage: true}, {name: v1alpha1, storage: false}]
`
	crd := decode(t, text)[0]
	if err := KeepVersions(crd, "v1"); err != nil {
		t.Fatal(err)
	}
	same(t, strings.Replace(text, ", {name: v1alpha1, storage: false}", "", 1), crd)

	for name, tc := range map[string]struct{ keep, wantErr string }{
		"the storage version cannot go": {keep: "v1alpha1", wantErr: "failed to drop version v1 of things.example.com"},
		"none would be left":            {keep: "v2", wantErr: "failed to drop version v1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := KeepVersions(decode(t, text)[0], tc.keep)
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got %v, want an error with %q", err, tc.wantErr)
			}
		})
	}
}

func TestAdaptKueue(t *testing.T) {
	objects := decode(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
---
apiVersion: v1
kind: Secret
metadata: {name: cert}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager-role}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
  - name: one
    clientConfig: {service: {name: hook, namespace: sys, path: /one}}
  - name: two
    clientConfig: {service: {name: hook, namespace: sys, path: /two}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: converted}
spec:
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: hook, namespace: sys, path: /convert}}}}
  versions: [{name: v1, schema: {openAPIV3Schema: {description: gone, type: object}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plain}
spec: {versions: []}
`)
	adapted, err := AdaptKueue(objects, Webhooks{Port: 9999, CACert: []byte("CA")})
	if err != nil {
		t.Fatal(err)
	}
	same(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: manager-role}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
  - name: one
    clientConfig: {caBundle: Q0E=, service: {name: hook, namespace: sys, path: /one, port: 9999}}
  - name: two
    clientConfig: {caBundle: Q0E=, service: {name: hook, namespace: sys, path: /two, port: 9999}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: converted}
spec:
  conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: Q0E=, service: {name: hook, namespace: sys, path: /convert, port: 9999}}}}
  versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: plain}
spec: {versions: []}
`, adapted...)
}

func TestAdaptKueueReportsWebhooksItCannotPoint(t *testing.T) {
	cases := map[string]struct{ text, wantErr string }{
		"a webhook by URL": {
			text:    "apiVersion: a/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: v}\nwebhooks: [{name: one, clientConfig: {url: 'https://x'}}]\n",
			wantErr: `failed to adapt ValidatingWebhookConfiguration "v": a webhook's clientConfig has no service`,
		},
		"a webhook without a client": {
			text:    "apiVersion: a/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: v}\nwebhooks: [{name: one}]\n",
			wantErr: "webhook one has no clientConfig",
		},
		"no webhook": {
			text:    "apiVersion: a/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: v}\n",
			wantErr: "want a list",
		},
		"a conversion without a client": {
			text:    "apiVersion: a/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\nspec: {conversion: {webhook: {}}}\n",
			wantErr: "the conversion webhook has no clientConfig",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := AdaptKueue(decode(t, tc.text), Webhooks{})
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got %v, want an error with %q", err, tc.wantErr)
			}
		})
	}
}

func TestRenderKustomization(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "namePrefix: kueue-\nnamespace: sys\nresources: [secret.yaml]\n",
		"secret.yaml":        "apiVersion: v1\nkind: Secret\nmetadata: {name: cert}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := RenderKustomization(dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: kueue-cert, namespace: sys}\n", objects...)

	if _, err := RenderKustomization(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "failed to render") {
		t.Errorf("a folder that is not there gave %v", err)
	}
}
