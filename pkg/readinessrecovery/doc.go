// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readinessrecovery decides how long a Workload may be without ready pods,
// and how it is queued again after it was evicted for that.
//
// Everything here is a pure function of API objects and of the time that is given:
// what users ask for (annotations.go, validate.go), what applies to a Workload
// (resolve.go, policy.go, windows.go), what its pods say (pods.go, readiness.go),
// what a slice takes over from the one it replaces (history.go), when the clock of
// a Workload runs out (deadline.go) and how long it then waits (backoff.go). Package
// kueueadapter connects it with the manager.
package readinessrecovery
