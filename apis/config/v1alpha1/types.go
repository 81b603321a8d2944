// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is the kind of a FleetConfiguration object.
const Kind = "FleetConfiguration"

// FleetConfiguration holds the settings of kueue-fleet's features, each in a
// section of its own. A feature without a section uses its defaults.
//
// +kubebuilder:object:root=true
type FleetConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// ReadinessRecovery configures the windows and the backoff that jobs ask for.
	// It has no effect unless the gate FleetReadinessRecovery is on.
	// +optional
	ReadinessRecovery *ReadinessRecovery `json:"readinessRecovery,omitempty"`
}

// ReadinessRecovery configures the windows and the backoff that jobs ask for.
type ReadinessRecovery struct {
	// MaxWindow is the longest window or backoff that a job may ask for. A job that
	// asks for more is rejected. It must be longer than 0; the default is 2h.
	// +optional
	MaxWindow *metav1.Duration `json:"maxWindow,omitempty"`
}
