// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/repo"
)

// writeModules makes a checkout with the two tool modules.
func writeModules(t *testing.T, kubernetes, kwok string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{"kubernetes": kubernetes, "kwok": kwok} {
		dir := filepath.Join(root, "hack", "controlplane", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, data := range map[string]string{"go.mod": content, "go.sum": "sums of " + name + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

const (
	kubernetesMod = "module a\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.6.13 // indirect\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n"
	kwokMod       = "module b\n\nrequire sigs.k8s.io/kwok v0.8.0 // indirect\n"
)

func TestVersions(t *testing.T) {
	cases := map[string]struct {
		kubernetes, kwok string
		want             Versions
		wantErr          string
	}{
		"all pinned": {
			kubernetes: kubernetesMod, kwok: kwokMod,
			want: Versions{Kubernetes: "v1.36.3", Etcd: "v3.6.13", Kwok: "v0.8.0"},
		},
		"a module is not required": {
			kubernetes: kubernetesMod, kwok: "module b\n",
			wantErr: "does not require sigs.k8s.io/kwok",
		},
		"a file that is no go.mod": {
			kubernetes: "modul a\n", kwok: kwokMod,
			wantErr: "failed to parse the pinned versions",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			modules, err := readToolModules(writeModules(t, tc.kubernetes, tc.kwok))
			var got Versions
			if err == nil {
				got, err = modules.versions()
			}
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("versions (-want,+got):\n%s", diff)
			}
		})
	}
}

// TestPinnedVersions reads the real tool modules: a program that they no longer
// pin would be noticed only minutes into a build.
func TestPinnedVersions(t *testing.T) {
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := readToolModules(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := modules.versions(); err != nil {
		t.Error(err)
	}
}

func TestCacheKey(t *testing.T) {
	key := func(root, goVersion, platform string) string {
		t.Helper()
		modules, err := readToolModules(root)
		if err != nil {
			t.Fatal(err)
		}
		versions, err := modules.versions()
		if err != nil {
			t.Fatal(err)
		}
		return cacheKey(versions, goVersion, platform, modules, buildSteps(modules, versions))
	}
	base := key(writeModules(t, kubernetesMod, kwokMod), "go1.26.8", "linux-amd64")
	if want := "kubernetes-v1.36.3_etcd-v3.6.13_kwok-v0.8.0_go1.26.8_linux-amd64_"; !strings.HasPrefix(base, want) {
		t.Errorf("key is %q, want the prefix %q", base, want)
	}
	if other := key(writeModules(t, kubernetesMod, kwokMod), "go1.26.8", "linux-amd64"); other != base {
		t.Errorf("a second checkout has the key %q, want %q", other, base)
	}
	different := map[string]string{
		"another Go":         key(writeModules(t, kubernetesMod, kwokMod), "go1.27.0", "linux-amd64"),
		"another platform":   key(writeModules(t, kubernetesMod, kwokMod), "go1.26.8", "linux-arm64"),
		"another version":    key(writeModules(t, strings.ReplaceAll(kubernetesMod, "v1.36.3", "v1.36.4"), kwokMod), "go1.26.8", "linux-amd64"),
		"another dependency": key(writeModules(t, kubernetesMod, kwokMod+"\nrequire example.com/x v1.0.0\n"), "go1.26.8", "linux-amd64"),
	}
	for name, got := range different {
		if got == base {
			t.Errorf("%s has the same key", name)
		}
	}
}

func TestKubernetesLDFlags(t *testing.T) {
	got := kubernetesLDFlags("v1.36.3")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, want := range []string{".gitVersion=v1.36.3", ".gitMajor=1", ".gitMinor=36"} {
			if !strings.Contains(got+" ", "-X "+pkg+want+" ") {
				t.Errorf("flags %q lack %s%s", got, pkg, want)
			}
		}
	}
}

func TestHasLine(t *testing.T) {
	cases := map[string]struct {
		out, want string
		match     bool
	}{
		"the whole line":                {out: "Kubernetes v1.36.3\n", want: "Kubernetes v1.36.3", match: true},
		"more behind a space":           {out: "kwok version v0.8.0 go1.26\n", want: "kwok version v0.8.0", match: true},
		"one of several lines":          {out: "etcd Version: 3.6.13\nGit SHA: x\n", want: "etcd Version: 3.6.13", match: true},
		"a version that starts like it": {out: "Kubernetes v1.36.30\n", want: "Kubernetes v1.36.3"},
		"no output":                     {want: "Kubernetes v1.36.3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := hasLine(tc.out, tc.want); got != tc.match {
				t.Errorf("got %t, want %t", got, tc.match)
			}
		})
	}
}

func TestCacheRoot(t *testing.T) {
	t.Setenv(CacheEnv, "/somewhere/else")
	if got, err := CacheRoot(); err != nil || got != "/somewhere/else" {
		t.Errorf("got %q and error %v, want /somewhere/else", got, err)
	}
	t.Setenv(CacheEnv, "relative")
	if _, err := CacheRoot(); err == nil || !strings.Contains(err.Error(), CacheEnv) {
		t.Errorf("got error %v, want one that names %s", err, CacheEnv)
	}
	t.Setenv(CacheEnv, "")
	t.Setenv("XDG_CACHE_HOME", "/users/cache")
	if got, err := CacheRoot(); err != nil || filepath.Base(got) != "kueue-fleet" {
		t.Errorf("got %q and error %v, want a folder named kueue-fleet", got, err)
	}
}
