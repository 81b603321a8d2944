// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workgroup admits the groups of a RayJob on their own: one Workload for
// the head and one for each worker group, each with its own priority, preempted and
// resized while its siblings keep their pods.
//
// A RayJob opts in with an annotation. The job integrations leave it alone then;
// this package validates and defaults it, makes the Workloads, releases the pods
// that were granted and takes back those of a group that was evicted. KubeRay makes
// and removes the pods, which carry a scheduling gate until they are released.
//
// What to do is decided by pure functions (Plan and what it calls); the Reconciler
// observes and acts.
package workgroup
