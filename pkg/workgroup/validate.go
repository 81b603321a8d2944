// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	kueueconstants "sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

// kueueDomain is the prefix of the keys by which Kueue's own integration is told
// what to do.
const kueueDomain = "kueue.x-k8s.io/"

var (
	labelsPath      = field.NewPath("metadata", "labels")
	annotationsPath = field.NewPath("metadata", "annotations")
	specPath        = field.NewPath("spec")
	clusterPath     = specPath.Child("rayClusterSpec")
	headPath        = clusterPath.Child("headGroupSpec")
	groupsPath      = clusterPath.Child("workerGroupSpecs")
)

// ClassExists reports whether there is a WorkloadPriorityClass of that name.
type ClassExists func(name string) (bool, error)

// ValidateCreate judges a job that opted in, as its user sent it. An error of
// exists is returned as an internal error of the field.
func ValidateCreate(job *rayv1.RayJob, exists ClassExists) field.ErrorList {
	var errs field.ErrorList
	if scope := job.Annotations[ScopeAnnotation]; scope != ScopeWorkerGroup {
		return append(errs, field.NotSupported(annotationsPath.Key(ScopeAnnotation), scope, []string{ScopeWorkerGroup}))
	}
	errs = append(errs, validateKueueKeys(job)...)
	if job.Spec.Suspend {
		errs = append(errs, field.Invalid(specPath.Child("suspend"), true,
			"must be unset or false: the job is held back by gates on its pods, and is suspended by the manager alone"))
	}
	errs = append(errs, validateMode(job)...)
	if job.Spec.RayClusterSpec == nil {
		return append(errs, field.Required(clusterPath, "the job must bring its own cluster"))
	}
	return append(errs, validateCluster(job.Spec.RayClusterSpec, exists)...)
}

func validateKueueKeys(job *rayv1.RayJob) field.ErrorList {
	var errs field.ErrorList
	if job.Labels[constants.QueueLabel] == "" {
		errs = append(errs, field.Required(labelsPath.Key(constants.QueueLabel), "must name the LocalQueue of the job's groups"))
	}
	forbid := func(path *field.Path, keys map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if strings.HasPrefix(key, kueueDomain) && key != constants.QueueLabel {
				errs = append(errs, field.Forbidden(path.Key(key),
					fmt.Sprintf("must not be set on a job that is admitted by group; the only %s* key allowed is the label %s", kueueDomain, constants.QueueLabel)))
			}
		}
	}
	forbid(labelsPath, job.Labels)
	forbid(annotationsPath, job.Annotations)
	return errs
}

// validateMode judges how the job is submitted, where it runs and how it ends.
func validateMode(job *rayv1.RayJob) field.ErrorList {
	var errs field.ErrorList
	if mode := job.Spec.SubmissionMode; mode != rayv1.HTTPMode {
		errs = append(errs, field.NotSupported(specPath.Child("submissionMode"), mode, []rayv1.JobSubmissionMode{rayv1.HTTPMode}))
	}
	if !job.Spec.ShutdownAfterJobFinishes {
		errs = append(errs, field.Invalid(specPath.Child("shutdownAfterJobFinishes"), false,
			"must be true: the groups hold their quota until the cluster is gone"))
	}
	if len(job.Spec.ClusterSelector) > 0 {
		errs = append(errs, field.Forbidden(specPath.Child("clusterSelector"), "must be empty: pods of another cluster can't be gated"))
	}
	return append(errs, validateManagedBy(specPath.Child("managedBy"), job.Spec.ManagedBy)...)
}

func validateManagedBy(path *field.Path, manager *string) field.ErrorList {
	if manager == nil || *manager == utils.KubeRayController {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, *manager, []string{utils.KubeRayController})}
}

func validateCluster(spec *rayv1.RayClusterSpec, exists ClassExists) field.ErrorList {
	errs := validateManagedBy(clusterPath.Child("managedBy"), spec.ManagedBy)
	if ptr.Deref(spec.Suspend, false) {
		errs = append(errs, field.Invalid(clusterPath.Child("suspend"), true, "must be unset or false: the job is held back by gates on its pods"))
	}
	headMeta := &spec.HeadGroupSpec.Template.ObjectMeta
	errs = append(errs, validateTemplate(headPath.Child("template", "metadata"), headMeta, false, exists)...)

	names := sets.New(HeadGroup)
	for i := range spec.WorkerGroupSpecs {
		worker, path := &spec.WorkerGroupSpecs[i], groupsPath.Index(i)
		switch {
		case worker.GroupName == HeadGroup:
			errs = append(errs, field.Invalid(path.Child("groupName"), worker.GroupName, "is the name of the head's group; any other DNS label is allowed"))
		case names.Has(worker.GroupName):
			errs = append(errs, field.Duplicate(path.Child("groupName"), worker.GroupName))
		}
		names.Insert(worker.GroupName)
		for _, msg := range validation.IsDNS1123Label(worker.GroupName) {
			errs = append(errs, field.Invalid(path.Child("groupName"), worker.GroupName, msg))
		}
		errs = append(errs, validateReplicas(path, worker)...)
		if isElastic(worker) && !ptr.Deref(spec.EnableInTreeAutoscaling, false) {
			errs = append(errs, field.Required(clusterPath.Child("enableInTreeAutoscaling"),
				fmt.Sprintf("must be true, as group %q has minReplicas %d and maxReplicas %d", worker.GroupName, minReplicas(worker), maxReplicas(worker))))
		}
		if ptr.Deref(worker.Suspend, false) {
			errs = append(errs, field.Invalid(path.Child("suspend"), true, "must be unset or false: a group is held back by gates on its pods"))
		}
		errs = append(errs, validateTemplate(path.Child("template", "metadata"), &worker.Template.ObjectMeta, isElastic(worker), exists)...)
	}
	return errs
}

func validateReplicas(path *field.Path, worker *rayv1.WorkerGroupSpec) field.ErrorList {
	lowest, highest, replicas := minReplicas(worker), maxReplicas(worker), ptr.Deref(worker.Replicas, 0)
	var errs field.ErrorList
	switch {
	case lowest < 0:
		errs = append(errs, field.Invalid(path.Child("minReplicas"), lowest, "must be 0 or more"))
	case lowest > highest:
		errs = append(errs, field.Invalid(path.Child("minReplicas"), lowest, fmt.Sprintf("must not be more than maxReplicas, %d", highest)))
	case replicas < lowest || replicas > highest:
		errs = append(errs, field.Invalid(path.Child("replicas"), replicas, fmt.Sprintf("must be from minReplicas, %d, to maxReplicas, %d", lowest, highest)))
	}
	// A part of a replica is of no use, and growth is granted pod by pod.
	if isElastic(worker) && worker.NumOfHosts > 1 {
		errs = append(errs, field.Invalid(path.Child("numOfHosts"), worker.NumOfHosts, "must be 1 in a group whose minReplicas and maxReplicas differ"))
	}
	return errs
}

func validateTemplate(path *field.Path, meta *metav1.ObjectMeta, elastic bool, exists ClassExists) field.ErrorList {
	errs := validatePriorityClass(path, meta, exists)
	errs = append(errs, jobframework.ValidateTASPodSetRequest(path, meta)...)
	for _, key := range []string{kueue.WorkloadAnnotation, kueue.WorkloadSliceNameAnnotation} {
		if value, found := meta.Annotations[key]; found {
			errs = append(errs, field.Invalid(path.Child("annotations").Key(key), value, "must not be set: the manager sets it when a pod is released"))
		}
	}
	if value, found := meta.Labels[kueueconstants.PodSetLabel]; found {
		errs = append(errs, field.Invalid(path.Child("labels").Key(kueueconstants.PodSetLabel), value, "must not be set: the manager sets it when a pod is released"))
	}
	if group, found := meta.Annotations[kueue.PodSetGroupName]; found {
		errs = append(errs, field.Invalid(path.Child("annotations").Key(kueue.PodSetGroupName), group, "must not be set: each group has a Workload of its own"))
	}
	if elastic {
		marked := &rayv1.RayJob{}
		metav1.SetMetaDataAnnotation(&marked.ObjectMeta, workloadslicing.EnabledAnnotationKey, workloadslicing.EnabledAnnotationValue)
		errs = append(errs, jobframework.ValidateElasticTopology(marked, path, meta)...)
	}
	return errs
}

func validatePriorityClass(path *field.Path, meta *metav1.ObjectMeta, exists ClassExists) field.ErrorList {
	path = path.Child("annotations").Key(PriorityClassAnnotation)
	name := meta.Annotations[PriorityClassAnnotation]
	if name == "" {
		return field.ErrorList{field.Required(path, "must name the WorkloadPriorityClass of the group")}
	}
	found, err := exists(name)
	switch {
	case err != nil:
		return field.ErrorList{field.InternalError(path, err)}
	case !found:
		return field.ErrorList{field.Invalid(path, name, "must be the name of an existing WorkloadPriorityClass")}
	default:
		return nil
	}
}

// minReplicas and maxReplicas have the defaults of KubeRay's definition, which the
// API server fills in before anything else.
func minReplicas(worker *rayv1.WorkerGroupSpec) int32 { return ptr.Deref(worker.MinReplicas, 0) }
func maxReplicas(worker *rayv1.WorkerGroupSpec) int32 {
	return ptr.Deref(worker.MaxReplicas, math.MaxInt32)
}
