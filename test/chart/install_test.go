// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	sigsyaml "sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/managertest"
)

// TestManagerRunsUnderTheChartsRoles installs what the chart renders on a real API
// server and runs the manager as its Deployment says, under its ServiceAccount and
// the rights that the chart gives it.
func TestManagerRunsUnderTheChartsRoles(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	ctx := t.Context()
	c := newCharts(t)
	jobs, err := managertest.ReadFolder(filepath.Join(c.root, "test", "dropin", "testdata", "scenario"))
	if err != nil {
		t.Fatal(err)
	}
	manager := c.startOurs(ctx, t, "--set", "fleet.image.repository="+ourImage, "--set", "fleet.readiness.enabled=true")
	if err := manager.AdmitJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	if denied := manager.Denied(); len(denied) > 0 {
		t.Errorf("the API server denied %v", denied)
	}
	for _, want := range []string{`"Starting kueue-fleet"`, "timeout: 30m0s", "recoveryTimeout: 5m0s"} {
		if !strings.Contains(strings.ReplaceAll(strings.Join(manager.Log(), "\n"), `\n`, "\n"), want) {
			t.Errorf("the manager's log doesn't say %s", want)
		}
	}
}

// startOurs renders our chart with the flags for its values and runs the manager of
// its Deployment.
func (c charts) startOurs(ctx context.Context, t *testing.T, values ...string) *managertest.Installed {
	t.Helper()
	rendered := append(slices.Collect(maps.Values(c.render(t, c.ours, values...))), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": managertest.Namespace},
	}})
	definitions, err := managertest.RayDefinitions(ctx, c.root)
	if err != nil {
		t.Fatal(err)
	}
	binaries, err := controlplane.Ensure(ctx, c.root, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	manager, err := managertest.StartInstalled(ctx, binaries.Dir, program(t, c.root), t.TempDir(), rendered, definitions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := manager.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return manager
}

// TestSwapAndRollBack takes a release of upstream's chart to ours and back, with
// helm and on a real API server. Nothing may be made anew on the way: an object
// that is deleted and created loses what hangs on it.
func TestSwapAndRollBack(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	c := newCharts(t)
	binaries, err := controlplane.Ensure(t.Context(), c.root, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: binaries.Dir, ControlPlaneStartTimeout: 2 * time.Minute}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "KUBECONFIG="+kubeconfig)
	admin, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	helm := func(args ...string) string {
		t.Helper()
		out, err := c.run(t, append(args, "--namespace", managertest.Namespace)...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}

	helm("install", "kueue", c.upstream, "--create-namespace", "--set", "enableVisibilityAPF=true")
	before := c.state(t, admin)
	if len(before.uids) < 60 {
		t.Fatalf("the release has %d objects, want upstream's whole installation", len(before.uids))
	}

	// An operator keeps the release's values and names the new image.
	helm("upgrade", "kueue", c.ours, "--reuse-values", "--set", "fleet.image.repository="+ourImage, "--set", "fleet.priorityClasses.queue=true")
	swapped := c.state(t, admin)
	if want := ourImage + ":v0.19.2-fleet.1"; swapped.image != want {
		t.Errorf("image %s after the swap, want %s", swapped.image, want)
	}
	var added []string
	for name := range swapped.uids {
		if _, known := before.uids[name]; !known {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	if diff := cmp.Diff([]string{"ClusterRole /kueue-fleet-manager-role", "ClusterRoleBinding /kueue-fleet-manager-rolebinding", "WorkloadPriorityClass /q0", "WorkloadPriorityClass /q1", "WorkloadPriorityClass /q2"}, added); diff != "" {
		t.Errorf("unexpected new objects (-want,+got):\n%s", diff)
	}
	for name, uid := range before.uids {
		if swapped.uids[name] != uid {
			t.Errorf("%s was made anew by the swap", name)
		}
	}
	if !strings.Contains(helm("list"), "kueue-fleet-0.19.2-fleet.1") {
		t.Error("helm list doesn't say which chart is installed")
	}

	helm("rollback", "kueue")
	after := c.state(t, admin)
	if diff := cmp.Diff(before.uids, after.uids); diff != "" {
		t.Errorf("the objects after going back differ from those before the swap (-before,+after):\n%s", diff)
	}
	if diff := cmp.Diff(before.image, after.image); diff != "" {
		t.Errorf("unexpected image after going back (-want,+got):\n%s", diff)
	}
	leftover := &unstructured.Unstructured{}
	leftover.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	leftover.SetKind("WorkloadPriorityClass")
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "q0"}, leftover); !apierrors.IsNotFound(err) {
		t.Errorf("the priority q0 is still there after going back: %v", err)
	}
	t.Logf("%d objects of upstream's kept their identity through swap and rollback", len(before.uids))
}

// state is what a release has in the cluster.
type state struct {
	uids  map[string]string
	image string
}

// state reads the objects of the release's manifest from the API server.
func (c charts) state(t *testing.T, admin client.Client) state {
	t.Helper()
	manifest, err := c.run(t, "get", "manifest", "kueue", "--namespace", managertest.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	s := state{uids: map[string]string{}}
	for document := range strings.SplitSeq(manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := sigsyaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatalf("failed to read %s of the release: %v", key(object), err)
		}
		s.uids[key(object)] = string(object.GetUID())
		if key(object) == deployment {
			s.image = fmt.Sprint(container(map[string]*unstructured.Unstructured{deployment: object}, "image"))
		}
	}
	return s
}
