// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kuberay runs KubeRay's own reconcilers inside the sandbox process.
// Only what they call over the network, the Ray dashboard, is passed in.
package kuberay

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	routev1 "github.com/openshift/api/route/v1"
	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// concurrency is how many objects each reconciler works on at once.
const concurrency = 4

// NewManager returns a manager that KubeRay's reconcilers can be added to.
// addToScheme adds what else its client and cache shall know.
func NewManager(config *rest.Config, logger logr.Logger, addToScheme ...func(*runtime.Scheme) error) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range append([]func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, rayv1.AddToScheme, routev1.Install, configapi.AddToScheme,
	}, addToScheme...) {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("failed to build the scheme: %w", err)
		}
	}
	createdByKubeRay := labels.SelectorFromSet(labels.Set{utils.KubernetesCreatedByLabelKey: utils.ComponentName})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Logger:                 logger,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		// One process plays several scenarios, each with reconcilers of its own.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
		Cache: cache.Options{
			ByObject: map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: createdByKubeRay}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("failed to make KubeRay's manager: %w", err)
	}
	return mgr, nil
}

// AddReconcilers adds the RayCluster and RayJob reconcilers. They reach the
// Ray dashboard through dashboard.
func AddReconcilers(ctx context.Context, mgr manager.Manager, dashboard utils.ClientProvider) error {
	clusters := ray.NewReconciler(ctx, mgr, ray.RayClusterReconcilerOptions{})
	if err := clusters.SetupWithManager(mgr, concurrency); err != nil {
		return fmt.Errorf("failed to add the RayCluster reconciler: %w", err)
	}
	jobs := ray.NewRayJobReconciler(ctx, mgr, ray.RayJobReconcilerOptions{}, dashboard)
	if err := jobs.SetupWithManager(mgr, concurrency); err != nil {
		return fmt.Errorf("failed to add the RayJob reconciler: %w", err)
	}
	return nil
}
