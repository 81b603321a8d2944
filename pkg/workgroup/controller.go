// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"errors"
	"fmt"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// lostPodCheck is how often terminating pods are looked at again: whether their node
// was lost shows on the node, which isn't watched here.
const lostPodCheck = 10 * time.Second

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=ray.io,resources=rayclusters/status,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads,verbs=get;list;watch;create;update;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloads/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=kueue.x-k8s.io,resources=workloadpriorityclasses;resourceflavors,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;watch;update;patch

// Reconciler keeps the Workloads and pods of each managed RayJob in step.
type Reconciler struct {
	client client.Client
	// live reads past the cache: what is decided on an old copy is decided again on
	// the objects themselves before it is done.
	live             client.Reader
	clock            clock.Clock
	recorder         events.EventRecorder
	waitForPodsReady bool
	labelsToCopy     sets.Set[string]
	readiness        Readiness
}

func (r *Reconciler) setupWithManager(mgr ctrl.Manager) error {
	byLabel := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		name := obj.GetLabels()[JobLabel]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
	})
	optedIn := predicate.NewPredicateFuncs(func(obj client.Object) bool {
		job, isJob := obj.(*rayv1.RayJob)
		return isJob && OptedIn(job)
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&rayv1.RayJob{}, builder.WithPredicates(optedIn)).
		Owns(&rayv1.RayCluster{}).
		Watches(&kueue.Workload{}, byLabel).
		Watches(&corev1.Pod{}, byLabel).
		Complete(r)
	if err != nil {
		return fmt.Errorf("failed to set up the controller: %w", err)
	}
	return nil
}

// Reconcile brings the groups of one RayJob a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName, r.client, client.MatchingFields{jobIndex: req.Name})
	if err != nil {
		return reconcile.Result{}, err
	}
	plans := snap.decide()
	if critical(plans) {
		// The cache may be behind what this controller did last.
		if snap, err = r.observe(ctx, req.NamespacedName, r.live, client.MatchingLabels{JobLabel: req.Name}); err != nil {
			return reconcile.Result{}, err
		}
		plans = snap.decide()
	}
	err = r.act(ctx, snap, plans)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		ctrl.LoggerFrom(ctx).V(3).Info("Working on an old copy, trying again", "reason", err.Error())
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{RequeueAfter: snap.checkAgain()}, err
}

func critical(plans []Plan) bool {
	for i := range plans {
		if plans[i].Critical() {
			return true
		}
	}
	return false
}

// act does what the plans say. A group that fails doesn't keep the others waiting.
func (r *Reconciler) act(ctx context.Context, snap *snapshot, plans []Plan) error {
	var errs []error
	statuses := make([]Status, 0, snap.own)
	for i := range plans {
		if err := r.actOnGroup(ctx, snap, snap.groups[i], plans[i]); err != nil {
			errs = append(errs, fmt.Errorf("group %q: %w", snap.groups[i].Group.Name, err))
		}
		if i < snap.own {
			statuses = append(statuses, plans[i].Status)
		}
	}
	if snap.job != nil {
		errs = append(errs, r.start(ctx, snap, plans), r.submit(ctx, snap, statuses), r.tell(ctx, snap.job, statuses))
	}
	return joinKeepingKind(errs)
}

// joinKeepingKind joins errors so that one of a kind that is no fault doesn't hide
// those that are.
func joinKeepingKind(errs []error) error {
	var faults, stale []error
	for _, err := range errs {
		switch {
		case err == nil:
		case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
			stale = append(stale, err)
		default:
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if len(stale) > 0 {
		return stale[0]
	}
	return nil
}

// tell writes the state of the groups to the job, with an event for each change.
func (r *Reconciler) tell(ctx context.Context, job *rayv1.RayJob, statuses []Status) error {
	text := formatStatus(statuses)
	if job.Annotations[StatusAnnotation] == text {
		return nil
	}
	news := changed(job.Annotations[StatusAnnotation], statuses)
	before := job.DeepCopy()
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, StatusAnnotation, text)
	if err := r.client.Patch(ctx, job, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, s := range news {
		eventType := corev1.EventTypeNormal
		if s.State == StateDraining || s.State == StateDeactivated {
			eventType = corev1.EventTypeWarning
		}
		r.recorder.Eventf(job, nil, eventType, "Group"+string(s.State), "AdmitGroup", "%s", s.String())
	}
	return nil
}
