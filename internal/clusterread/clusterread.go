// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterread reads what kubectl-fleet looks at. It only gets and lists, and
// goes on without what the user may not read.
package clusterread

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/doctor"
	"fleet.ai/kueue-fleet/internal/evicted"
	"fleet.ai/kueue-fleet/internal/explain"
)

// Reader reads a cluster.
type Reader struct {
	client client.Reader
	now    func() time.Time
}

// New makes a reader with the user's own rights.
func New(config *rest.Config, now func() time.Time) (*Reader, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("failed to make the client's scheme: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("failed to reach the cluster: %w", err)
	}
	return &Reader{client: c, now: now}, nil
}

// lister lists kinds and notes those that can't be read.
type lister struct {
	client     client.Reader
	unreadable []string
	err        error
}

// into lists a kind. What is forbidden, or not installed, is left empty.
func (l *lister) into(ctx context.Context, kind string, list client.ObjectList, options ...client.ListOption) {
	if l.err != nil {
		return
	}
	err := l.client.List(ctx, list, options...)
	switch {
	case err == nil:
	case apierrors.IsForbidden(err), apimeta.IsNoMatchError(err):
		l.unreadable = append(l.unreadable, kind)
	default:
		l.err = fmt.Errorf("failed to list %s: %w", kind, err)
	}
}

// Explain reads what is needed to explain a Workload. The name is that of the
// Workload, or of the job that it stands for; of several Workloads of a job, it is
// the newest that isn't finished.
func (r *Reader) Explain(ctx context.Context, namespace, name string) (*explain.State, error) {
	wl, err := r.workload(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	var namespaces corev1.NamespaceList
	s, err := r.cluster(ctx, func(l *lister) {
		l.into(ctx, "Namespaces", &namespaces, client.MatchingFields{"metadata.name": namespace})
	})
	if err != nil {
		return nil, err
	}
	s.Workload = wl
	if len(namespaces.Items) == 1 {
		s.Namespace = &namespaces.Items[0]
	}
	return s, nil
}

// Board reads what lies on the nodes.
func (r *Reader) Board(ctx context.Context) (*explain.State, error) {
	return r.cluster(ctx, func(*lister) {})
}

// WhyEvicted reads a Workload, named as for Explain, and those that may have taken
// its place.
func (r *Reader) WhyEvicted(ctx context.Context, namespace, name string) (*evicted.State, error) {
	wl, err := r.workload(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	var workloads kueue.WorkloadList
	l := &lister{client: r.client}
	// A tenant may see no Workloads but the own; the answer says then who is not seen.
	l.into(ctx, "Workloads", &workloads)
	if l.err != nil {
		return nil, l.err
	}
	return &evicted.State{Now: r.now(), Workload: wl, Workloads: workloads.Items}, nil
}

// cluster reads queues, Workloads, nodes and pods, and what more lists.
func (r *Reader) cluster(ctx context.Context, more func(*lister)) (*explain.State, error) {
	s := &explain.State{Now: r.now()}
	var (
		locals     kueue.LocalQueueList
		queues     kueue.ClusterQueueList
		cohorts    kueue.CohortList
		flavors    kueue.ResourceFlavorList
		topologies kueue.TopologyList
		workloads  kueue.WorkloadList
		nodes      corev1.NodeList
		pods       corev1.PodList
	)
	l := &lister{client: r.client}
	l.into(ctx, "LocalQueues", &locals)
	l.into(ctx, "ClusterQueues", &queues)
	l.into(ctx, "Cohorts", &cohorts)
	l.into(ctx, "ResourceFlavors", &flavors)
	l.into(ctx, "Topologies", &topologies)
	l.into(ctx, "Workloads", &workloads)
	l.into(ctx, "Nodes", &nodes)
	l.into(ctx, "Pods", &pods)
	more(l)
	if l.err != nil {
		return nil, l.err
	}
	s.LocalQueues, s.ClusterQueues, s.Cohorts, s.Flavors = locals.Items, queues.Items, cohorts.Items, flavors.Items
	s.Topologies, s.Workloads, s.Nodes, s.Pods = topologies.Items, workloads.Items, nodes.Items, pods.Items
	s.Unreadable = l.unreadable
	return s, nil
}

func (r *Reader) workload(ctx context.Context, namespace, name string) (*kueue.Workload, error) {
	wl := &kueue.Workload{}
	err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, wl)
	if err == nil {
		return wl, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("failed to read the Workload %s/%s: %w", namespace, name, err)
	}
	var list kueue.WorkloadList
	if err := r.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("failed to list the Workloads of namespace %s: %w", namespace, err)
	}
	var found *kueue.Workload
	for i := range list.Items {
		wl := &list.Items[i]
		if owner := metav1.GetControllerOfNoCopy(wl); owner == nil || owner.Name != name {
			continue
		}
		if found == nil || better(wl, found) {
			found = wl
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no Workload %q in namespace %s, and no job of that name has one", name, namespace)
	}
	return found, nil
}

// better says whether a is the one to explain rather than b.
func better(a, b *kueue.Workload) bool {
	finished := func(wl *kueue.Workload) bool {
		return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
	}
	if finished(a) != finished(b) {
		return finished(b)
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}

// rayJobs is the kind whose jobs can be admitted group by group.
var rayJobs = schema.GroupVersionKind{Group: "ray.io", Version: "v1", Kind: "RayJobList"}

// Doctor reads what the check-up of a cluster needs.
func (r *Reader) Doctor(ctx context.Context) (*doctor.State, error) {
	var (
		deployments appsv1.DeploymentList
		queues      kueue.ClusterQueueList
		workloads   kueue.WorkloadList
	)
	jobs := &unstructured.UnstructuredList{}
	jobs.SetGroupVersionKind(rayJobs)
	l := &lister{client: r.client}
	l.into(ctx, doctor.Deployments, &deployments, client.MatchingLabels{doctor.ManagerLabel: doctor.ManagerValue})
	l.into(ctx, doctor.ClusterQueues, &queues)
	l.into(ctx, doctor.Workloads, &workloads)
	l.into(ctx, doctor.RayJobs, jobs)
	if l.err != nil {
		return nil, l.err
	}
	return &doctor.State{
		Deployments: deployments.Items, ClusterQueues: queues.Items, Workloads: workloads.Items, RayJobs: jobs.Items, Unreadable: l.unreadable,
	}, nil
}
