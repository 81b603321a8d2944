// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/csv"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/sandbox/ports"
)

func newTestCluster(t *testing.T) *Cluster {
	t.Helper()
	set := ports.Set{}
	for i, name := range ports.All() {
		set[name] = 21000 + i
	}
	c, err := New(t.TempDir(), set, Binaries{Etcd: "/bin/etcd"}, nil, Settings{}, time.Now(), User{Name: "system:serviceaccount:a:b", Groups: []string{"one", "two"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryAccountHasATokenAndAKubeconfig(t *testing.T) {
	c := newTestCluster(t)
	f, err := os.Open(c.path("tokens.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	reader := csv.NewReader(f)
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, row := range rows {
		token, user := row[0], row[1]
		groups[user] = row[3]
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(user))
		if err != nil {
			t.Fatal(err)
		}
		if config.BearerToken != token || config.Host != "https://127.0.0.1:21002" || len(config.CAData) == 0 {
			t.Errorf("kubeconfig of %s is for %s with token %q, want %q", user, config.Host, config.BearerToken, token)
		}
	}
	want := map[string]string{
		"sandbox-admin": "system:masters", "system:kube-controller-manager": "system:masters", "kwok-controller": "system:masters",
		"system:kube-scheduler": "", "system:serviceaccount:a:b": "one,two",
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("groups by user (-want,+got):\n%s", diff)
	}
}

func TestComponentsListenOnTheLoopbackInterfaceOnly(t *testing.T) {
	c := newTestCluster(t)
	for _, spec := range []struct {
		name string
		args []string
		want []string
	}{
		{"etcd", c.etcd().Args, []string{"http://127.0.0.1:21000", "http://127.0.0.1:21001"}},
		{"kube-apiserver", c.apiServer().Args, []string{"127.0.0.1", "21002"}},
		{"kube-controller-manager", c.controllerManager().Args, []string{"127.0.0.1", "21003"}},
		{"kube-scheduler", c.scheduler().Args, []string{"127.0.0.1", "21004"}},
		{"kwok", c.kwok().Args, []string{"127.0.0.1:21005"}},
	} {
		for _, want := range spec.want {
			if !slices.Contains(spec.args, want) {
				t.Errorf("%s lacks %q: %v", spec.name, want, spec.args)
			}
		}
		if strings.Contains(strings.Join(spec.args, " "), "0.0.0.0") {
			t.Errorf("%s listens everywhere: %v", spec.name, spec.args)
		}
	}
}

// stage has the fields that the sandbox relies on.
type stage struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		ResourceRef struct {
			Kind string `json:"kind"`
		} `json:"resourceRef"`
		Delay struct {
			Duration int `json:"durationMilliseconds"`
			Jitter   int `json:"jitterDurationMilliseconds"`
		} `json:"delay"`
		Next struct {
			Delete   bool   `json:"delete"`
			Template string `json:"statusTemplate"`
		} `json:"next"`
	} `json:"spec"`
}

func TestStages(t *testing.T) {
	got := map[string]string{}
	settings := Settings{WorkerDrain: 1200 * time.Millisecond, HeadDrain: 3 * time.Second}
	drains := map[string][2]int{"sandbox-pod-drains": {900, 1500}, "sandbox-head-drains": {2250, 3750}}
	for _, doc := range strings.Split(settings.stagesFile(), "\n---\n") {
		var s stage
		if err := yaml.Unmarshal([]byte(doc), &s); err != nil {
			t.Fatal(err)
		}
		if s.APIVersion != "kwok.x-k8s.io/v1alpha1" || s.Kind != "Stage" {
			t.Errorf("%s is a %s %s", s.Metadata.Name, s.APIVersion, s.Kind)
		}
		if s.Spec.Next.Delete == (s.Spec.Next.Template != "") {
			t.Errorf("%s must either delete or set a status", s.Metadata.Name)
		}
		got[s.Metadata.Name] = s.Spec.ResourceRef.Kind
		// Draining takes time, so that a test of who holds what means
		// something.
		if got := [2]int{s.Spec.Delay.Duration, s.Spec.Delay.Jitter}; s.Spec.Next.Delete && got != drains[s.Metadata.Name] {
			t.Errorf("%s takes %v ms, want %v", s.Metadata.Name, got, drains[s.Metadata.Name])
		}
	}
	want := map[string]string{"sandbox-node-joins": "Node", "sandbox-pod-starts": "Pod", "sandbox-job-pod-succeeds": "Pod", "sandbox-pod-drains": "Pod", "sandbox-head-drains": "Pod"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stages (-want,+got):\n%s", diff)
	}
}

func TestWaitHTTP(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if calls.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	if err := WaitHTTP(context.Background(), server.URL, "secret", nil); err != nil || calls.Load() != 3 {
		t.Errorf("got %v after %d calls, want success at the third", err, calls.Load())
	}

	cause := errors.New("etcd ended")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	err := WaitHTTP(ctx, server.URL, "wrong", nil)
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("got %v, want the URL and the cause", err)
	}
}
