// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane builds the Kubernetes control plane from its Go modules
// and keeps the programs in a cache that all checkouts share.
//
// The versions are those that the tool modules below hack/controlplane require;
// nothing is downloaded but Go modules.
package controlplane

import "path/filepath"

// Binaries is a complete set of built programs.
type Binaries struct {
	// Dir holds all the programs and nothing else that is executable. It can be
	// used as KUBEBUILDER_ASSETS.
	Dir string
	// Versions says what was built.
	Versions Versions
}

// Etcd is the path of etcd.
func (b Binaries) Etcd() string { return filepath.Join(b.Dir, "etcd") }

// APIServer is the path of kube-apiserver.
func (b Binaries) APIServer() string { return filepath.Join(b.Dir, "kube-apiserver") }

// Scheduler is the path of kube-scheduler.
func (b Binaries) Scheduler() string { return filepath.Join(b.Dir, "kube-scheduler") }

// ControllerManager is the path of kube-controller-manager.
func (b Binaries) ControllerManager() string {
	return filepath.Join(b.Dir, "kube-controller-manager")
}

// Kwok is the path of kwok.
func (b Binaries) Kwok() string { return filepath.Join(b.Dir, "kwok") }
