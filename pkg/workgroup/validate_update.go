// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"sigs.k8s.io/kueue/pkg/controller/constants"
)

// fleetDomain is the prefix of the template annotations, such as the readiness
// windows, that may change while a job runs.
const fleetDomain = "fleet.ai/"

// ValidateUpdate judges a change of a job that is managed, or would be afterwards.
// byManager says that it is this program that makes it.
func ValidateUpdate(before, after *rayv1.RayJob, byManager bool, exists ClassExists) field.ErrorList {
	if !Managed(before) {
		return field.ErrorList{field.Forbidden(annotationsPath.Key(ScopeAnnotation), "can be set only when the job is created")}
	}
	// Somebody takes a finalizer off; nothing else matters any more.
	if after.DeletionTimestamp != nil {
		return nil
	}
	var errs field.ErrorList
	same := func(path *field.Path, old, now any) {
		if !equality.Semantic.DeepEqual(old, now) {
			errs = append(errs, field.Invalid(path, now, "must not change once the job is created"))
		}
	}
	for _, key := range []string{ScopeAnnotation, ManagedAnnotation} {
		same(annotationsPath.Key(key), before.Annotations[key], after.Annotations[key])
	}
	same(labelsPath.Key(constants.QueueLabel), before.Labels[constants.QueueLabel], after.Labels[constants.QueueLabel])
	for _, err := range validateKueueKeys(after) {
		if err.Type == field.ErrorTypeForbidden && !hadKey(before, err.Field) {
			errs = append(errs, err)
		}
	}
	if before.Spec.Suspend != after.Spec.Suspend && !byManager {
		errs = append(errs, field.Forbidden(specPath.Child("suspend"), "is changed by the manager alone; set spec.active of a group's Workload to false to stop the group"))
	}
	same(specPath.Child("submissionMode"), before.Spec.SubmissionMode, after.Spec.SubmissionMode)
	same(specPath.Child("shutdownAfterJobFinishes"), before.Spec.ShutdownAfterJobFinishes, after.Spec.ShutdownAfterJobFinishes)
	same(specPath.Child("clusterSelector"), before.Spec.ClusterSelector, after.Spec.ClusterSelector)
	same(specPath.Child("managedBy"), before.Spec.ManagedBy, after.Spec.ManagedBy)
	if !equality.Semantic.DeepEqual(fixedPart(before), fixedPart(after)) {
		return append(errs, field.Forbidden(clusterPath,
			"must not change once the job is created, but for the templates' annotations "+PriorityClassAnnotation+" and "+fleetDomain+"*; the autoscaler changes the RayCluster"))
	}
	return append(errs, validateNewClasses(before, after, exists)...)
}

// hadKey reports whether the job had the forbidden label or annotation already.
func hadKey(job *rayv1.RayJob, path string) bool {
	for _, old := range validateKueueKeys(job) {
		if old.Field == path {
			return true
		}
	}
	return false
}

// fixedPart is what must stay as it is. Gates are not compared: somebody who applies
// his own manifest again takes them out, and the cluster gets them anyway.
func fixedPart(job *rayv1.RayJob) *rayv1.RayClusterSpec {
	spec := job.Spec.RayClusterSpec.DeepCopy()
	if spec == nil {
		return nil
	}
	forEachTemplate(spec, func(template *corev1.PodTemplateSpec) {
		ungate(template)
		for key := range template.Annotations {
			if key == PriorityClassAnnotation || strings.HasPrefix(key, fleetDomain) {
				delete(template.Annotations, key)
			}
		}
	})
	return spec
}

func validateNewClasses(before, after *rayv1.RayJob, exists ClassExists) field.ErrorList {
	var errs field.ErrorList
	check := func(path *field.Path, old, now *metav1.ObjectMeta) {
		if old.Annotations[PriorityClassAnnotation] != now.Annotations[PriorityClassAnnotation] {
			errs = append(errs, validatePriorityClass(path.Child("template", "metadata"), now, exists)...)
		}
	}
	old, now := before.Spec.RayClusterSpec, after.Spec.RayClusterSpec
	check(headPath, &old.HeadGroupSpec.Template.ObjectMeta, &now.HeadGroupSpec.Template.ObjectMeta)
	for i := range now.WorkerGroupSpecs {
		check(groupsPath.Index(i), &old.WorkerGroupSpecs[i].Template.ObjectMeta, &now.WorkerGroupSpecs[i].Template.ObjectMeta)
	}
	return errs
}

// ValidateClusterUpdate judges a change of a managed job's cluster: the gates of its
// templates must stay, or new pods would start by themselves.
func ValidateClusterUpdate(before, after *rayv1.RayCluster) field.ErrorList {
	if after.DeletionTimestamp != nil {
		return nil
	}
	var errs field.ErrorList
	check := func(path *field.Path, old, now *corev1.PodTemplateSpec) {
		for _, gate := range gates {
			if hasGate(old.Spec.SchedulingGates, gate) && !hasGate(now.Spec.SchedulingGates, gate) {
				errs = append(errs, field.Required(path.Child("template", "spec", "schedulingGates"), "must keep "+gate+": the RayJob's groups are admitted on their own"))
			}
		}
		if old.Labels[JobLabel] != now.Labels[JobLabel] {
			errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels").Key(JobLabel), now.Labels[JobLabel], "must not change"))
		}
	}
	check(specPath.Child("headGroupSpec"), &before.Spec.HeadGroupSpec.Template, &after.Spec.HeadGroupSpec.Template)
	templates := map[string]*corev1.PodTemplateSpec{}
	for i := range before.Spec.WorkerGroupSpecs {
		templates[before.Spec.WorkerGroupSpecs[i].GroupName] = &before.Spec.WorkerGroupSpecs[i].Template
	}
	for i := range after.Spec.WorkerGroupSpecs {
		worker, path := &after.Spec.WorkerGroupSpecs[i], specPath.Child("workerGroupSpecs").Index(i)
		old, known := templates[worker.GroupName]
		if !known {
			errs = append(errs, field.Invalid(path.Child("groupName"), worker.GroupName, "must be a group of the RayJob"))
			continue
		}
		check(path, old, &worker.Template)
	}
	return errs
}
