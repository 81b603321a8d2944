// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/chart"
	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/release"
	"fleet.ai/kueue-fleet/internal/repo"
)

// helm runs the pinned Helm with settings of its own.
type helm struct {
	program string
	env     []string
}

func newHelm(t *testing.T, root string) helm {
	t.Helper()
	program := os.Getenv("HELM_BIN")
	if program == "" {
		program = filepath.Join(root, "bin", "helm")
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("helm is missing: build it with `make bin/helm`, or set HELM_BIN to where it is: %v", err)
	}
	home := t.TempDir()
	return helm{program: program, env: []string{
		"HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home, "HELM_PLUGINS=" + home, "KUBECONFIG=" + filepath.Join(home, "none"),
	}}
}

func (h helm) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return managertest.Command(t.Context(), t.TempDir(), h.env, h.program, args...)
}

// charts are upstream's chart as it is published, and ours as make chart makes it.
type charts struct {
	helm
	root, upstream, ours string
	release              release.Release
}

func newCharts(t *testing.T) charts {
	t.Helper()
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := managertest.FindUpstream(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := release.New(upstream.Version+"-fleet.1", "0123456789ab", "2026-01-02T03:04:05Z", "37@0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	c := charts{helm: newHelm(t, root), root: root, upstream: filepath.Join(upstream.Dir, "charts", "kueue"), release: r}
	c.ours = c.build(t, chart.Checkout(root))
	return c
}

// build packages the chart that the sources make, and returns the package's path.
func (c charts) build(t *testing.T, sources chart.Sources) string {
	t.Helper()
	merged, err := chart.Merge(sources, c.release)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the patched tree is missing: make it with `make vendor`: %v", err)
		}
		t.Fatal(err)
	}
	path, err := merged.Package(t.TempDir(), c.release.Date)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// render returns the objects of a chart. Extra arguments come last.
func (c charts) render(t *testing.T, chart string, args ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	out, err := c.run(t, append([]string{"template", "kueue", chart, "--namespace", managertest.Namespace}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewBufferString(out))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := sigsyaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatalf("failed to read a rendered object: %v\n%s", err, document)
		}
		if len(object.Object) == 0 {
			continue
		}
		if objects[key(object)] != nil {
			t.Errorf("%s is rendered twice", key(object))
		}
		objects[key(object)] = object
	}
}

// key names an object: kind, namespace, name.
func key(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}
