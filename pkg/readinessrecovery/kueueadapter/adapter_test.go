// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	kueueconfig "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/features"

	fleetfeatures "fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

func TestMain(m *testing.M) {
	if err := fleetfeatures.Register(utilfeature.DefaultMutableFeatureGate); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// setGates turns exactly these gates on.
func setGates(t *testing.T, on ...featuregate.Feature) {
	t.Helper()
	features.SetFeatureGateDuringTest(t, fleetfeatures.FleetReadinessRecovery, false)
	features.SetFeatureGateDuringTest(t, fleetfeatures.FleetRayPodReadiness, false)
	for _, gate := range on {
		features.SetFeatureGateDuringTest(t, gate, true)
	}
}

func TestGates(t *testing.T) {
	type parts struct{ WorkloadPolicy, JobPolicy, Validation bool }
	cases := map[string]struct {
		on   []featuregate.Feature
		want parts
	}{
		"with both gates off nothing is added": {},
		"windows by job": {
			on:   []featuregate.Feature{fleetfeatures.FleetReadinessRecovery},
			want: parts{WorkloadPolicy: true, JobPolicy: true, Validation: true},
		},
		"readiness from pods": {
			on:   []featuregate.Feature{fleetfeatures.FleetRayPodReadiness},
			want: parts{JobPolicy: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			setGates(t, tc.on...)
			a := New()
			opts := manager.Options{WebhookServer: webhook.NewServer(webhook.Options{})}
			server := opts.WebhookServer
			a.ChangeManager(&opts)
			got := parts{
				WorkloadPolicy: a.PodsReadyPolicy() != nil,
				JobPolicy:      len(a.JobOptions()) > 0,
				Validation:     opts.WebhookServer != server,
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what is added (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSettingsOf(t *testing.T) {
	cases := map[string]struct {
		cfg  *kueueconfig.WaitForPodsReady
		want readinessrecovery.Settings
	}{
		"waitForPodsReady is off": {},
		"recovery is off and nothing is requeued": {
			cfg: &kueueconfig.WaitForPodsReady{
				Timeout:         metav1.Duration{Duration: time.Minute},
				RecoveryTimeout: &metav1.Duration{},
			},
			want: readinessrecovery.Settings{Start: time.Minute},
		},
		"everything is set": {
			cfg: &kueueconfig.WaitForPodsReady{
				Timeout:         metav1.Duration{Duration: time.Minute},
				RecoveryTimeout: &metav1.Duration{Duration: 15 * time.Second},
				RequeuingStrategy: &kueueconfig.RequeuingStrategy{
					BackoffBaseSeconds: new(int32(60)),
					BackoffMaxSeconds:  new(int32(600)),
					BackoffLimitCount:  new(int32(3)),
				},
			},
			want: readinessrecovery.Settings{
				Start: time.Minute, Recovery: 15 * time.Second,
				Backoff: readinessrecovery.Backoff{Base: time.Minute, Max: 10 * time.Minute, Limit: new(int32(3))},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, settingsOf(tc.cfg)); diff != "" {
				t.Errorf("settingsOf() (-want,+got):\n%s", diff)
			}
		})
	}
}
