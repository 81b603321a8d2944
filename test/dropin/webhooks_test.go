// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/managertest"
)

// kinds are the kinds of the resources that upstream's webhooks are for.
var kinds = map[string]string{
	"appwrappers":       "AppWrapper",
	"clusterqueues":     "ClusterQueue",
	"cohorts":           "Cohort",
	"deployments":       "Deployment",
	"jaxjobs":           "JAXJob",
	"jobs":              "Job",
	"jobsets":           "JobSet",
	"leaderworkersets":  "LeaderWorkerSet",
	"mpijobs":           "MPIJob",
	"paddlejobs":        "PaddleJob",
	"pods":              "Pod",
	"pytorchjobs":       "PyTorchJob",
	"rayclusters":       "RayCluster",
	"rayjobs":           "RayJob",
	"rayservices":       "RayService",
	"resourceflavors":   "ResourceFlavor",
	"sparkapplications": "SparkApplication",
	"statefulsets":      "StatefulSet",
	"tfjobs":            "TFJob",
	"trainjobs":         "TrainJob",
	"workloads":         "Workload",
	"xgboostjobs":       "XGBoostJob",
}

// webhooks sends a few requests to every path that upstream's webhook
// configurations name, and to two that they don't.
func (l *live) webhooks(ctx context.Context, t *testing.T) Facts {
	t.Helper()
	rules, err := webhookRules(filepath.Join(l.upstream, "config", "components", "webhook", "manifests.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatal("upstream's webhook manifests have no webhooks")
	}
	facts := Facts{}
	for path, rule := range rules {
		for name, body := range reviews(t, rule) {
			facts[path+": "+name] = l.post(ctx, t, path, body)
		}
	}
	for name, body := range conversions {
		facts["/convert: "+name] = l.post(ctx, t, "/convert", body)
	}
	facts["an unknown path"] = l.post(ctx, t, "/validate-nothing", "{}")
	facts["the root"] = l.post(ctx, t, "/", "{}")
	facts["TLS"] = l.protocol(ctx, t)
	return facts
}

// webhookRules returns the first rule of each webhook by its path.
func webhookRules(manifest string) (map[string]admissionregistrationv1.RuleWithOperations, error) {
	data, err := os.ReadFile(manifest)
	if err != nil {
		return nil, fmt.Errorf("failed to read the webhook manifests: %w", err)
	}
	rules := map[string]admissionregistrationv1.RuleWithOperations{}
	for _, document := range strings.Split("\n"+string(data), "\n---") {
		// The two kinds have the same fields, as far as they are read here.
		var configuration admissionregistrationv1.ValidatingWebhookConfiguration
		if err := yaml.Unmarshal([]byte(document), &configuration); err != nil {
			return nil, fmt.Errorf("failed to decode the webhook manifests: %w", err)
		}
		for _, webhook := range configuration.Webhooks {
			if webhook.ClientConfig.Service == nil || webhook.ClientConfig.Service.Path == nil || len(webhook.Rules) == 0 {
				return nil, fmt.Errorf("failed to read the webhook %s of %s: it has no path or no rules", webhook.Name, configuration.Name)
			}
			rules[*webhook.ClientConfig.Service.Path] = webhook.Rules[0]
		}
	}
	return rules, nil
}

// reviews are the bodies to send to a webhook with the given rule: broken ones,
// and a small object that comes, changes and goes.
func reviews(t *testing.T, rule admissionregistrationv1.RuleWithOperations) map[string]string {
	t.Helper()
	resource, _, _ := strings.Cut(rule.Resources[0], "/")
	kind, known := kinds[resource]
	if !known {
		t.Fatalf("upstream has a webhook for %q: add its kind to the table", resource)
	}
	group, version := rule.APIGroups[0], rule.APIVersions[0]
	groupVersion := strings.TrimPrefix(group+"/"+version, "/")
	object := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"probe","namespace":"default",`+
		`"labels":{"kueue.x-k8s.io/queue-name":"queue"}},"spec":{}}`, groupVersion, kind)
	request := func(operation, objects string) string {
		return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",`+
			`"kind":{"group":%q,"version":%q,"kind":%q},"resource":{"group":%q,"version":%q,"resource":%q},`+
			`"name":"probe","namespace":"default","operation":%q,"userInfo":{"username":"probe"},%s}}`,
			group, version, kind, group, version, resource, operation, objects)
	}
	return map[string]string{
		"an empty body":            "",
		"no JSON":                  "review",
		"a review without request": `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
		"a review of old version":  `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1","operation":"CONNECT"}}`,
		"an object of unknown kind": request("CREATE",
			`"object":{"apiVersion":"example.com/v1","kind":"Nothing","metadata":{"name":"probe"}}`),
		"CREATE": request("CREATE", `"object":`+object),
		"UPDATE": request("UPDATE", `"object":`+object+`,"oldObject":`+object),
		"DELETE": request("DELETE", `"oldObject":`+object),
	}
}

const oldQueue = `{"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","metadata":{"name":"probe"},` +
	`"spec":{"cohort":"all","queueingStrategy":"BestEffortFIFO"}}`

var conversions = map[string]string{
	"an empty body":            "",
	"a review without request": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`,
	"to the version of now": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1",` +
		`"desiredAPIVersion":"kueue.x-k8s.io/v1beta2","objects":[` + oldQueue + `]}}`,
	"to an unknown version": `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1",` +
		`"desiredAPIVersion":"kueue.x-k8s.io/v9","objects":[` + oldQueue + `]}}`,
}

func (l *live) post(ctx context.Context, t *testing.T, path, body string) string {
	t.Helper()
	url := fmt.Sprintf("https://127.0.0.1:%d%s", l.plane.WebhookPort, path)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	got, err := answer(l.http, req)
	if err != nil {
		t.Fatalf("%s doesn't answer on %s: %v", l.program.name, path, err)
	}
	return sortPatch(l.normalise(l.program, got))
}

// sortPatch replaces the patch in an answer by its operations in a fixed order;
// they come in the order of a Go map.
func sortPatch(got string) string {
	status, body, _ := strings.Cut(got, " ")
	var review map[string]any
	if json.Unmarshal([]byte(body), &review) != nil {
		return got
	}
	response, _ := review["response"].(map[string]any)
	if encoded, ok := response["patch"].(string); ok {
		var operations []json.RawMessage
		patch, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || json.Unmarshal(patch, &operations) != nil {
			return got
		}
		sorted := make([]string, 0, len(operations))
		for _, operation := range operations {
			sorted = append(sorted, string(operation))
		}
		slices.Sort(sorted)
		response["patch"] = sorted
	}
	out, err := json.Marshal(review)
	if err != nil {
		return got
	}
	return status + " " + string(out)
}

func (l *live) protocol(ctx context.Context, t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/convert", l.plane.WebhookPort), nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   l.plane.Certificates.ClientConfig(managertest.WebhookHost),
	}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return fmt.Sprintf("%s over TLS %#x, certificate of %s", resp.Proto, resp.TLS.Version, resp.TLS.PeerCertificates[0].DNSNames)
}
