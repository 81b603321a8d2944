// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
)

// manifestsVariable names a folder with RayJobs from elsewhere.
const manifestsVariable = "KUEUE_FLEET_MANIFESTS"

// TestManifestsFromElsewhere runs RayJobs as they are: nothing in them is
// changed, and the ConfigMaps and claims that they mount are made for them.
// Each is expected to be admitted, to do its work and to end. Jobs whose groups
// are admitted on their own are left out; they have a feature of their own.
func TestManifestsFromElsewhere(t *testing.T) {
	dir := os.Getenv(manifestsVariable)
	if dir == "" {
		t.Skipf("%s names no folder with manifests", manifestsVariable)
	}
	p := findPrograms(t)
	rounds := findJobs(t, dir)
	for i, jobs := range rounds {
		t.Run(fmt.Sprintf("round %d", i+1), func(t *testing.T) {
			work := t.TempDir()
			stateDir := filepath.Join(work, "state")
			file := filepath.Join(work, "elsewhere.yaml")
			var text strings.Builder
			text.WriteString("title: RayJobs from elsewhere, as they are\ntimeout: 4m\njobs:\n")
			for _, j := range jobs {
				t.Logf("%s: RayJob %s", filepath.Base(j.file), j.name)
				fmt.Fprintf(&text, "  - {name: %s, file: %q, work: {phases: [{items: %d, duration: 20s, workers: %d}, {items: 1, duration: 5s}]}}\n", j.name, j.file, 2*j.max, j.min)
			}
			text.WriteString("checks:\n")
			for _, j := range jobs {
				fmt.Fprintf(&text, "  - {name: %s runs, sequence: [{job: %s, state: admitted}, {job: %s, state: running}, {job: %s, state: succeeded}]}\n", j.name, j.name, j.name, j.name)
				if j.max > j.min {
					fmt.Fprintf(&text, "  - {name: %s grows, sequence: [{job: %s, state: running, workers: 1}, {job: %s, state: running, workers: 2}]}\n", j.name, j.name, j.name)
				}
			}
			if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			run := start(t, p.run(stateDir, file))
			if code := run.wait(); code != 0 {
				t.Errorf("exited with %d", code)
			}
			if !regexp.MustCompile(`(?m)^elsewhere on .* checks passed, 0 invariants broken$`).MatchString(run.text()) {
				t.Error("the output lacks a verdict without violations")
			}
		})
	}
}

type foundJob struct {
	file, name string
	// min and max are the sizes of its only group; min is the workers that an
	// item takes.
	min, max int64
}

// findJobs sorts the jobs of a folder into rounds without two of one name.
func findJobs(t *testing.T, dir string) [][]foundJob {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no manifest: %v", dir, err)
	}
	var rounds [][]foundJob
	for _, file := range files {
		objects, err := manifests.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if object.GroupVersionKind() != rayv1.GroupVersion.WithKind("RayJob") || object.GetAnnotations()["ray/kueue-admission-scope"] != "" {
				t.Logf("%s is left out: %s %s", filepath.Base(file), object.GetKind(), object.GetName())
				continue
			}
			rounds = place(rounds, newFoundJob(t, file, object))
		}
	}
	return rounds
}

func newFoundJob(t *testing.T, file string, object *unstructured.Unstructured) foundJob {
	t.Helper()
	groups, _, err := unstructured.NestedSlice(object.Object, "spec", "rayClusterSpec", "workerGroupSpecs")
	if err != nil || len(groups) != 1 {
		t.Fatalf("%s has %d worker groups: %v", file, len(groups), err)
	}
	group := groups[0].(map[string]any)
	most, least := number(group["maxReplicas"]), number(group["minReplicas"])
	if most < 1 {
		t.Fatalf("%s: maxReplicas is %v", file, group["maxReplicas"])
	}
	return foundJob{file: file, name: object.GetName(), min: max(least, 1), max: most}
}

// number is a number of a manifest, whichever type its decoder gave it.
func number(value any) int64 {
	switch n := value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func place(rounds [][]foundJob, j foundJob) [][]foundJob {
	for i := range rounds {
		if !slices.ContainsFunc(rounds[i], func(other foundJob) bool { return other.name == j.name }) {
			rounds[i] = append(rounds[i], j)
			return rounds
		}
	}
	return append(rounds, []foundJob{j})
}
