// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager prepares what the queue manager needs to run as a process
// instead of a pod: its configuration, its certificates and the Service that
// leads the API server to its webhooks.
package manager

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentconfig "k8s.io/component-base/config/v1alpha1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/ports"
)

const (
	// Namespace is where the manager's objects live.
	Namespace = "kueue-system"

	serviceName = "kueue-webhook-service"
	secretName  = "kueue-webhook-server-cert"
)

// Windows for pods to become ready and the backoff after they did not, as a
// training fleet would set them.
const (
	StartWindow    = 30 * time.Minute
	RecoveryWindow = 5 * time.Minute
	backoffBase    = 60 * time.Second
	backoffMax     = 600 * time.Second
)

// Settings are what a sandbox can choose.
type Settings struct {
	// Gates are set besides those of elastic jobs and topologies.
	Gates map[string]bool
	// StartWindow and RecoveryWindow are for pods to become ready.
	StartWindow, RecoveryWindow time.Duration
	// TimeScale shortens the backoff after an eviction, to whole seconds and
	// at least one.
	TimeScale float64
	// FleetConfig is the text of a FleetConfiguration; empty for none.
	FleetConfig []byte
}

func (s Settings) backoff(d time.Duration) *int32 {
	return ptr.To(max(int32(d.Seconds()/s.TimeScale), 1))
}

// concurrency is how many objects of a kind are worked on at once, as in the
// configuration that Kueue is installed with. Its built-in default is one of
// each, under which evictions wait for one another.
func concurrency() map[string]int {
	return map[string]int{
		"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 10, "LocalQueue.kueue.x-k8s.io": 5,
		"Cohort.kueue.x-k8s.io": 1, "ClusterQueue.kueue.x-k8s.io": 5, "ResourceFlavor.kueue.x-k8s.io": 1,
	}
}

// Config returns the manager's configuration file. certDir holds the webhook
// certificate.
func Config(set ports.Set, certDir string, settings Settings) ([]byte, error) {
	config := configapi.Configuration{
		TypeMeta:  metav1.TypeMeta{APIVersion: configapi.SchemeGroupVersion.String(), Kind: "Configuration"},
		Namespace: ptr.To(Namespace),
		ControllerManager: configapi.ControllerManager{
			Health:  configapi.ControllerHealth{HealthProbeBindAddress: set.Addr(ports.ManagerHealth)},
			Metrics: configapi.ControllerMetrics{BindAddress: set.Addr(ports.ManagerMetrics)},
			Webhook: configapi.ControllerWebhook{
				Host: "127.0.0.1", Port: ptr.To(set[ports.ManagerWebhook]), CertDir: certDir,
			},
			LeaderElection: &componentconfig.LeaderElectionConfiguration{LeaderElect: ptr.To(false)},
			Controller:     &configapi.ControllerConfigurationSpec{GroupKindConcurrency: concurrency()},
		},
		InternalCertManagement: &configapi.InternalCertManagement{
			Enable:             ptr.To(true),
			WebhookServiceName: ptr.To(serviceName),
			WebhookSecretName:  ptr.To(secretName),
		},
		ClientConnection: &configapi.ClientConnection{QPS: ptr.To[float32](300), Burst: ptr.To[int32](500)},
		WaitForPodsReady: &configapi.WaitForPodsReady{
			Timeout:         metav1.Duration{Duration: settings.StartWindow},
			RecoveryTimeout: &metav1.Duration{Duration: settings.RecoveryWindow},
			BlockAdmission:  ptr.To(false),
			RequeuingStrategy: &configapi.RequeuingStrategy{
				Timestamp:          ptr.To(configapi.EvictionTimestamp),
				BackoffBaseSeconds: settings.backoff(backoffBase),
				BackoffMaxSeconds:  settings.backoff(backoffMax),
			},
		},
		Integrations: &configapi.Integrations{
			Frameworks: []string{"batch/job", "pod", "ray.io/raycluster", "ray.io/rayjob"},
		},
		FeatureGates: map[string]bool{
			"ElasticJobsViaWorkloadSlices":        true,
			"ElasticJobsViaWorkloadSlicesWithTAS": true,
			"TopologyAwareScheduling":             true,
			// Saves an aggregated API server.
			"VisibilityOnDemand": false,
		},
	}
	maps.Copy(config.FeatureGates, settings.Gates)
	out, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("failed to encode the manager's configuration: %w", err)
	}
	return out, nil
}
