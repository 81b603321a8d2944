// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Report is the answer.
type Report struct {
	Workload     string `json:"workload"`
	LocalQueue   string `json:"localQueue"`
	ClusterQueue string `json:"clusterQueue,omitempty"`
	Priority     int32  `json:"priority"`
	// Waiting says whether the Workload waits for anything.
	Waiting bool `json:"waiting"`
	// Reason and Message name the blocker.
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	// Scheduler is what the scheduler said last.
	Scheduler string    `json:"scheduler,omitempty"`
	Asked     []Asked   `json:"asked"`
	Quota     []Quota   `json:"quota,omitempty"`
	Places    []Free    `json:"places,omitempty"`
	Verdicts  []Verdict `json:"verdicts,omitempty"`
	WouldFit  []Shape   `json:"wouldFit,omitempty"`
	HeldBy    []Holder  `json:"heldBy,omitempty"`
	Notes     []string  `json:"notes,omitempty"`
}

// Asked is what one PodSet asks for.
type Asked struct {
	PodSet   kueue.PodSetReference `json:"podSet"`
	Pods     int64                 `json:"pods"`
	Running  int64                 `json:"running,omitempty"`
	Each     Amounts               `json:"each"`
	Topology string                `json:"topology"`
}

// Free is what a domain has left of the resource in question.
type Free struct {
	Flavor   kueue.ResourceFlavorReference `json:"flavor"`
	Domain   []string                      `json:"domain"`
	Resource corev1.ResourceName           `json:"resource"`
	Free     int64                         `json:"free"`
}

// Holder is a Workload that holds some of the resource in question.
type Holder struct {
	Workload string                        `json:"workload"`
	Priority int32                         `json:"priority"`
	Flavor   kueue.ResourceFlavorReference `json:"flavor"`
	Resource corev1.ResourceName           `json:"resource"`
	Amount   int64                         `json:"amount"`
}
