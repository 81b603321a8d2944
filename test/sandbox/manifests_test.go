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
// Each is expected to be admitted, to do its work and to end.
func TestManifestsFromElsewhere(t *testing.T) {
	for i, jobs := range findJobs(t, false) {
		t.Run(fmt.Sprintf("round %d", i+1), func(t *testing.T) {
			var text strings.Builder
			text.WriteString("title: RayJobs from elsewhere, as they are\ntimeout: 4m\njobs:\n")
			for _, j := range jobs {
				g := j.groups[0]
				if len(j.groups) != 1 || g.max < 1 {
					t.Fatalf("%s has the groups %+v, want one with workers", j.file, j.groups)
				}
				fmt.Fprintf(&text, "  - {name: %s, file: %q, work: {phases: [{items: %d, duration: 20s, workers: %d}, {items: 1, duration: 5s}]}}\n", j.name, j.file, 2*g.max, max(g.min, 1))
			}
			text.WriteString("checks:\n")
			for _, j := range jobs {
				fmt.Fprintf(&text, "  - {name: %s runs, sequence: [{job: %s, state: admitted}, {job: %s, state: running}, {job: %s, state: succeeded}]}\n", j.name, j.name, j.name, j.name)
				if g := j.groups[0]; g.max > max(g.min, 1) {
					fmt.Fprintf(&text, "  - {name: %s grows, sequence: [{job: %s, state: running, workers: 1}, {job: %s, state: running, workers: 2}]}\n", j.name, j.name, j.name)
				}
			}
			runElsewhere(t, jobs, text.String())
		})
	}
}

// TestWorkgroupManifestsFromElsewhere does the same with the RayJobs whose groups
// are admitted on their own. The head and every group are expected to run, the
// elastic ones with as many workers as they may have.
func TestWorkgroupManifestsFromElsewhere(t *testing.T) {
	for i, jobs := range findJobs(t, true) {
		t.Run(fmt.Sprintf("round %d", i+1), func(t *testing.T) {
			var text strings.Builder
			text.WriteString("title: RayJobs with worker groups from elsewhere, as they are\ntimeout: 4m\nmanager: {fleetGates: {FleetWorkgroup: true}}\njobs:\n")
			for _, j := range jobs {
				var phases []string
				upscale := int64(1)
				for _, g := range j.groups {
					phases = append(phases, fmt.Sprintf("{name: %s, group: %s, items: %d, duration: 20s}", g.name, g.name, 3*g.max))
					upscale = max(upscale, g.max)
				}
				fmt.Fprintf(&text, "  - {name: %s, file: %q, work: {upscale: %d, phases: [%s]}}\n", j.name, j.file, upscale, strings.Join(phases, ", "))
			}
			text.WriteString("checks:\n")
			for _, j := range jobs {
				for _, g := range append(slices.Clone(j.groups), foundGroup{name: "head", max: 1}) {
					fmt.Fprintf(&text, "  - {name: group %s of %s runs, sequence: [{job: %s, group: %s, state: running, workers: %d}, {job: %s, state: succeeded}]}\n", g.name, j.name, j.name, g.name, g.max, j.name)
				}
				fmt.Fprintf(&text, "  - {name: nothing is left of %s, nothingLeft: {job: %s}}\n", j.name, j.name)
			}
			runElsewhere(t, jobs, text.String())
		})
	}
}

// runElsewhere plays a scenario and wants it to hold.
func runElsewhere(t *testing.T, jobs []foundJob, text string) {
	t.Helper()
	for _, j := range jobs {
		t.Logf("%s: RayJob %s", filepath.Base(j.file), j.name)
	}
	work := t.TempDir()
	file := filepath.Join(work, "elsewhere.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	run := start(t, findPrograms(t).run(filepath.Join(work, "state"), file))
	if code := run.wait(); code != 0 {
		t.Errorf("exited with %d", code)
	}
	if !regexp.MustCompile(`(?m)^elsewhere on .* checks passed, 0 invariants broken$`).MatchString(run.text()) {
		t.Error("the output lacks a verdict without violations")
	}
}

type foundJob struct {
	file, name string
	groups     []foundGroup
}

// foundGroup is a worker group with its sizes.
type foundGroup struct {
	name     string
	min, max int64
}

// findJobs sorts the jobs of the folder, with worker groups that are admitted on
// their own or without, into rounds without two of one name. Without a folder it
// skips the test.
func findJobs(t *testing.T, ownGroups bool) [][]foundJob {
	t.Helper()
	dir := os.Getenv(manifestsVariable)
	if dir == "" {
		t.Skipf("%s names no folder with manifests", manifestsVariable)
	}
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
			if object.GroupVersionKind() != rayv1.GroupVersion.WithKind("RayJob") || (object.GetAnnotations()["ray/kueue-admission-scope"] != "") != ownGroups {
				continue
			}
			rounds = place(rounds, newFoundJob(t, file, object))
		}
	}
	if len(rounds) == 0 {
		t.Fatalf("%s has no RayJob of this kind", dir)
	}
	return rounds
}

func newFoundJob(t *testing.T, file string, object *unstructured.Unstructured) foundJob {
	t.Helper()
	groups, _, err := unstructured.NestedSlice(object.Object, "spec", "rayClusterSpec", "workerGroupSpecs")
	if err != nil || len(groups) == 0 {
		t.Fatalf("%s has %d worker groups: %v", file, len(groups), err)
	}
	found := foundJob{file: file, name: object.GetName()}
	for i := range groups {
		group := groups[i].(map[string]any)
		name, _, _ := unstructured.NestedString(group, "groupName")
		found.groups = append(found.groups, foundGroup{name: name, min: number(group["minReplicas"]), max: number(group["maxReplicas"])})
	}
	return found
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
