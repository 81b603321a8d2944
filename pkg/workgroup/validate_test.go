// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/features"
)

// fields are the errors' kinds and paths; every message is checked to say something.
func fields(t *testing.T, errs field.ErrorList) []string {
	t.Helper()
	var out []string
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
		if err.Detail == "" && err.Type != field.ErrorTypeDuplicate {
			t.Errorf("error of %s doesn't say what is allowed: %v", err.Field, err)
		}
	}
	return out
}

func TestValidateCreate(t *testing.T) {
	features.SetFeatureGateDuringTest(t, features.ElasticJobsViaWorkloadSlices, true)
	features.SetFeatureGateDuringTest(t, features.TopologyAwareScheduling, true)
	const (
		trainer = "spec.rayClusterSpec.workerGroupSpecs[0]"
		rollout = "spec.rayClusterSpec.workerGroupSpecs[1]"
	)
	workers := func(job *rayv1.RayJob) []rayv1.WorkerGroupSpec { return job.Spec.RayClusterSpec.WorkerGroupSpecs }
	cases := map[string]struct {
		change func(*rayv1.RayJob)
		want   []string
	}{
		"a decoupled training job": {change: func(*rayv1.RayJob) {}},
		"a head alone":             {change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.WorkerGroupSpecs = nil }},
		"no autoscaler for groups of fixed size": {change: func(job *rayv1.RayJob) {
			job.Spec.RayClusterSpec.WorkerGroupSpecs = workers(job)[:1]
			job.Spec.RayClusterSpec.EnableInTreeAutoscaling = nil
		}},
		"a fixed group of several hosts": {change: func(job *rayv1.RayJob) { workers(job)[0].NumOfHosts = 2 }},
		"KubeRay named as the manager":   {change: func(job *rayv1.RayJob) { job.Spec.ManagedBy = ptr.To("ray.io/kuberay-operator") }},
		"keys of other domains": {change: func(job *rayv1.RayJob) {
			job.Labels["kueue.example.com/x"] = "y"
			job.Annotations["fleet.ai/x"] = "y"
		}},
		"another scope": {
			change: func(job *rayv1.RayJob) { job.Annotations[ScopeAnnotation] = "job" },
			want:   []string{"FieldValueNotSupported metadata.annotations[ray/kueue-admission-scope]"},
		},
		"an empty scope": {
			change: func(job *rayv1.RayJob) { job.Annotations[ScopeAnnotation] = "" },
			want:   []string{"FieldValueNotSupported metadata.annotations[ray/kueue-admission-scope]"},
		},
		"no queue": {
			change: func(job *rayv1.RayJob) { job.Labels = nil },
			want:   []string{"FieldValueRequired metadata.labels[kueue.x-k8s.io/queue-name]"},
		},
		"a priority class on the job": {
			change: func(job *rayv1.RayJob) { job.Labels["kueue.x-k8s.io/priority-class"] = "q1" },
			want:   []string{"FieldValueForbidden metadata.labels[kueue.x-k8s.io/priority-class]"},
		},
		"the mark of native elastic jobs": {
			change: func(job *rayv1.RayJob) { job.Annotations["kueue.x-k8s.io/elastic-job"] = "true" },
			want:   []string{"FieldValueForbidden metadata.annotations[kueue.x-k8s.io/elastic-job]"},
		},
		"readiness windows of the whole job": {
			change: func(job *rayv1.RayJob) { job.Annotations["kueue.x-k8s.io/wait-for-pods-ready"] = "{}" },
			want:   []string{"FieldValueForbidden metadata.annotations[kueue.x-k8s.io/wait-for-pods-ready]"},
		},
		"suspended": {
			change: func(job *rayv1.RayJob) { job.Spec.Suspend = true },
			want:   []string{"FieldValueInvalid spec.suspend"},
		},
		"a submitter pod": {
			change: func(job *rayv1.RayJob) { job.Spec.SubmissionMode = rayv1.K8sJobMode },
			want:   []string{"FieldValueNotSupported spec.submissionMode"},
		},
		"a submitter in the head": {
			change: func(job *rayv1.RayJob) { job.Spec.SubmissionMode = rayv1.SidecarMode },
			want:   []string{"FieldValueNotSupported spec.submissionMode"},
		},
		"the cluster outlives the job": {
			change: func(job *rayv1.RayJob) { job.Spec.ShutdownAfterJobFinishes = false },
			want:   []string{"FieldValueInvalid spec.shutdownAfterJobFinishes"},
		},
		"a cluster of somebody else": {
			change: func(job *rayv1.RayJob) {
				job.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "c"}
				job.Spec.RayClusterSpec = nil
			},
			want: []string{"FieldValueForbidden spec.clusterSelector", "FieldValueRequired spec.rayClusterSpec"},
		},
		"managed by another controller": {
			change: func(job *rayv1.RayJob) { job.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") },
			want:   []string{"FieldValueNotSupported spec.managedBy"},
		},
		"a cluster managed by another controller": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") },
			want:   []string{"FieldValueNotSupported spec.rayClusterSpec.managedBy"},
		},
		"a suspended cluster": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.Suspend = ptr.To(true) },
			want:   []string{"FieldValueInvalid spec.rayClusterSpec.suspend"},
		},
		"no autoscaler for an elastic group": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.EnableInTreeAutoscaling = nil },
			want:   []string{"FieldValueRequired spec.rayClusterSpec.enableInTreeAutoscaling"},
		},
		"the autoscaler switched off for an elastic group": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.EnableInTreeAutoscaling = ptr.To(false) },
			want:   []string{"FieldValueRequired spec.rayClusterSpec.enableInTreeAutoscaling"},
		},
		"fewer replicas than the minimum": {
			change: func(job *rayv1.RayJob) { workers(job)[1].MinReplicas = ptr.To[int32](1) },
			want:   []string{"FieldValueInvalid " + rollout + ".replicas"},
		},
		"more replicas than the maximum": {
			change: func(job *rayv1.RayJob) { workers(job)[1].Replicas = ptr.To[int32](5) },
			want:   []string{"FieldValueInvalid " + rollout + ".replicas"},
		},
		"a minimum above the maximum": {
			change: func(job *rayv1.RayJob) { workers(job)[1].MinReplicas = ptr.To[int32](5) },
			want:   []string{"FieldValueInvalid " + rollout + ".minReplicas"},
		},
		"a negative minimum": {
			change: func(job *rayv1.RayJob) { workers(job)[1].MinReplicas = ptr.To[int32](-1) },
			want:   []string{"FieldValueInvalid " + rollout + ".minReplicas"},
		},
		"an elastic group of several hosts": {
			change: func(job *rayv1.RayJob) { workers(job)[1].NumOfHosts = 2 },
			want:   []string{"FieldValueInvalid " + rollout + ".numOfHosts"},
		},
		"a suspended group": {
			change: func(job *rayv1.RayJob) { workers(job)[1].Suspend = ptr.To(true) },
			want:   []string{"FieldValueInvalid " + rollout + ".suspend"},
		},
		"a head without a priority class": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec.HeadGroupSpec.Template.Annotations = nil },
			want:   []string{"FieldValueRequired spec.rayClusterSpec.headGroupSpec.template.metadata.annotations[ray/kueue-priority-class]"},
		},
		"a group without a priority class": {
			change: func(job *rayv1.RayJob) { delete(workers(job)[0].Template.Annotations, PriorityClassAnnotation) },
			want:   []string{"FieldValueRequired " + trainer + ".template.metadata.annotations[ray/kueue-priority-class]"},
		},
		"an unknown priority class": {
			change: func(job *rayv1.RayJob) { workers(job)[0].Template.Annotations[PriorityClassAnnotation] = "q9" },
			want:   []string{"FieldValueInvalid " + trainer + ".template.metadata.annotations[ray/kueue-priority-class]"},
		},
		"two groups of one name": {
			change: func(job *rayv1.RayJob) { workers(job)[1].GroupName = "trainer" },
			want:   []string{"FieldValueDuplicate " + rollout + ".groupName"},
		},
		"a group with the head's name": {
			change: func(job *rayv1.RayJob) { workers(job)[1].GroupName = "head" },
			want:   []string{"FieldValueInvalid " + rollout + ".groupName"},
		},
		"a group whose name is no label": {
			change: func(job *rayv1.RayJob) { workers(job)[1].GroupName = "Roll_out" },
			want:   []string{"FieldValueInvalid " + rollout + ".groupName"},
		},
		"an elastic group in one domain": {
			change: func(job *rayv1.RayJob) {
				workers(job)[1].Template.Annotations = map[string]string{PriorityClassAnnotation: "q2", kueue.PodSetRequiredTopologyAnnotation: corev1.LabelHostname}
			},
			want: []string{"FieldValueInvalid " + rollout + ".template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]"},
		},
		"what only the manager may say of a pod": {
			change: func(job *rayv1.RayJob) {
				workers(job)[0].Template.Annotations[kueue.WorkloadAnnotation] = "other"
				workers(job)[0].Template.Labels = map[string]string{"kueue.x-k8s.io/podset": "other"}
			},
			want: []string{
				"FieldValueInvalid " + trainer + ".template.metadata.annotations[kueue.x-k8s.io/workload]",
				"FieldValueInvalid " + trainer + ".template.metadata.labels[kueue.x-k8s.io/podset]",
			},
		},
		"groups placed together": {
			change: func(job *rayv1.RayJob) { workers(job)[0].Template.Annotations[kueue.PodSetGroupName] = "both" },
			want: []string{
				"FieldValueForbidden " + trainer + ".template.metadata.annotations[kueue.x-k8s.io/podset-group-name]",
				"FieldValueInvalid " + trainer + ".template.metadata.annotations[kueue.x-k8s.io/podset-group-name]",
			},
		},
		"every fault is told at once": {
			change: func(job *rayv1.RayJob) {
				job.Spec.Suspend, job.Spec.ShutdownAfterJobFinishes = true, false
				workers(job)[1].GroupName = "trainer"
			},
			want: []string{"FieldValueInvalid spec.suspend", "FieldValueInvalid spec.shutdownAfterJobFinishes", "FieldValueDuplicate " + rollout + ".groupName"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := makeJob()
			tc.change(job)
			if diff := cmp.Diff(tc.want, fields(t, ValidateCreate(job, classes))); diff != "" {
				t.Errorf("ValidateCreate() (-want,+got):\n%s", diff)
			}
		})
	}
	t.Run("the lookup of a priority class fails", func(t *testing.T) {
		errs := ValidateCreate(makeJob(), func(string) (bool, error) { return false, errors.New("no answer") })
		if len(errs) != 3 || errs[0].Type != field.ErrorTypeInternal {
			t.Errorf("ValidateCreate() = %v, want an internal error for each group", errs)
		}
	})
}

func TestValidateUpdate(t *testing.T) {
	workers := func(job *rayv1.RayJob) []rayv1.WorkerGroupSpec { return job.Spec.RayClusterSpec.WorkerGroupSpecs }
	const fixed = "FieldValueForbidden spec.rayClusterSpec"
	cases := map[string]struct {
		before    func(*rayv1.RayJob)
		change    func(*rayv1.RayJob)
		byManager bool
		want      []string
	}{
		"nothing changes": {change: func(*rayv1.RayJob) {}},
		"the manager starts the job": {
			change: func(job *rayv1.RayJob) { job.Spec.Suspend = false }, byManager: true,
		},
		"a user starts the job": {
			change: func(job *rayv1.RayJob) { job.Spec.Suspend = false },
			want:   []string{"FieldValueForbidden spec.suspend"},
		},
		"a user suspends the job": {
			before: func(job *rayv1.RayJob) { job.Spec.Suspend = false },
			change: func(job *rayv1.RayJob) { job.Spec.Suspend = true },
			want:   []string{"FieldValueForbidden spec.suspend"},
		},
		"the scope is taken back": {
			change: func(job *rayv1.RayJob) { delete(job.Annotations, ScopeAnnotation) },
			want:   []string{"FieldValueInvalid metadata.annotations[ray/kueue-admission-scope]"},
		},
		"a job opts in later": {
			before: func(job *rayv1.RayJob) { job.Annotations = nil },
			change: func(job *rayv1.RayJob) {
				job.Annotations = map[string]string{ScopeAnnotation: ScopeWorkerGroup, ManagedAnnotation: managedValue}
			},
			want: []string{"FieldValueForbidden metadata.annotations[ray/kueue-admission-scope]"},
		},
		"the mark is taken off": {
			change: func(job *rayv1.RayJob) { delete(job.Annotations, ManagedAnnotation) },
			want:   []string{"FieldValueInvalid metadata.annotations[fleet.ai/worker-group-admission]"},
		},
		"another queue": {
			change: func(job *rayv1.RayJob) { job.Labels["kueue.x-k8s.io/queue-name"] = "other" },
			want:   []string{"FieldValueInvalid metadata.labels[kueue.x-k8s.io/queue-name]"},
		},
		"a key of Kueue's is added": {
			change: func(job *rayv1.RayJob) { job.Labels["kueue.x-k8s.io/priority-class"] = "q0" },
			want:   []string{"FieldValueForbidden metadata.labels[kueue.x-k8s.io/priority-class]"},
		},
		"the job is kept after its end": {
			change: func(job *rayv1.RayJob) { job.Spec.ShutdownAfterJobFinishes = false },
			want:   []string{"FieldValueInvalid spec.shutdownAfterJobFinishes"},
		},
		"the job goes to another manager": {
			change: func(job *rayv1.RayJob) { job.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") },
			want:   []string{"FieldValueInvalid spec.managedBy"},
		},
		"the job goes to another cluster": {
			change: func(job *rayv1.RayJob) { job.Spec.ClusterSelector = map[string]string{"ray.io/cluster": "c"} },
			want:   []string{"FieldValueInvalid spec.clusterSelector"},
		},
		"the program is submitted in another way": {
			change: func(job *rayv1.RayJob) { job.Spec.SubmissionMode = rayv1.SidecarMode },
			want:   []string{"FieldValueInvalid spec.submissionMode"},
		},
		"the gates are lost to a manifest that is applied again": {
			change: func(job *rayv1.RayJob) {
				for i := range workers(job) {
					workers(job)[i].Template.Spec.SchedulingGates = nil
				}
			},
		},
		"the status is written": {change: func(job *rayv1.RayJob) { job.Annotations[StatusAnnotation] = "head: Running 1/1" }},
		"a group gets another priority": {
			change: func(job *rayv1.RayJob) { workers(job)[1].Template.Annotations[PriorityClassAnnotation] = "q1" },
		},
		"a group gets an unknown priority": {
			change: func(job *rayv1.RayJob) { workers(job)[1].Template.Annotations[PriorityClassAnnotation] = "q9" },
			want:   []string{"FieldValueInvalid spec.rayClusterSpec.workerGroupSpecs[1].template.metadata.annotations[ray/kueue-priority-class]"},
		},
		"a group loses its priority": {
			change: func(job *rayv1.RayJob) { delete(workers(job)[1].Template.Annotations, PriorityClassAnnotation) },
			want:   []string{"FieldValueRequired spec.rayClusterSpec.workerGroupSpecs[1].template.metadata.annotations[ray/kueue-priority-class]"},
		},
		"a readiness window changes": {
			change: func(job *rayv1.RayJob) {
				workers(job)[1].Template.Annotations["fleet.ai/readiness-recovery-timeout"] = "5m"
			},
		},
		"more replicas are asked for on the job": {
			change: func(job *rayv1.RayJob) { workers(job)[1].Replicas = ptr.To[int32](2) },
			want:   []string{fixed},
		},
		"a group is added": {
			change: func(job *rayv1.RayJob) {
				job.Spec.RayClusterSpec.WorkerGroupSpecs = append(workers(job), rayv1.WorkerGroupSpec{GroupName: "more"})
			},
			want: []string{fixed},
		},
		"the cluster is taken away": {
			change: func(job *rayv1.RayJob) { job.Spec.RayClusterSpec = nil },
			want:   []string{fixed},
		},
		"a job that is deleted may lose anything": {
			before: func(job *rayv1.RayJob) { job.DeletionTimestamp = ptr.To(job.CreationTimestamp) },
			change: func(job *rayv1.RayJob) { job.Finalizers, job.Labels = nil, nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := managedJob()
			if tc.before != nil {
				tc.before(before)
			}
			after := before.DeepCopy()
			tc.change(after)
			if diff := cmp.Diff(tc.want, fields(t, ValidateUpdate(before, after, tc.byManager, classes))); diff != "" {
				t.Errorf("ValidateUpdate() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestValidateClusterUpdate(t *testing.T) {
	cases := map[string]struct {
		change func(*rayv1.RayClusterSpec)
		want   []string
	}{
		"the autoscaler adds a worker": {change: func(spec *rayv1.RayClusterSpec) { spec.WorkerGroupSpecs[1].Replicas = ptr.To[int32](3) }},
		"the head's gates are removed": {
			change: func(spec *rayv1.RayClusterSpec) { spec.HeadGroupSpec.Template.Spec.SchedulingGates = nil },
			want:   []string{"FieldValueRequired spec.headGroupSpec.template.spec.schedulingGates", "FieldValueRequired spec.headGroupSpec.template.spec.schedulingGates"},
		},
		"our gate is removed from a group": {
			change: func(spec *rayv1.RayClusterSpec) {
				template := &spec.WorkerGroupSpecs[1].Template
				template.Spec.SchedulingGates = template.Spec.SchedulingGates[1:]
			},
			want: []string{"FieldValueRequired spec.workerGroupSpecs[1].template.spec.schedulingGates"},
		},
		"a group's pods are given to another job": {
			change: func(spec *rayv1.RayClusterSpec) { spec.WorkerGroupSpecs[0].Template.Labels[JobLabel] = "other" },
			want:   []string{"FieldValueInvalid spec.workerGroupSpecs[0].template.metadata.labels[fleet.ai/rayjob]"},
		},
		"a group is added": {
			change: func(spec *rayv1.RayClusterSpec) {
				spec.WorkerGroupSpecs = append(spec.WorkerGroupSpecs, rayv1.WorkerGroupSpec{GroupName: "more"})
			},
			want: []string{"FieldValueInvalid spec.workerGroupSpecs[2].groupName"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := &rayv1.RayCluster{Spec: *makeJob().Spec.RayClusterSpec}
			DefaultCluster(before, "rl")
			after := before.DeepCopy()
			tc.change(&after.Spec)
			if diff := cmp.Diff(tc.want, fields(t, ValidateClusterUpdate(before, after))); diff != "" {
				t.Errorf("ValidateClusterUpdate() (-want,+got):\n%s", diff)
			}
		})
	}
}
