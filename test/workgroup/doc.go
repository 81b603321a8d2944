// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workgroup tests the admission of worker groups with the built manager, a
// real API server, garbage collector and scheduler, and KubeRay's own reconcilers.
// Where there is no hardware there is a fake: fakeKubelet runs pods, fakeRay answers
// for the Ray processes in them.
package workgroup
