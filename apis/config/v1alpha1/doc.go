// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the configuration of kueue-fleet's own features. Kueue's
// configuration file stays as upstream defines it; this one stands beside it.
//
// +kubebuilder:object:generate=true
// +groupName=config.fleet.ai
package v1alpha1
