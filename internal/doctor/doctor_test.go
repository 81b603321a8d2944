// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// healthy is a cluster that every check passes.
func healthy() *State {
	return &State{
		Deployments: []appsv1.Deployment{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "kueue-controller-manager", Labels: map[string]string{"app.kubernetes.io/name": "kueue"}},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](2),
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "manager", Image: "registry.invalid:5000/kueue/kueue:v0.19.2", Args: []string{"--config=/c.yaml", "--feature-gates=PartialAdmission=true"},
				}}}},
			},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
		}},
		ClusterQueues: []kueue.ClusterQueue{{
			ObjectMeta: metav1.ObjectMeta{Name: "training"},
			Status:     kueue.ClusterQueueStatus{Conditions: []metav1.Condition{{Type: kueue.ClusterQueueActive, Status: metav1.ConditionTrue}}},
		}},
		Workloads: []kueue.Workload{{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "a"}}},
		RayJobs: []unstructured.Unstructured{{Object: map[string]any{
			"metadata": map[string]any{"namespace": "lab", "name": "plain"},
		}}},
	}
}

func manager(s *State) *corev1.Container { return &s.Deployments[0].Spec.Template.Spec.Containers[0] }

func TestExamine(t *testing.T) {
	cases := map[string]struct {
		change func(s *State)
		// want are the checks that don't pass.
		want       []Check
		wantFailed bool
	}{
		"a healthy cluster": {change: func(*State) {}},
		"our own manager, by digest too": {
			change: func(s *State) {
				manager(s).Image = "registry.invalid/kueue-fleet:v0.19.2-fleet.1@sha256:0123"
			},
		},
		"Kueue is not there": {
			change:     func(s *State) { s.Unreadable = []string{ClusterQueues, Workloads} },
			want:       []Check{{"rights", Failed, "Kueue's API v1beta2 can't be read: it is not installed, or you have no right to it"}},
			wantFailed: true,
		},
		"Ray is not there": {
			change: func(s *State) { s.Unreadable = []string{RayJobs} },
			want:   []Check{{"rights", Warning, "not there, or you may not read it: RayJobs"}},
		},
		"Deployments can't be read": {
			change: func(s *State) { s.Unreadable, s.Deployments = []string{Deployments}, nil },
			want: []Check{
				{"rights", Warning, "not there, or you may not read it: Deployments"},
				{"manager", Warning, "the manager's Deployment can't be read"},
				{"replicas", Warning, "no manager is known"},
			},
		},
		"another controller's Deployment is no manager": {
			change: func(s *State) { s.Deployments[0].Labels["app.kubernetes.io/name"] = "other" },
			want: []Check{
				{"manager", Failed, "there are 0 Deployments of a Kueue manager, want one"},
				{"replicas", Warning, "no manager is known"},
			},
			wantFailed: true,
		},
		"another version runs": {
			change: func(s *State) { manager(s).Image = "registry.invalid/kueue:v0.18.1" },
			want: []Check{{"manager", Warning, "kueue-system/kueue-controller-manager runs registry.invalid/kueue:v0.18.1; " +
				"the base of this release is v0.19.2: if that image has another version, go to v0.19.2 first"}},
		},
		"a replica is not ready": {
			change:     func(s *State) { s.Deployments[0].Status.ReadyReplicas = 1 },
			want:       []Check{{"replicas", Failed, "kueue-system/kueue-controller-manager has 1 of 2 replicas ready"}},
			wantFailed: true,
		},
		"a queue is not active": {
			change: func(s *State) { s.ClusterQueues[0].Status.Conditions[0].Status = metav1.ConditionFalse },
			want:   []Check{{"queues", Warning, "not active: training"}},
		},
		"a Workload is being evicted": {
			change: func(s *State) {
				s.Workloads[0].Status.Admission = &kueue.Admission{}
				s.Workloads[0].Status.Conditions = []metav1.Condition{{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue}}
			},
			want: []Check{{"evictions", Warning, "evicted, and still holding quota: lab/a"}},
		},
		"a job with groups runs, another has ended": {
			change: func(s *State) {
				for name, status := range map[string]string{"runs": "Running", "ended": "Complete"} {
					job := unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"jobDeploymentStatus": status}}}
					job.SetNamespace("lab")
					job.SetName(name)
					job.SetAnnotations(map[string]string{groupScope: "worker-group"})
					s.RayJobs = append(s.RayJobs, job)
				}
			},
			want: []Check{{"before going back: groups", Warning, "RayJobs with ray/kueue-admission-scope that Kueue's own manager doesn't know how to run: lab/runs"}},
		},
		"flags that Kueue's own manager refuses": {
			change: func(s *State) {
				manager(s).Args = []string{"--fleet-config=/f.yaml", "--feature-gates=PartialAdmission=true,FleetB=true,FleetA=false"}
			},
			want: []Check{{"before going back: flags", Warning, "Kueue's own manager doesn't start with these (helm rollback removes them): " +
				"kueue-system/kueue-controller-manager --fleet-config, kueue-system/kueue-controller-manager FleetA=false, kueue-system/kueue-controller-manager FleetB=true"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := healthy()
			tc.change(s)
			r := Examine(s, "v0.19.2")
			var got []Check
			for _, c := range r.Checks {
				if c.Level != Passed {
					got = append(got, c)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unexpected checks (-want,+got):\n%s", diff)
			}
			if len(r.Checks) != 7 || r.Failed() != tc.wantFailed {
				t.Errorf("%d checks, failed: %t, want 7 and %t", len(r.Checks), r.Failed(), tc.wantFailed)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	Report{Checks: []Check{{"queues", Passed, "all 1 ClusterQueues are active"}, {"replicas", Failed, "none"}}}.Print(&out)
	want := "CHECK     RESULT  DETAIL\nqueues    ok      all 1 ClusterQueues are active\nreplicas  failed  none\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("unexpected text (-want,+got):\n%s", diff)
	}
}
