// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"

	kueuefeatures "sigs.k8s.io/kueue/pkg/features"

	"fleet.ai/kueue-fleet/pkg/features"
)

func TestRayJobsRunSideBySide(t *testing.T) {
	cases := map[string]struct {
		prompt     bool
		configured map[string]int
		want       map[string]int
	}{
		"nothing changes without the gate": {
			configured: map[string]int{"Pod": 5}, want: map[string]int{"Pod": 5},
		},
		"kinds that are not configured": {
			prompt: true, configured: map[string]int{"Pod": 5},
			want: map[string]int{"Pod": 5, "RayCluster.ray.io": 5, "RayJob.ray.io": 5, "RayService.ray.io": 5},
		},
		"a kind that is configured keeps its value": {
			prompt: true, configured: map[string]int{"RayJob.ray.io": 2},
			want: map[string]int{"RayCluster.ray.io": 5, "RayJob.ray.io": 2, "RayService.ray.io": 5},
		},
		"no configuration": {
			prompt: true,
			want:   map[string]int{"RayCluster.ray.io": 5, "RayJob.ray.io": 5, "RayService.ray.io": 5},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kueuefeatures.SetFeatureGateDuringTest(t, features.FleetPromptAdmission, tc.prompt)
			o := ctrl.Options{Controller: ctrlconfig.Controller{GroupKindConcurrency: tc.configured}}
			letRayJobsRunSideBySide(&o)
			if diff := cmp.Diff(tc.want, o.Controller.GroupKindConcurrency); diff != "" {
				t.Errorf("Unexpected concurrency (-want,+got):\n%s", diff)
			}
		})
	}
}
