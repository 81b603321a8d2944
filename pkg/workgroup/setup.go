// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/featuregate"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/features"
)

// Name identifies the extension, its claimer, its controller and its events.
const Name = "fleet-workgroup"

// jobIndex finds the pods and Workloads of a RayJob by its name.
const jobIndex = "fleet.ai/rayjob"

var (
	errMissingFramework = errors.New("integrations.frameworks lacks what admission by group builds on")
	errMissingGate      = errors.New("admission by group needs a feature gate that is off")
)

// Readiness decides how long a group may be without ready pods, and whether it is,
// in place of the rule of this package.
type Readiness interface {
	// Annotations returns annotations for the new Workload of a group. replaced is
	// the slice that it takes over from, nil for a start.
	Annotations(podSet *kueue.PodSet, replaced *kueue.Workload) (map[string]string, error)
	// Follow brings the annotations and the PodsReady condition of a Workload up to
	// date. podSet is what the group asks for now, pods are those that nobody has
	// told to stop, and expected is how many should run. judged is false if the
	// condition is left to this package.
	Follow(ctx context.Context, wl *kueue.Workload, podSet *kueue.PodSet, pods []corev1.Pod, expected int32) (judged bool, err error)
}

// ownReadiness leaves all to this package.
type ownReadiness struct{}

func (ownReadiness) Annotations(*kueue.PodSet, *kueue.Workload) (map[string]string, error) {
	return nil, nil
}

func (ownReadiness) Follow(context.Context, *kueue.Workload, *kueue.PodSet, []corev1.Pod, int32) (bool, error) {
	return false, nil
}

// Options are the parts of the manager that are used.
type Options struct {
	Manager ctrl.Manager
	Config  *configapi.Configuration
	Clock   clock.Clock
	Claimer *Claimer
	// Readiness may be nil.
	Readiness Readiness
}

// Setup adds the controller to the manager and lets the claimer answer. It must be
// called before the manager starts. It fails, naming what is missing, when the
// manager's configuration leaves out what this package builds on.
func Setup(ctx context.Context, o Options) error {
	if err := checkConfig(o.Config); err != nil {
		return err
	}
	mgr := o.Manager
	self := &authenticationv1.SelfSubjectReview{}
	if err := mgr.GetClient().Create(ctx, self); err != nil {
		return fmt.Errorf("failed to ask for the manager's own user name: %w", err)
	}
	o.Claimer.reader = mgr.GetClient()
	o.Claimer.username = self.Status.UserInfo.Username

	byJob := func(obj client.Object) []string {
		if name := obj.GetLabels()[JobLabel]; name != "" {
			return []string{name}
		}
		return nil
	}
	for _, obj := range []client.Object{&corev1.Pod{}, &kueue.Workload{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, obj, jobIndex, byJob); err != nil {
			return fmt.Errorf("failed to index %T by RayJob: %w", obj, err)
		}
	}
	r := &Reconciler{
		client:           mgr.GetClient(),
		live:             mgr.GetAPIReader(),
		clock:            o.Clock,
		recorder:         mgr.GetEventRecorder(Name),
		waitForPodsReady: o.Config.WaitForPodsReady != nil,
		readiness:        o.Readiness,
	}
	if r.readiness == nil {
		r.readiness = ownReadiness{}
	}
	if o.Config.Integrations != nil {
		r.labelsToCopy = sets.New(o.Config.Integrations.LabelKeysToCopy...)
	}
	return r.setupWithManager(mgr)
}

func checkConfig(cfg *configapi.Configuration) error {
	for _, framework := range []string{"ray.io/rayjob", "ray.io/raycluster"} {
		if cfg.Integrations == nil || !slices.Contains(cfg.Integrations.Frameworks, framework) {
			return fmt.Errorf("%w: %s, whose webhooks it uses", errMissingFramework, framework)
		}
	}
	needed := []featuregate.Feature{features.ElasticJobsViaWorkloadSlices}
	if features.Enabled(features.TopologyAwareScheduling) {
		needed = append(needed, features.ElasticJobsViaWorkloadSlicesWithTAS)
	}
	for _, gate := range needed {
		if !features.Enabled(gate) {
			return fmt.Errorf("%w: %s", errMissingGate, gate)
		}
	}
	return nil
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// ownedBy returns whether the object is controlled by the one of that UID.
func ownedBy(obj client.Object, uid string) bool {
	owner := metav1.GetControllerOf(obj)
	return owner != nil && string(owner.UID) == uid
}
