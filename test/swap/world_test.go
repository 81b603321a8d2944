// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package swap

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/repo"
)

// world is a cluster of 4 CPUs with managers.
type world struct {
	plane *managertest.Plane
	// rendered is upstream's installation, fleet the same with the gates of ours on.
	rendered, fleet []*unstructured.Unstructured
	webhooks        *service
	watcher         *watcher
	// programs are upstream's manager and ours.
	upstream, ours string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ctrllog.SetLogger(logr.Discard())
	ctx := t.Context()
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{webhooks: &service{}, ours: os.Getenv("KUEUE_FLEET_BIN")}
	if w.ours == "" {
		w.ours = filepath.Join(root, "bin", "kueue-fleet")
	}
	if _, err := os.Stat(w.ours); err != nil {
		t.Fatalf("our manager is missing: build it with `make build`, or set KUEUE_FLEET_BIN to where it is: %v", err)
	}
	module, err := managertest.FindUpstream(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	if w.upstream, err = managertest.BuildUpstream(ctx, module, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if w.rendered, err = managertest.Render(filepath.Join(module.Dir, "config", "default")); err != nil {
		t.Fatal(err)
	}
	rights, err := managertest.ReadFolder(filepath.Join(root, "charts", "kueue-fleet", "rbac"))
	if err != nil {
		t.Fatal(err)
	}
	w.rendered = append(w.rendered, rights[0], bound(rights[0].GetName()))
	for _, object := range w.rendered {
		w.fleet = append(w.fleet, object.DeepCopy())
	}
	withGates(t, w.rendered, "ElasticJobsViaWorkloadSlices", "ElasticJobsViaWorkloadSlicesWithTAS")
	withGates(t, w.fleet, "ElasticJobsViaWorkloadSlices", "ElasticJobsViaWorkloadSlicesWithTAS", "FleetWorkgroup")
	definitions, err := managertest.RayDefinitions(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	binaries, err := controlplane.Ensure(ctx, root, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if w.plane, err = managertest.StartPlane(ctx, binaries.Dir, w.rendered, definitions); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	w.webhooks.listen(t, w.plane.WebhookPort)
	watching, err := client.NewWithWatch(w.plane.AdminConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.watcher = newWatcher(t, watching)
	return w
}

// bound gives the manager's account the rights that our features need.
func bound(role string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": role},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "kueue-controller-manager", "namespace": managertest.Namespace}},
	}}
}

// withGates turns gates on in a manager's configuration.
func withGates(t *testing.T, rendered []*unstructured.Unstructured, gates ...string) {
	t.Helper()
	const key = "controller_manager_config.yaml"
	for _, object := range rendered {
		text, found, _ := unstructured.NestedString(object.Object, "data", key)
		if !found {
			continue
		}
		text += "\nfeatureGates:\n  " + strings.Join(gates, ": true\n  ") + ": true\n"
		if err := unstructured.SetNestedField(object.Object, text, "data", key); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no object has the key %s", key)
}

// start runs a manager beside those that run, as an installation says.
func (w *world) start(t *testing.T, program string, rendered []*unstructured.Unstructured) (manager *managertest.Installed, webhookPort int) {
	t.Helper()
	port, err := managertest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if manager, err = managertest.StartOn(t.Context(), w.plane, port, program, t.TempDir(), rendered); err != nil {
		t.Fatal(err)
	}
	if err := manager.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return manager, port
}

// job asks for pods of 1 CPU.
func (w *world) job(t *testing.T, name string, pods int64, annotations map[string]any) {
	t.Helper()
	job := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{
			"name": name, "namespace": "default", "labels": map[string]any{"kueue.x-k8s.io/queue-name": "queue"}, "annotations": annotations,
		},
		"spec": map[string]any{"parallelism": pods, "completions": int64(10), "template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never",
			"containers":    []any{map[string]any{"name": "c", "image": "c", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}},
		}}},
	}}
	if err := w.plane.Admin.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
}

// finish ends a job as the job controller would.
func (w *world) finish(t *testing.T, name string) {
	t.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions []string
	for _, kind := range []string{"SuccessCriteriaMet", "Complete"} {
		conditions = append(conditions, fmt.Sprintf(`{"type":%q,"status":"True","lastTransitionTime":%q}`, kind, now))
	}
	patch := fmt.Sprintf(`{"status":{"startTime":%[1]q,"completionTime":%[1]q,"succeeded":10,"conditions":[%[2]s]}}`, now, strings.Join(conditions, ","))
	job := &unstructured.Unstructured{}
	job.SetAPIVersion("batch/v1")
	job.SetKind("Job")
	job.SetNamespace("default")
	job.SetName(name)
	if err := w.plane.Admin.Status().Patch(t.Context(), job, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatalf("failed to finish %s: %v", name, err)
	}
}

// facts are what must not change by a swap: each Workload's identity, job, grant and
// conditions.
func (w *world) facts(ctx context.Context) (states, full map[string]string, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(workloads)
	if err := w.plane.Admin.List(ctx, list, client.InNamespace("default")); err != nil {
		return nil, nil, err
	}
	states, full = map[string]string{}, map[string]string{}
	for _, wl := range list.Items {
		conditions := conditionsOf(&wl)
		state := "pending"
		active, found, _ := unstructured.NestedBool(wl.Object, "spec", "active")
		switch {
		case conditions["Finished"] == "True":
			state = "finished"
		case found && !active && conditions["Evicted"] == "True":
			// Before that, the manager hasn't seen it.
			state = "deactivated"
		case conditions["Admitted"] == "True":
			state = "admitted"
		}
		name := jobOf(&wl)
		states[name] = state
		since := []string{}
		raw, _, _ := unstructured.NestedSlice(wl.Object, "status", "conditions")
		for _, condition := range raw {
			fields, _ := condition.(map[string]any)
			if fields["status"] == "True" {
				since = append(since, fmt.Sprint(fields["type"], " since ", fields["lastTransitionTime"]))
			}
		}
		slices.Sort(since)
		full[name] = fmt.Sprintf("%s %s %d CPU, %s", state, wl.GetUID(), cpus(&wl), strings.Join(since, ", "))
	}
	return states, full, nil
}

// wait waits until the jobs are in the states, and returns all that is known of them.
func (w *world) wait(t *testing.T, manager *managertest.Installed, want map[string]string) map[string]string {
	t.Helper()
	var states, full map[string]string
	err := manager.Until(t.Context(), "the jobs", func(ctx context.Context) (bool, error) {
		var err error
		states, full, err = w.facts(ctx)
		return maps.Equal(want, states), err
	})
	if err != nil {
		t.Fatalf("the jobs are not as they should be (-want,+got):\n%s%v", cmp.Diff(want, states), err)
	}
	return full
}

// leader waits until a manager leads that didn't before.
func (w *world) leader(t *testing.T, manager *managertest.Installed, terms int) {
	t.Helper()
	err := manager.Until(t.Context(), "the leader", func(context.Context) (bool, error) { return len(w.watcher.leaders()) >= terms, nil })
	if err != nil {
		t.Fatalf("the leaders were %v, want %d terms: %v", w.watcher.leaders(), terms, err)
	}
}
