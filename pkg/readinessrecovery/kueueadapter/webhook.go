// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// validatingServer puts the validation of our annotations behind each validating
// webhook of a job's kind, whatever the kind is.
type validatingServer struct {
	webhook.Server
	maxWindow time.Duration
}

// Register implements webhook.Server.
func (s *validatingServer) Register(path string, hook http.Handler) {
	// Webhooks of Kueue's own kinds have no pod templates of jobs.
	if wh, isAdmission := hook.(*admission.Webhook); isAdmission &&
		strings.HasPrefix(path, "/validate-") && !strings.HasPrefix(path, "/validate-kueue-x-k8s-io-") {
		wh.Handler = &annotationValidator{Handler: wh.Handler, maxWindow: s.maxWindow}
	}
	s.Server.Register(path, hook)
}

// annotationValidator validates what the handler allows.
type annotationValidator struct {
	admission.Handler
	maxWindow time.Duration
}

// Handle implements admission.Handler.
func (v *annotationValidator) Handle(ctx context.Context, req admission.Request) admission.Response {
	response := v.Handler.Handle(ctx, req)
	if !response.Allowed || req.SubResource != "" {
		return response
	}
	errs, err := v.validate(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if len(errs) > 0 {
		return admission.Denied(errs.ToAggregate().Error()).WithWarnings(response.Warnings...)
	}
	return response
}

func (v *annotationValidator) validate(req admission.Request) (field.ErrorList, error) {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return nil, nil
	}
	object, err := decodeObject(req.Object.Raw)
	if err != nil {
		return nil, err
	}
	// A pod has its annotations from its controller, which has been validated or has
	// slipped through; then its pods must not be refused.
	if req.Kind == podKind && metav1.GetControllerOf(&unstructured.Unstructured{Object: object}) != nil {
		return nil, nil
	}
	if req.Operation == admissionv1.Create {
		return readinessrecovery.ValidateObject(object, v.maxWindow), nil
	}
	old, err := decodeObject(req.OldObject.Raw)
	if err != nil {
		return nil, err
	}
	return readinessrecovery.ValidateChange(old, object, v.maxWindow), nil
}

var podKind = metav1.GroupVersionKind{Version: corev1.SchemeGroupVersion.Version, Kind: "Pod"}

func decodeObject(raw []byte) (map[string]any, error) {
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("failed to decode the object: %w", err)
	}
	return object, nil
}
