// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubectl runs the plugin against a real API server, as a user who may read
// and nothing else.
package kubectl

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/repo"
)

// cluster is an API server with testdata/cluster.yaml, and users of it.
type cluster struct {
	env     *envtest.Environment
	admin   client.Client
	program string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	ctrllog.SetLogger(logr.Discard())
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "kubectl-fleet")
	if _, err := managertest.Command(t.Context(), root, nil, "go", "build", "-o", program, "./cmd/kubectl-fleet"); err != nil {
		t.Fatal(err)
	}
	binaries, err := controlplane.Ensure(t.Context(), root, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := managertest.FindUpstream(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: binaries.Dir, ControlPlaneStartTimeout: 2 * time.Minute,
		CRDDirectoryPaths:     []string{filepath.Join(upstream.Dir, "config", "components", "crd", "bases")},
		ErrorIfCRDPathMissing: true, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: time.Minute},
	}
	config, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{env: env, program: program}
	if c.admin, err = client.New(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	c.fill(t)
	return c
}

// fill creates the objects; the status of a node is written by itself.
func (c *cluster) fill(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		status := object.Object["status"]
		if err := c.admin.Create(t.Context(), object); err != nil {
			t.Fatalf("failed to create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if status != nil {
			object.Object["status"] = status
			if err := c.admin.Status().Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			// A new node is tainted until the node controller has seen it ready; there
			// is none here.
			unstructured.RemoveNestedField(object.Object, "spec", "taints")
			if err := c.admin.Update(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// user makes a user who may get and list the resources and nothing else, and
// returns the kubeconfig.
func (c *cluster) user(t *testing.T, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	user, err := c.env.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := c.admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	data, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func reads(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list"}}
}

func TestPlugin(t *testing.T) {
	c := startCluster(t)
	kueueRules := reads("kueue.x-k8s.io", "workloads", "localqueues", "clusterqueues", "cohorts", "resourceflavors", "topologies")
	reader := c.user(t, "reader", kueueRules, reads("", "nodes", "pods", "namespaces"), reads("apps", "deployments"))
	tenant := c.user(t, "tenant", kueueRules)

	run := func(kubeconfig string, args ...string) (string, error) {
		return managertest.Command(t.Context(), t.TempDir(), []string{"KUBECONFIG=" + kubeconfig}, c.program, args...)
	}
	var report struct {
		Workload, Reason, Message string
		WouldFit                  []struct{ Message string }
		Notes                     []string
	}
	explain := func(kubeconfig, name string) {
		t.Helper()
		out, err := run(kubeconfig, "explain", name, "-n", "lab", "-o", "json")
		if err != nil {
			t.Fatal(err)
		}
		report.WouldFit, report.Notes = nil, nil
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}

	// By the name of its job.
	explain(reader, "train")
	if diff := cmp.Diff("lab/rayjob-train-0a1b2: NoRoomOnNodes", report.Workload+": "+report.Reason); diff != "" {
		t.Errorf("unexpected answer (-want,+got):\n%s", diff)
	}
	if want := "8 GPUs are free on 2 nodes, 4 + 4"; !strings.HasSuffix(report.Message, want) {
		t.Errorf("message %q, want one that ends in %q", report.Message, want)
	}
	if len(report.WouldFit) != 1 || report.WouldFit[0].Message != "as 2 × 4 GPUs it would start now" {
		t.Errorf("unexpected shapes %v", report.WouldFit)
	}

	out, err := run(reader, "explain", "rayjob-train-0a1b2", "-n", "lab")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "Would fit  as 2 × 4 GPUs it would start now\n") {
		t.Errorf("the table doesn't say what would fit:\n%s", out)
	}

	// A tenant who sees no nodes gets an answer that says so.
	explain(tenant, "train")
	if want := "you may not read Nodes, Pods, Namespaces: what depends on them is left out or wrong"; len(report.Notes) == 0 || report.Notes[0] != want {
		t.Errorf("notes %q, want %q", report.Notes, want)
	}

	t.Run("board", func(t *testing.T) { checkBoard(t, c, reader, run) })
	t.Run("why-evicted", func(t *testing.T) { checkWhyEvicted(t, c, reader, tenant, run) })

	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a Workload that isn't there":     {[]string{"explain", "other", "-n", "lab"}, `there is no Workload "other" in namespace lab, and no job of that name has one`},
		"nobody to be evicted":            {[]string{"why-evicted", "other", "-n", "lab"}, `there is no Workload "other" in namespace lab, and no job of that name has one`},
		"a board that is drawn too often": {[]string{"board", "--interval", "10ms"}, "invalid --interval 10ms: want 1s or more"},
		"an unknown output":               {[]string{"explain", "train", "-o", "yaml"}, `invalid --output "yaml": want table or json`},
		"a cluster without a manager":     {[]string{"doctor", "--base", "v0.19.2"}, "the cluster is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(reader, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

type runner func(kubeconfig string, args ...string) (string, error)

func checkBoard(t *testing.T, c *cluster, reader string, run runner) {
	out, err := run(reader, "board")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		", 8 GPUs of 16 free on 2 nodes\n", "gpu-0  –       ####····  4", "gpu-1  –       ####····  4", "lab/train  queue  0         8 GPUs",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the board has no %q:\n%s", want, out)
		}
	}
	out, err = run(reader, "board", "-o", "json", "--resource", "cpu")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Resource       string
		Capacity, Free int64
		Nodes          []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &board); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if board.Resource != "cpu" || board.Capacity != 16 || len(board.Nodes) != 2 {
		t.Errorf("unexpected board of another resource: %+v", board)
	}

	// Live: a drawing follows what happens, and an interrupt ends it in order.
	watch := exec.CommandContext(t.Context(), c.program, "board", "--watch", "--interval", "1s")
	watch.Env = append(os.Environ(), "KUBECONFIG="+reader)
	screen := &screen{}
	watch.Stdout = screen
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = watch.Process.Kill() })
	screen.wait(t, "gpu-1  –       ####····  4")
	pod := &unstructured.Unstructured{}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetNamespace("lab")
	pod.SetName("other-1")
	if err := c.admin.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	screen.wait(t, "gpu-1  –       ········  8")
	if err := watch.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := watch.Wait(); err != nil {
		t.Errorf("an interrupted board ended with %v", err)
	}
}

// screen is a terminal that remembers everything.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

// wait waits until the last drawing shows the text.
func (s *screen) wait(t *testing.T, want string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		drawings := strings.Split(s.text.String(), "\x1b[2J")
		last = drawings[len(drawings)-1]
		return strings.Contains(last, want), nil
	})
	if err != nil {
		t.Fatalf("the board doesn't show %q: %v\n%s", want, err, last)
	}
}

func checkWhyEvicted(t *testing.T, c *cluster, reader, tenant string, run runner) {
	train := workload("rayjob-train-0a1b2")
	if err := c.admin.Get(t.Context(), client.ObjectKeyFromObject(train), train); err != nil {
		t.Fatal(err)
	}
	eval := workload("eval")
	spec, _, err := unstructured.NestedMap(train.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	eval.Object["spec"] = spec
	if err := c.admin.Create(t.Context(), eval); err != nil {
		t.Fatal(err)
	}
	message := "Preempted to accommodate a workload (UID: " + string(train.GetUID()) + ", JobUID: 1) due to prioritization in the ClusterQueue; preemptor path: /training; preemptee path: /training"
	eval.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{
			"type": "Evicted", "status": "True", "reason": "Preempted", "message": message, "lastTransitionTime": "2026-05-20T12:00:00Z",
		}},
		"schedulingStats": map[string]any{"evictions": []any{map[string]any{"reason": "Preempted", "underlyingCause": "", "count": int64(2)}}},
	}
	if err := c.admin.Status().Update(t.Context(), eval); err != nil {
		t.Fatal(err)
	}
	out, err := run(reader, "why-evicted", "eval", "-n", "lab")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Evicted   Preempted at 2026-05-20T12:00:00Z\n", "By        lab/rayjob-train-0a1b2, priority 0, by prioritization in the ClusterQueue\n",
		"Now       Pending\n", "Preempted  –      2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the answer has no %q:\n%s", want, out)
		}
	}
	out, err = run(tenant, "why-evicted", "train", "-n", "lab", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Workload, Now string
		Evicted       bool
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if report.Workload != "lab/rayjob-train-0a1b2" || report.Evicted || report.Now != "Pending" {
		t.Errorf("unexpected answer about a Workload that was never evicted: %+v", report)
	}
}

func workload(name string) *unstructured.Unstructured {
	wl := &unstructured.Unstructured{}
	wl.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	wl.SetKind("Workload")
	wl.SetNamespace("lab")
	wl.SetName(name)
	return wl
}
