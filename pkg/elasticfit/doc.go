// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package elasticfit finds nodes for the pods of topology-aware workloads. It gives
// the answers of Kueue's algorithm, but keeps what it knows from one scheduling
// cycle to the next: amounts in dense vectors, and per size of pod an index of how
// many of them every domain holds. It knows trees of domains, amounts and requests;
// it knows no Kubernetes object, no client and no logger.
//
// An Engine holds the state of one flavor and is told what changed. Fork gives a
// State that sees the cluster as it is then; its owner changes it to try things out
// and drops it. Forks share what none of them has changed.
package elasticfit
