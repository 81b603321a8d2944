// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Source says where a setting of a Workload comes from.
type Source string

// The sources that a Policy can name. What no source gives is the cluster's.
const (
	PodTemplate Source = "PodTemplate"
	Job         Source = "Job"
	Cluster     Source = "Cluster"
)

// Policy is what the owner of a job asks for, as the manager has resolved it. It is
// kept on the Workload under PolicyAnnotation.
type Policy struct {
	Start       *Duration `json:"start,omitempty"`
	Recovery    *Duration `json:"recovery,omitempty"`
	BackoffBase *Duration `json:"backoffBase,omitempty"`
	BackoffMax  *Duration `json:"backoffMax,omitempty"`
	// BackoffLimit can only come from the pod templates.
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// Ignored are the annotations that have no effect, with the reasons.
	Ignored []Ignored `json:"ignored,omitempty"`
	// Generated are the PodSets whose template the integration has made, so that the
	// user couldn't annotate it.
	Generated []string `json:"generated,omitempty"`
}

// Duration is a window or a backoff, and where it comes from.
type Duration struct {
	Value  metav1.Duration `json:"value"`
	Source Source          `json:"source"`
}

// Ignored is an annotation that has no effect.
type Ignored struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// Message tells the user what he can do about it.
func (i Ignored) Message() string {
	return fmt.Sprintf("Annotation %s has no effect, the cluster's setting applies: %s", i.Key, i.Reason)
}

// Encode returns the value for PolicyAnnotation.
func (p *Policy) Encode() (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("failed to encode the readiness policy: %w", err)
	}
	return string(data), nil
}

// SameSettings tells whether both say the same of windows and backoff.
func (p *Policy) SameSettings(other *Policy) bool {
	mine, others := *p, *other
	mine.Ignored, others.Ignored = nil, nil
	mine.Generated, others.Generated = nil, nil
	return reflect.DeepEqual(mine, others)
}

// DecodePolicy reads the Policy of a Workload from its annotations. A Workload
// without one has an empty Policy.
func DecodePolicy(annotations map[string]string) (*Policy, error) {
	var p Policy
	if err := decode(annotations, PolicyAnnotation, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

func newDuration(d time.Duration, source Source) *Duration {
	return &Duration{Value: metav1.Duration{Duration: d}, Source: source}
}

func decode(annotations map[string]string, key string, into any) error {
	value, found := annotations[key]
	if !found {
		return nil
	}
	if err := json.Unmarshal([]byte(value), into); err != nil {
		return fmt.Errorf("failed to decode annotation %s: %w", key, err)
	}
	return nil
}
