// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// parallel is how many creates run at once; more only queue in the API
// server.
const parallel = 16

// Applier creates objects.
type Applier struct {
	client dynamic.Interface
}

// NewApplier returns an Applier for the cluster of config.
func NewApplier(config *rest.Config) (*Applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("failed to make a client: %w", err)
	}
	return &Applier{client: client}, nil
}

// Create creates all objects, several at a time, in no certain order.
func (a *Applier) Create(ctx context.Context, objects ...*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, object := range objects {
		group.Go(func() error { return a.createOnce(ctx, object) })
	}
	return group.Wait()
}

// createOnce creates an object that nobody else creates. A request that timed
// out, on a machine with too much to do, is made again, and may have had its
// effect already.
func (a *Applier) createOnce(ctx context.Context, object *unstructured.Unstructured) error {
	for again := false; ; again = true {
		_, err := a.resource(object).Create(ctx, object, metav1.CreateOptions{})
		timedOut := apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
		switch {
		case again && apierrors.IsAlreadyExists(err):
			return nil
		case !timedOut || ctx.Err() != nil:
			return describeCreate(object, err)
		}
		select {
		case <-ctx.Done():
			return describeCreate(object, errors.Join(err, context.Cause(ctx)))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// CreateRetrying creates one object and tries again for as long as the API
// server only says that something is not there yet: a webhook that does not
// answer, a service account that its controller has not made.
func (a *Applier) CreateRetrying(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	timedOut := false
	for {
		created, err := a.resource(object).Create(ctx, object, metav1.CreateOptions{})
		if timedOut && apierrors.IsAlreadyExists(err) {
			// The request that timed out had its effect.
			created, err = a.resource(object).Get(ctx, object.GetName(), metav1.GetOptions{})
		}
		timedOut = timedOut || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
		notThereYet := apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
		if err == nil || !notThereYet {
			return created, describeCreate(object, err)
		}
		select {
		case <-ctx.Done():
			return nil, describeCreate(object, errors.Join(err, context.Cause(ctx)))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// WaitFor waits until done holds for each of the objects, which must be of one
// kind and one namespace.
func (a *Applier) WaitFor(ctx context.Context, done func(*unstructured.Unstructured) bool, objects ...*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	client := a.resource(objects[0])
	missing := map[string]bool{}
	for _, object := range objects {
		missing[object.GetName()] = true
	}
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}, a.client)
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		if seen, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Deleted && done(seen) {
			delete(missing, seen.GetName())
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("failed to wait for %s %v: %w", objects[0].GetKind(), slices.Sorted(maps.Keys(missing)), err)
	}
	return nil
}

// HasCondition returns a test for a status condition being True.
func HasCondition(conditionType string) func(*unstructured.Unstructured) bool {
	return func(object *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, entry := range conditions {
			condition, _ := entry.(map[string]any)
			if condition["type"] == conditionType && condition["status"] == "True" {
				return true
			}
		}
		return false
	}
}

// resource is the client for an object's kind. The plural is guessed from the
// kind, which is right for everything the sandbox installs and needs no
// discovery; a wrong guess would fail the create with not found.
func (a *Applier) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := apimeta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if namespace := object.GetNamespace(); namespace != "" {
		return a.client.Resource(plural).Namespace(namespace)
	}
	return a.client.Resource(plural)
}

func describeCreate(object *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("failed to create %s %q: %w", object.GetKind(), object.GetName(), err)
}
