// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

const (
	goodJob = `{"spec":{"template":{"metadata":{"annotations":{"fleet.ai/readiness-recovery-timeout":"15s"}}}}}`
	badJob  = `{"spec":{"template":{"metadata":{"annotations":{"fleet.ai/readiness-recovery-timeout":"soon"}}}}}`
	badPod  = `{"metadata":{"annotations":{"fleet.ai/readiness-recovery-timeout":"soon"}}}`
	madePod = `{"metadata":{"annotations":{"fleet.ai/readiness-recovery-timeout":"soon"},` +
		`"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayCluster","name":"c","uid":"u","controller":true}]}}`
)

func TestAnnotationValidator(t *testing.T) {
	const refused = `spec.template.metadata.annotations[fleet.ai/readiness-recovery-timeout]: Invalid value: "soon": must be a Go duration such as 90s, 5m or 1h30m`
	job := metav1.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	cases := map[string]struct {
		kind        metav1.GroupVersionKind
		operation   admissionv1.Operation
		old, object string
		subresource string
		next        admission.Response
		want        string
	}{
		"a good object":                    {kind: job, operation: admissionv1.Create, object: goodJob},
		"a bad object":                     {kind: job, operation: admissionv1.Create, object: badJob, want: refused},
		"an object that becomes bad":       {kind: job, operation: admissionv1.Update, old: goodJob, object: badJob, want: refused},
		"an object that was bad before":    {kind: job, operation: admissionv1.Update, old: badJob, object: badJob},
		"a status":                         {kind: job, operation: admissionv1.Update, old: goodJob, object: badJob, subresource: "status"},
		"a deletion":                       {kind: job, operation: admissionv1.Delete, old: badJob},
		"a bad pod of a user":              {kind: podKind, operation: admissionv1.Create, object: badPod, want: refused[len("spec.template."):]},
		"a bad pod of a controller":        {kind: podKind, operation: admissionv1.Create, object: madePod},
		"what the webhook refuses":         {kind: job, operation: admissionv1.Create, object: badJob, next: admission.Denied("no queue"), want: "no queue"},
		"an object that can't be decoded":  {kind: job, operation: admissionv1.Create, object: "{", want: "failed to decode the object: unexpected end of JSON input"},
		"an old one that can't be decoded": {kind: job, operation: admissionv1.Update, old: "{", object: goodJob, want: "failed to decode the object: unexpected end of JSON input"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			next := tc.next
			if next.Result == nil {
				next = admission.Allowed("")
			}
			v := &annotationValidator{maxWindow: time.Hour, Handler: admission.HandlerFunc(
				func(context.Context, admission.Request) admission.Response { return next })}
			got := v.Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Kind: tc.kind, Operation: tc.operation, SubResource: tc.subresource,
				Object: runtime.RawExtension{Raw: []byte(tc.object)}, OldObject: runtime.RawExtension{Raw: []byte(tc.old)},
			}})
			if got.Allowed != (tc.want == "") {
				t.Errorf("allowed = %v, want %v", got.Allowed, tc.want == "")
			}
			if diff := cmp.Diff(tc.want, got.Result.Message); diff != "" {
				t.Errorf("message (-want,+got):\n%s", diff)
			}
		})
	}
}

// recordingServer notes what is registered.
type recordingServer struct {
	webhook.Server
	hooks map[string]http.Handler
}

func (s *recordingServer) Register(path string, hook http.Handler) { s.hooks[path] = hook }

func TestValidatingServer(t *testing.T) {
	inner := &recordingServer{hooks: make(map[string]http.Handler)}
	server := &validatingServer{Server: inner}
	for path, want := range map[string]bool{
		"/validate-ray-io-v1-rayjob":                  true,
		"/validate--v1-pod":                           true,
		"/mutate-ray-io-v1-rayjob":                    false,
		"/validate-kueue-x-k8s-io-v1beta2-workload":   false,
		"/validate-kueue-x-k8s-io-v1beta2-localqueue": false,
	} {
		server.Register(path, &admission.Webhook{Handler: admission.HandlerFunc(nil)})
		_, wrapped := inner.hooks[path].(*admission.Webhook).Handler.(*annotationValidator)
		if diff := cmp.Diff(want, wrapped); diff != "" {
			t.Errorf("%s is validated (-want,+got):\n%s", path, diff)
		}
	}
	server.Register("/convert", http.NotFoundHandler())
	if _, found := inner.hooks["/convert"]; !found {
		t.Error("/convert isn't registered")
	}
}

// Kueue installs a webhook for each kind of job that it manages. Each is asked when
// an object is created and when it changes, and validates our annotations too.
func TestEveryKindOfJobIsValidated(t *testing.T) {
	manifests, err := os.ReadFile("../../../third_party/kueue/config/components/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		if strings.Contains(document, "kind: ValidatingWebhookConfiguration") {
			if err := yaml.Unmarshal([]byte(document), &configuration); err != nil {
				t.Fatal(err)
			}
		}
	}
	inner := &recordingServer{hooks: make(map[string]http.Handler)}
	server := &validatingServer{Server: inner}
	kinds := 0
	for i := range configuration.Webhooks {
		hook := &configuration.Webhooks[i]
		path := *hook.ClientConfig.Service.Path
		server.Register(path, &admission.Webhook{Handler: admission.HandlerFunc(nil)})
		_, validated := inner.hooks[path].(*admission.Webhook).Handler.(*annotationValidator)
		for _, rule := range hook.Rules {
			isJob := !slices.Contains(rule.APIGroups, "kueue.x-k8s.io")
			if isJob {
				kinds++
			}
			asked := slices.Contains(rule.Operations, admissionregistrationv1.Create) && slices.Contains(rule.Operations, admissionregistrationv1.Update)
			if validated != isJob || isJob && !asked {
				t.Errorf("%v of %v: validated %t at %v, want %t at CREATE and UPDATE", rule.Resources, rule.APIGroups, validated, rule.Operations, isJob)
			}
		}
	}
	if kinds < 15 {
		t.Errorf("found the webhooks of %d kinds of job, want all of Kueue's", kinds)
	}
}
