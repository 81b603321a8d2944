// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/metrics"
	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

func TestObserver(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	condition := func(kind string, status metav1.ConditionStatus, reason string, after time.Duration) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at.Add(after))}
	}
	workload := func(conditions ...metav1.Condition) *kueue.Workload {
		wl := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		wl.Annotations = map[string]string{readinessrecovery.PolicyAnnotation: `{"recovery":{"value":"15s","source":"PodTemplate"}}`}
		wl.Status.Conditions = slices.Concat(conditions, []metav1.Condition{condition(kueue.WorkloadAdmitted, metav1.ConditionTrue, "Admitted", 0)})
		return wl
	}
	recovering := condition(kueue.WorkloadPodsReady, metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, time.Minute)
	started := condition(kueue.WorkloadPodsReady, metav1.ConditionTrue, kueue.WorkloadStarted, 0)
	evicted := func(reason string) metav1.Condition {
		return condition(kueue.WorkloadEvicted, metav1.ConditionTrue, reason, time.Minute+15*time.Second)
	}
	type outcome struct {
		Evictions  map[string]float64
		Unready    int
		Recovering float64
	}
	cases := map[string]struct {
		old, new *kueue.Workload
		follower bool
		want     outcome
	}{
		"a workload is lost": {
			old: workload(started), new: workload(recovering), want: outcome{Recovering: 1},
		},
		"a workload is back": {
			old:  workload(recovering),
			new:  workload(condition(kueue.WorkloadPodsReady, metav1.ConditionTrue, kueue.WorkloadRecovered, 2*time.Minute)),
			want: outcome{Unready: 1},
		},
		"a workload is evicted by its own window": {
			old: workload(recovering), new: workload(recovering, evicted(kueue.WorkloadEvictedByPodsReadyTimeout)),
			want: outcome{Unready: 1, Evictions: map[string]float64{"WaitForRecovery PodTemplate": 1}},
		},
		"a workload is evicted by the cluster's start window": {
			old: workload(), new: workload(evicted(kueue.WorkloadEvictedByPodsReadyTimeout)),
			want: outcome{Evictions: map[string]float64{"WaitForStart Cluster": 1}},
		},
		"a workload was evicted before": {
			old: workload(recovering, evicted(kueue.WorkloadEvictedByPodsReadyTimeout)),
			new: workload(recovering, evicted(kueue.WorkloadEvictedByPodsReadyTimeout)),
		},
		"a workload is preempted while it recovers": {
			old: workload(recovering), new: workload(recovering, evicted(kueue.WorkloadEvictedByPreemption)),
		},
		"another manager leads": {
			old: workload(recovering), new: workload(recovering, evicted(kueue.WorkloadEvictedByPodsReadyTimeout)), follower: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			elected := make(chan struct{})
			if !tc.follower {
				close(elected)
			}
			o := &observer{
				adapter:    &Adapter{cluster: readinessrecovery.Settings{Start: time.Hour, Recovery: time.Minute}},
				elected:    elected,
				recovering: make(map[types.UID]struct{}),
			}
			registry := prometheus.NewRegistry()
			var err error
			if o.metrics, err = metrics.NewReadiness(registry, o.countRecovering); err != nil {
				t.Fatal(err)
			}
			o.track(tc.old)
			o.track(tc.new)
			o.observe(tc.old, tc.new)

			got := outcome{Recovering: o.countRecovering()}
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range families {
				for _, metric := range family.GetMetric() {
					switch family.GetName() {
					case "kueue_fleet_readiness_evictions_total":
						if got.Evictions == nil {
							got.Evictions = make(map[string]float64)
						}
						got.Evictions[metric.GetLabel()[0].GetValue()+" "+metric.GetLabel()[1].GetValue()] = metric.GetCounter().GetValue()
					case "kueue_fleet_readiness_unready_seconds":
						got.Unready += int(metric.GetHistogram().GetSampleCount())
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("metrics (-want,+got):\n%s", diff)
			}
			o.forget(tc.new)
			if n := testutil.CollectAndCount(registry, "kueue_fleet_readiness_recovering_workloads"); n != 1 {
				t.Errorf("the gauge is reported %d times, want once", n)
			}
			if got := o.countRecovering(); got != 0 {
				t.Errorf("%v workloads recover after the last one is gone", got)
			}
		})
	}
}
