// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/util/api"
	clientutil "sigs.k8s.io/kueue/pkg/util/client"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
	workloadpatching "sigs.k8s.io/kueue/pkg/workload/patching"
	"sigs.k8s.io/kueue/pkg/workloadslicing"

	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// ReasonAnnotationIgnored is the reason of the event that tells why an annotation
// has no effect.
const ReasonAnnotationIgnored = "ReadinessAnnotationIgnored"

// submitterPodSet is the PodSet of the pod that submits a RayJob.
const submitterPodSet = "submitter"

// jobPolicy keeps on the Workload of a job what its owner asks for and what was
// known of its pods, and judges whether they are ready.
type jobPolicy struct {
	*Adapter
}

// Prepare implements jobframework.ReadinessPolicy.
func (p *jobPolicy) Prepare(ctx context.Context, job jobframework.GenericJob, wl *kueue.Workload) error {
	if !recoveryOn() {
		return nil
	}
	replaced, err := p.replaced(ctx, wl)
	if err != nil {
		return err
	}
	known := &readinessrecovery.Policy{}
	if replaced != nil {
		known = policyOf(replaced)
	}
	policy := p.asked(job, wl.Spec.PodSets)(known)
	// An event about it needs the Workload, so it is left to Reconcile to notice.
	if !slices.Equal(policy.Ignored, known.Ignored) {
		policy.Ignored = nil
	}
	if err := annotate(wl, readinessrecovery.PolicyAnnotation, policy.Encode); err != nil {
		return err
	}
	if replaced == nil {
		return nil
	}
	history, err := readinessrecovery.Inherit(replaced)
	if err != nil {
		return err
	}
	return annotate(wl, readinessrecovery.HistoryAnnotation, history.Encode)
}

// Reconcile implements jobframework.ReadinessPolicy.
func (p *jobPolicy) Reconcile(ctx context.Context, job jobframework.GenericJob, wl *kueue.Workload, condition metav1.Condition) (metav1.Condition, bool, error) {
	podSets, err := jobframework.JobPodSets(ctx, job, p.client)
	if err != nil {
		return condition, false, fmt.Errorf("failed to get the PodSets of the job: %w", err)
	}
	replaced, err := p.replaced(ctx, wl)
	if err != nil {
		return condition, false, err
	}
	if recoveryOn() {
		if written, err := p.keepUpToDate(ctx, wl, replaced, p.asked(job, podSets)); written || err != nil {
			return condition, written, err
		}
	}
	// While a growth waits, the pods are those of the slice that it is to replace.
	if replaced != nil && !workload.HasQuotaReservation(wl) {
		if err := p.observeReplaced(ctx, job, podSets, replaced); err != nil {
			return condition, false, err
		}
	}
	if !workload.IsAdmitted(wl) || workloadevict.IsEvicted(wl) {
		return condition, false, nil
	}

	judged, known, err := p.judge(ctx, job, podSets, wl, condition)
	if err != nil || !known {
		return condition, false, err
	}
	if recoveryOn() && judged.Status == metav1.ConditionFalse {
		if written, err := p.keepHistory(ctx, wl, judged.History); written || err != nil {
			return condition, written, err
		}
	}
	condition = p.conditionFor(wl, judged)
	// Kueue writes what it would write alone. It would take the present as the
	// transition time of a clock that runs, and leave a message as it is.
	said := workload.HasConditionWithTypeAndReason(wl, &condition)
	if judged.Status == metav1.ConditionTrue || (!said && judged.Since.Equal(p.now())) || !changes(wl, &condition) {
		return condition, false, nil
	}
	return condition, true, p.writeCondition(ctx, wl, condition)
}

// changes tells whether wl says something else than the condition. One of which only
// the message differs keeps its transition time.
func changes(wl *kueue.Workload, condition *metav1.Condition) bool {
	current := apimeta.FindStatusCondition(wl.Status.Conditions, condition.Type)
	if current == nil || current.Status != condition.Status || current.Reason != condition.Reason {
		return true
	}
	condition.LastTransitionTime = current.LastTransitionTime
	return current.Message != condition.Message
}

// keepUpToDate writes what the Workload doesn't have yet, one thing at a time.
func (p *jobPolicy) keepUpToDate(ctx context.Context, wl, replaced *kueue.Workload, ask asks) (bool, error) {
	if written, err := p.keepPolicy(ctx, wl, ask); written || err != nil {
		return written, err
	}
	history := historyOf(wl)
	switch {
	case workloadevict.IsEvicted(wl) || apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadPodsReady):
		// All pods start anew, or all have been ready.
		history = nil
	case replaced != nil && !workload.HasQuotaReservation(wl) && isRunning(replaced):
		inherited, err := readinessrecovery.Inherit(replaced)
		if err != nil {
			return false, err
		}
		history = inherited
	}
	if written, err := p.keepHistory(ctx, wl, history); written || err != nil {
		return written, err
	}
	if history != nil && history.RequeueCount > readinessrecovery.RequeueCount(wl) {
		return true, workloadpatching.PatchAdmissionStatus(ctx, p.client, wl, p.clock, func(wl *kueue.Workload) (bool, error) {
			if wl.Status.RequeueState == nil {
				wl.Status.RequeueState = &kueue.RequeueState{}
			}
			wl.Status.RequeueState.Count = &history.RequeueCount
			return true, nil
		})
	}
	return false, nil
}

// keepPolicy follows what the job asks for. A clock that runs keeps its window: what
// is new applies to the next loss.
func (p *jobPolicy) keepPolicy(ctx context.Context, wl *kueue.Workload, ask asks) (bool, error) {
	_, found := wl.Annotations[readinessrecovery.PolicyAnnotation]
	known := policyOf(wl)
	policy := ask(known)
	if found && clockRuns(wl) && !policy.SameSettings(known) {
		return false, nil
	}
	written, err := p.patchAnnotation(ctx, wl, readinessrecovery.PolicyAnnotation, policy.Encode)
	if !written || err != nil {
		return written, err
	}
	for _, ignored := range policy.Ignored {
		if !slices.Contains(known.Ignored, ignored) {
			p.recorder.Eventf(wl, nil, corev1.EventTypeWarning, ReasonAnnotationIgnored, ReasonAnnotationIgnored,
				"%s", api.TruncateEventMessage(ignored.Message()))
		}
	}
	return true, nil
}

func (p *jobPolicy) keepHistory(ctx context.Context, wl *kueue.Workload, history *readinessrecovery.History) (bool, error) {
	return p.patchAnnotation(ctx, wl, readinessrecovery.HistoryAnnotation, history.Encode)
}

// patchAnnotation sets the annotation, or removes it if the value is empty.
func (p *jobPolicy) patchAnnotation(ctx context.Context, wl *kueue.Workload, key string, encode func() (string, error)) (bool, error) {
	written := false
	err := clientutil.Patch(ctx, p.client, wl, func() (bool, error) {
		before, had := wl.Annotations[key]
		if err := annotate(wl, key, encode); err != nil {
			return false, err
		}
		after, has := wl.Annotations[key]
		written = before != after || had != has
		return written, nil
	})
	return written, err
}

func annotate(wl *kueue.Workload, key string, encode func() (string, error)) error {
	value, err := encode()
	switch {
	case err != nil:
		return err
	case value == "":
		delete(wl.Annotations, key)
	default:
		metav1.SetMetaDataAnnotation(&wl.ObjectMeta, key, value)
	}
	return nil
}

// asks returns what an owner asks for, given what was known of it before.
type asks func(known *readinessrecovery.Policy) *readinessrecovery.Policy

// asked returns what the owner of a job asks for.
func (p *jobPolicy) asked(job jobframework.GenericJob, podSets []kueue.PodSet) asks {
	return func(known *readinessrecovery.Policy) *readinessrecovery.Policy {
		return readinessrecovery.Resolve(readinessrecovery.Request{
			PodSets:        podSets,
			JobAnnotations: job.Object().GetAnnotations(),
			Generated:      generatedPodSets(job.Object(), known),
			MaxWindow:      p.maxWindow,
		})
	}
}

// generatedPodSets returns the PodSets of a template that the user hasn't written.
// Once a RayJob has run, its spec has that template too, so it has to be remembered.
func generatedPodSets(job client.Object, known *readinessrecovery.Policy) []string {
	rayJob, isRayJob := job.(*rayv1.RayJob)
	if !isRayJob || rayJob.Spec.SubmissionMode != rayv1.K8sJobMode {
		return nil
	}
	if rayJob.Spec.SubmitterPodTemplate == nil || slices.Contains(known.Generated, submitterPodSet) {
		return []string{submitterPodSet}
	}
	return nil
}

// replaced returns the slice that wl is to replace, or has replaced, nil if there is
// none or it is gone.
func (p *jobPolicy) replaced(ctx context.Context, wl *kueue.Workload) (*kueue.Workload, error) {
	ref := workloadslicing.ReplacementForKey(wl)
	if ref == nil {
		return nil, nil
	}
	// The reference of another namespace's slice is none.
	name := strings.TrimPrefix(string(*ref), wl.Namespace+"/")
	var replaced kueue.Workload
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: wl.Namespace, Name: name}, &replaced); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &replaced, nil
}

func (p *jobPolicy) writeCondition(ctx context.Context, wl *kueue.Workload, condition metav1.Condition) error {
	owner := client.FieldOwner(constants.JobControllerName + "-" + condition.Type)
	return workloadpatching.PatchStatus(ctx, p.client, wl, owner, func(wl *kueue.Workload) (bool, error) {
		// SetStatusCondition keeps the transition time while the status is the same.
		apimeta.RemoveStatusCondition(&wl.Status.Conditions, condition.Type)
		return apimeta.SetStatusCondition(&wl.Status.Conditions, condition), nil
	})
}

// isRunning tells whether wl is a slice whose pods run.
func isRunning(wl *kueue.Workload) bool {
	return workload.IsAdmitted(wl) && !workloadevict.IsEvicted(wl) && !workloadfinish.IsFinished(wl)
}

// clockRuns tells whether pods of wl are being waited for.
func clockRuns(wl *kueue.Workload) bool {
	return isRunning(wl) && !apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadPodsReady)
}
