// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/managertest"
)

// markerPaths are the packages in which upstream's build looks for the markers
// that its roles and webhook configurations are generated from.
var markerPaths = []string{"pkg/controller/...", "pkg/webhooks/...", "pkg/util/cert/...", "pkg/visibility/...", "pkg/config/..."}

// ourMarkerPaths are the folders in which ours may stand besides.
var ourMarkerPaths = []string{"pkg", "cmd/kueue-fleet"}

// markers generates the roles and the webhook configurations from the source that
// a program is built from.
func (s *session) markers(t *testing.T, p *program, controllerGen string) Facts {
	t.Helper()
	dir, env := s.upstream, []string{"GOWORK=off"}
	var args []string
	prefix := "./"
	if p != s.programs[0] {
		// In the workspace, so that our packages are seen together with the tree.
		dir, env, prefix = s.repoRoot, nil, "./third_party/kueue/"
		for _, path := range ourMarkerPaths {
			if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
				args = append(args, "paths=./"+path+"/...")
			}
		}
	}
	for _, path := range markerPaths {
		args = append(args, "paths="+prefix+path)
	}
	args = append(args, "rbac:roleName=manager-role", "webhook", "output:stdout")
	out, err := managertest.Command(t.Context(), dir, env, controllerGen, args...)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := generatedFacts(out)
	if err != nil {
		t.Fatal(err)
	}
	if p == s.programs[0] {
		s.checkShippedRole(t, facts)
	}
	return facts
}

// checkShippedRole makes sure that the generator works as upstream's does: it has
// to reproduce the role that upstream ships.
func (s *session) checkShippedRole(t *testing.T, generated Facts) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.upstream, "config", "components", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := generatedFacts(string(data))
	if err != nil {
		t.Fatal(err)
	}
	if len(shipped) == 0 {
		t.Error("upstream ships an empty role")
	}
	for key, value := range shipped {
		if generated[key] != value {
			t.Errorf("upstream ships %s: %q, its markers give %q", key, value, lookUp(generated, key))
		}
	}
	for key := range generated {
		if _, found := shipped[key]; !found && strings.Contains(key, "Role ") {
			t.Errorf("upstream's markers give %s, which it doesn't ship", key)
		}
	}
}

// generatedFacts takes rules apart, down to one resource each, so that it doesn't
// matter how they were put together; of a webhook configuration, it is each webhook.
func generatedFacts(documents string) (Facts, error) {
	facts := Facts{}
	for _, document := range strings.Split("\n"+documents, "\n---") {
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Rules    []rbacv1.PolicyRule
			Webhooks []map[string]any
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return nil, fmt.Errorf("failed to read generated manifests: %w", err)
		}
		where := strings.TrimSpace(object.Kind + " " + strings.Trim(object.Metadata.Namespace+"/"+object.Metadata.Name, "/"))
		for _, rule := range object.Rules {
			for _, target := range targets(rule) {
				key := where + ": " + target
				verbs := slices.Concat(strings.Fields(facts[key]), rule.Verbs)
				slices.Sort(verbs)
				facts[key] = strings.Join(slices.Compact(verbs), " ")
			}
		}
		for _, webhook := range object.Webhooks {
			data, err := json.Marshal(webhook)
			if err != nil {
				return nil, fmt.Errorf("failed to encode a webhook of %s: %w", where, err)
			}
			facts[fmt.Sprintf("%s: %v", where, webhook["name"])] = string(data)
		}
	}
	return facts, nil
}

// targets are what a rule gives rights on.
func targets(rule rbacv1.PolicyRule) []string {
	out := slices.Clone(rule.NonResourceURLs)
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			target := strings.TrimPrefix(group+"/"+resource, "/")
			if len(rule.ResourceNames) == 0 {
				out = append(out, target)
			}
			for _, name := range rule.ResourceNames {
				out = append(out, target+" "+name)
			}
		}
	}
	return out
}

func TestGeneratedFacts(t *testing.T) {
	got, err := generatedFacts(`kind: ClusterRole
metadata: {name: manager}
rules:
- {apiGroups: ["", "apps"], resources: [pods], verbs: [list, get]}
- {apiGroups: [""], resources: [pods], verbs: [watch, get]}
- {apiGroups: [""], resources: [secrets], resourceNames: [one], verbs: [get]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
kind: MutatingWebhookConfiguration
metadata: {name: hooks}
webhooks: [{name: a}]
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Facts{
		"ClusterRole manager: pods":             "get list watch",
		"ClusterRole manager: apps/pods":        "get list",
		"ClusterRole manager: secrets one":      "get",
		"ClusterRole manager: /metrics":         "get",
		"MutatingWebhookConfiguration hooks: a": `{"name":"a"}`,
	}
	if d := Compare("markers", want, got); len(d) > 0 {
		t.Errorf("unexpected facts: %v", d)
	}
}

// manifests are the objects of upstream's default installation.
func manifests(t *testing.T, objects []*unstructured.Unstructured) Facts {
	t.Helper()
	facts := Facts{}
	for _, object := range objects {
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		facts[strings.TrimSpace(object.GetKind()+" "+strings.Trim(object.GetNamespace()+"/"+object.GetName(), "/"))] = string(data)
	}
	return facts
}
