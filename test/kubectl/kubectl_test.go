// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubectl runs the plugin against a real API server, as a user who may read
// and nothing else.
package kubectl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a Workload that isn't there": {[]string{"explain", "other", "-n", "lab"}, `there is no Workload "other" in namespace lab, and no job of that name has one`},
		"an unknown output":           {[]string{"explain", "train", "-o", "yaml"}, `invalid --output "yaml": want table or json`},
		"a cluster without a manager": {[]string{"doctor", "--base", "v0.19.2"}, "the cluster is not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := run(reader, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
