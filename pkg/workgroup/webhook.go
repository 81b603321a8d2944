// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/ownership"
)

var rayJobKind = rayv1.SchemeGroupVersion.WithKind("RayJob").GroupKind()
var rayClusterKind = rayv1.SchemeGroupVersion.WithKind("RayCluster").GroupKind()

// Claimer takes RayJobs that opted in, and what is made for them, away from Kueue's
// job integrations, and admits them in the webhooks of those.
type Claimer struct {
	// reader and username are set before the webhooks serve.
	reader   client.Reader
	username string
}

var _ ownership.Admitter = (*Claimer)(nil)

// NewClaimer returns a Claimer that can't judge anything until Setup was called
// with it.
func NewClaimer() *Claimer { return &Claimer{} }

// Name implements ownership.Claimer.
func (*Claimer) Name() string { return Name }

// Claims implements ownership.Claimer.
func (*Claimer) Claims(obj client.Object) bool { return claims(obj) }

// Default rejects a job that can't be admitted by group, as its user sent it, and
// prepares it otherwise. A rejection has to come before anything is changed.
func (c *Claimer) Default(ctx context.Context, obj client.Object) error {
	switch o := obj.(type) {
	case *rayv1.RayJob:
		if errs := ValidateCreate(o, c.classExists(ctx)); len(errs) > 0 {
			return apierrors.NewInvalid(rayJobKind, o.Name, errs)
		}
		Default(o)
	case *rayv1.RayCluster:
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			return fmt.Errorf("failed to default RayCluster %q: it has no owner", o.Name)
		}
		DefaultCluster(o, owner.Name)
	}
	return nil
}

// ValidateCreate judges what became of a job after all defaulting. What the user sent
// was judged by Default.
func (c *Claimer) ValidateCreate(ctx context.Context, obj client.Object) ([]string, error) {
	job, isJob := obj.(*rayv1.RayJob)
	if !isJob {
		return nil, nil
	}
	sent := job.DeepCopy()
	sent.Spec.Suspend = false
	errs := ValidateCreate(sent, c.classExists(ctx))
	if !job.Spec.Suspend {
		errs = append(errs, field.Invalid(specPath.Child("suspend"), false, "must stay true until the head is admitted"))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(rayJobKind, job.Name, errs)
	}
	return nil, nil
}

// ValidateUpdate judges changes of jobs and of their clusters.
func (c *Claimer) ValidateUpdate(ctx context.Context, oldObj, newObj client.Object) ([]string, error) {
	switch before := oldObj.(type) {
	case *rayv1.RayJob:
		after, isJob := newObj.(*rayv1.RayJob)
		if !isJob {
			return nil, nil
		}
		if errs := ValidateUpdate(before, after, c.byManager(ctx), c.classExists(ctx)); len(errs) > 0 {
			return nil, apierrors.NewInvalid(rayJobKind, after.Name, errs)
		}
	case *rayv1.RayCluster:
		after, isCluster := newObj.(*rayv1.RayCluster)
		if !isCluster {
			return nil, nil
		}
		if errs := ValidateClusterUpdate(before, after); len(errs) > 0 {
			return nil, apierrors.NewInvalid(rayClusterKind, after.Name, errs)
		}
	}
	return nil, nil
}

// byManager reports whether the request that is being admitted is this program's.
func (c *Claimer) byManager(ctx context.Context) bool {
	request, err := admission.RequestFromContext(ctx)
	return err == nil && request.UserInfo.Username == c.username
}

func (c *Claimer) classExists(ctx context.Context) ClassExists {
	return func(name string) (bool, error) {
		err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &kueue.WorkloadPriorityClass{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
}
