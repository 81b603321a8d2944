// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this configuration.
var GroupVersion = schema.GroupVersion{Group: "config.fleet.ai", Version: "v1alpha1"}

// AddToScheme adds the types of this package to s.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &FleetConfiguration{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
