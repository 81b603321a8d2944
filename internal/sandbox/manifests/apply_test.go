// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func newFake() (*Applier, *fake.FakeDynamicClient) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		crds:                              "CustomResourceDefinitionList",
		{Version: "v1", Resource: "pods"}: "PodList",
	})
	return &Applier{client: client}, client
}

func crd(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
	}}
}

func TestCreateNamesWhatItCouldNotCreate(t *testing.T) {
	applier, _ := newFake()
	if err := applier.Create(context.Background(), crd("a"), crd("b")); err != nil {
		t.Fatal(err)
	}
	err := applier.Create(context.Background(), crd("b"))
	if !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), `failed to create CustomResourceDefinition "b"`) {
		t.Errorf("got %v", err)
	}
}

// timeOutOnce lets the first create have its effect and its request time out.
func timeOutOnce(t *testing.T, client *fake.FakeDynamicClient) {
	t.Helper()
	first := true
	client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if !first {
			return false, nil, nil
		}
		first = false
		if err := client.Tracker().Create(action.GetResource(), action.(clienttesting.CreateAction).GetObject(), ""); err != nil {
			t.Error(err)
		}
		return true, nil, apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	})
}

func TestARequestThatTimedOutMayHaveHadItsEffect(t *testing.T) {
	applier, client := newFake()
	timeOutOnce(t, client)
	if err := applier.Create(context.Background(), crd("a")); err != nil {
		t.Errorf("create: %v", err)
	}
	applier, client = newFake()
	timeOutOnce(t, client)
	created, err := applier.CreateRetrying(context.Background(), crd("a"))
	if err != nil || created.GetName() != "a" {
		t.Errorf("create with retries: %v, %v", created, err)
	}
}

func TestCreateRetrying(t *testing.T) {
	cases := map[string]struct {
		err      error
		failures int
		wantErr  string
	}{
		"a webhook that answers at the third try": {err: apierrors.NewInternalError(errors.New("connection refused")), failures: 2},
		"a rejection is final":                    {err: apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("denied")), failures: 1, wantErr: "denied"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			applier, client := newFake()
			calls := 0
			client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				calls++
				if calls <= tc.failures {
					return true, nil, tc.err
				}
				return false, nil, nil
			})
			_, err := applier.CreateRetrying(context.Background(), crd("a"))
			if tc.wantErr == "" {
				if err != nil || calls != tc.failures+1 {
					t.Errorf("got %v after %d calls", err, calls)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) || calls != 1 {
				t.Errorf("got %v after %d calls, want an error with %q after one", err, calls, tc.wantErr)
			}
		})
	}
}

func TestCreateRetryingEndsWithItsContext(t *testing.T) {
	applier, client := newFake()
	client.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("connection refused"))
	})
	cause := errors.New("somebody gave up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := applier.CreateRetrying(ctx, crd("a")); !errors.Is(err, cause) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want both causes", err)
	}
}

func TestWaitForWaitsForAll(t *testing.T) {
	applier, client := newFake()
	ctx := context.Background()
	a, b := crd("a"), crd("b")
	if err := applier.Create(ctx, a, b, crd("other")); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- applier.WaitFor(ctx, HasCondition("Established"), a, b) }()
	establish := func(object *unstructured.Unstructured) {
		object = object.DeepCopy()
		object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
		if _, err := client.Resource(crds).Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}
	establish(a)
	select {
	case err := <-done:
		t.Fatalf("the wait ended with %v while b is not established", err)
	case <-time.After(100 * time.Millisecond):
	}
	establish(b)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWaitForNamesWhatIsMissing(t *testing.T) {
	applier, _ := newFake()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := applier.WaitFor(ctx, HasCondition("Established"), crd("a"))
	if err == nil || !strings.Contains(err.Error(), "failed to wait for CustomResourceDefinition [a]") {
		t.Errorf("got %v", err)
	}
}

func TestHasCondition(t *testing.T) {
	object := func(conditionType, status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": conditionType, "status": status},
		}}}}
	}
	cases := map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"true":          {object: object("Ready", "True"), want: true},
		"false":         {object: object("Ready", "False")},
		"another one":   {object: object("Active", "True")},
		"no status yet": {object: crd("a")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := HasCondition("Ready")(tc.object); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
