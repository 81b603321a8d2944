// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain says why a Workload waits and what would start now. It works on
// objects that anybody with the right to read them has: it asks no component and
// changes nothing. What it says is its own arithmetic over a state that moves; the
// scheduler's message stands beside it.
package explain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Annotations of elastic jobs' Workloads, which are part of Kueue's interface.
const (
	elasticAnnotation     = "kueue.x-k8s.io/elastic-job"
	replacementAnnotation = "kueue.x-k8s.io/workload-slice-replacement-for"
	podSetLabel           = "kueue.x-k8s.io/podset"
)

// State is what is known of a cluster.
type State struct {
	// Now is when the state was read.
	Now time.Time
	// Workload is the one to explain, Namespace its namespace; Namespace may be nil.
	Workload  *kueue.Workload
	Namespace *corev1.Namespace
	// The rest is what there is in the cluster. Unreadable names the kinds that
	// the user may not read.
	LocalQueues   []kueue.LocalQueue
	ClusterQueues []kueue.ClusterQueue
	Cohorts       []kueue.Cohort
	Flavors       []kueue.ResourceFlavor
	Topologies    []kueue.Topology
	Workloads     []kueue.Workload
	Nodes         []corev1.Node
	Pods          []corev1.Pod
	Unreadable    []string
}

func (s *State) flavor(name kueue.ResourceFlavorReference) *kueue.ResourceFlavor {
	for i := range s.Flavors {
		if s.Flavors[i].Name == string(name) {
			return &s.Flavors[i]
		}
	}
	return nil
}

// levels are the node labels of a flavor's topology, from the widest; nil if it has
// none.
func (s *State) levels(flavor *kueue.ResourceFlavor) []string {
	if flavor == nil || flavor.Spec.TopologyName == nil {
		return nil
	}
	for i := range s.Topologies {
		if s.Topologies[i].Name != string(*flavor.Spec.TopologyName) {
			continue
		}
		var out []string
		for _, level := range s.Topologies[i].Spec.Levels {
			out = append(out, level.NodeLabel)
		}
		return out
	}
	return nil
}

// predecessor is the slice that an elastic job's Workload takes over from.
func (s *State) predecessor() *kueue.Workload {
	name := s.Workload.Annotations[replacementAnnotation]
	for i := range s.Workloads {
		wl := &s.Workloads[i]
		if name != "" && wl.Namespace+"/"+wl.Name == name && holdsQuota(wl) {
			return wl
		}
	}
	return nil
}

func isTrue(wl *kueue.Workload, condition string) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, condition)
}

func holdsQuota(wl *kueue.Workload) bool {
	return wl.Status.Admission != nil && isTrue(wl, kueue.WorkloadQuotaReserved) && !isTrue(wl, kueue.WorkloadFinished)
}

// chainName is what the slices and the pods of one job have in common.
func chainName(wl *kueue.Workload) string {
	if name := wl.Annotations[kueue.WorkloadSliceNameAnnotation]; name != "" && wl.Annotations[elasticAnnotation] == "true" {
		return wl.Namespace + "/" + name
	}
	return wl.Namespace + "/" + wl.Name
}

// podChain is the chainName of the Workload that a pod belongs to; empty if the pod
// is none of Kueue's.
func podChain(pod *corev1.Pod) string {
	for _, key := range []string{kueue.WorkloadSliceNameAnnotation, kueue.WorkloadAnnotation} {
		if name := pod.Annotations[key]; name != "" {
			return pod.Namespace + "/" + name
		}
	}
	return ""
}

func priority(wl *kueue.Workload) int32 {
	if wl.Spec.Priority == nil {
		return 0
	}
	return *wl.Spec.Priority
}
