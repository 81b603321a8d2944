// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/repo"
)

var update = flag.Bool("update", false, "write the generated part of docs/compatibility.md instead of checking it")

// The areas, by the names that the list of allowed differences uses.
const (
	areaFlags          = "flags"
	areaGates          = "gates"
	areaConfigurations = "configurations"
	areaMistakes       = "mistakes"
	areaManifests      = "manifests"
	areaMarkers        = "markers"
	areaProbes         = "probes"
	areaWebhooks       = "webhooks"
	areaScenario       = "scenario"
	areaMetrics        = "metrics"
	areaRequests       = "requests"
	areaLog            = "log"
	areaVersion        = "version"
	areaLife           = "life"
)

// areas are in the order of the page.
var areas = []struct{ name, title, looked string }{
	{areaFlags, "Flags", "`--help`: name, type, default and usage of each flag, and the exit code"},
	{areaGates, "Feature gates", "name, default and stage, from what the log says with no gate set and with all alpha or all beta gates switched"},
	{areaConfigurations, "Configuration files", "every sample in upstream's module and some of ours: taken or refused, and what it reads as with all defaults filled in"},
	{areaMistakes, "Mistakes", "bad configuration files, gates, kubeconfigs and flags: exit code and message"},
	{areaManifests, "Installation", "`config/default` of both trees, rendered: CRDs, roles, webhook configurations, the Deployment, …"},
	{areaMarkers, "Markers", "roles and webhook configurations generated from both sources (ours with our packages), rule by rule"},
	{areaProbes, "Probes and access to metrics", "status and body of the health and ready endpoints before and after the manager is ready; the metrics endpoint with and without rights"},
	{areaWebhooks, "Webhooks", "every path of upstream's webhook configurations, the conversion webhook and unknown paths: the answer to broken and to small good reviews"},
	{areaScenario, "Life of a job", "a Job and a RayJob through a queue: suspended, admitted, evicted; their Workloads' conditions, finalizers and labels"},
	{areaMetrics, "Metrics", "name, type, labels and help of each family after that"},
	{areaRequests, "Requests to the API server", "what the manager lists and watches under upstream's own roles, and what it is denied"},
	{areaLog, "Log of the start", "the messages of the logger `setup`"},
	{areaVersion, "Version", "the log's first line and the user agent"},
	{areaLife, "Lease and end", "the name of the lease, held and free; the exit code after SIGTERM"},
}

// TestDropIn runs upstream's manager and ours as programs and compares what they
// show. What differs has to be on the list of allowed differences and on the
// compatibility page.
func TestDropIn(t *testing.T) {
	// The test environment's own log says nothing that its errors don't.
	ctrllog.SetLogger(logr.Discard())
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, root)
	found := s.collect(t)
	if t.Failed() {
		t.Fatal("not everything could be looked at: no comparison")
	}

	var results []Result
	for _, area := range areas {
		t.Run(area.name, func(t *testing.T) {
			upstream, ours := found[0][area.name], found[1][area.name]
			if len(upstream) == 0 {
				t.Fatal("nothing of upstream was looked at")
			}
			differences := Compare(area.name, upstream, ours)
			explained, problems := Judge(area.name, differences, allowedDifferences())
			for _, problem := range problems {
				t.Error(problem)
			}
			results = append(results, Result{Title: area.title, Looked: area.looked, Upstream: len(upstream), Allowed: explained})
		})
	}
	if t.Failed() || len(results) < len(areas) {
		return
	}
	page := Page(results)
	t.Logf("upstream %s, ours %s\n%s", s.programs[0].version, s.programs[1].version, page)
	checkPage(t, filepath.Join(root, "docs", "compatibility.md"), page)
}

// collect looks at both programs in every area. They run one after the other:
// both would want to lead.
func (s *session) collect(t *testing.T) [2]map[string]Facts {
	ctx := t.Context()
	binaries, err := controlplane.Ensure(ctx, s.repoRoot, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	controllerGen, err := managertest.BuildControllerGen(ctx, s.repoRoot, s.tools)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := managertest.RayDefinitions(ctx, s.repoRoot)
	if err != nil {
		t.Fatal(err)
	}
	installation, err := managertest.Render(filepath.Join(s.upstream, "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	patched, err := managertest.Render(filepath.Join(s.patched, "config", "default"))
	if err != nil {
		t.Fatal(err)
	}

	var found [2]map[string]Facts
	var known Facts
	for i, p := range s.programs {
		t.Run("look at "+p.name, func(t *testing.T) {
			facts := s.observe(t, p, binaries.Dir, installation, definitions, known)
			facts[areaFlags] = s.flags(t, p)
			facts[areaGates] = s.gates(t, p)
			facts[areaConfigurations] = s.configurations(t, p)
			facts[areaMistakes] = s.mistakes(t, p)
			facts[areaMarkers] = s.markers(t, p, controllerGen)
			found[i] = facts
			for _, area := range areas {
				t.Logf("%s: %d facts", area.name, len(facts[area.name]))
			}
		})
		if found[i] == nil {
			return found
		}
		known = found[i][areaMetrics]
	}
	found[0][areaManifests], found[1][areaManifests] = manifests(t, installation), manifests(t, patched)
	return found
}

// checkPage compares the generated part of the page, or writes it.
func checkPage(t *testing.T, path, generated string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Splice(string(data), generated)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	switch {
	case want == string(data):
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not up to date: run `go test ./test/dropin -update` and commit it; its generated part should be:\n%s", path, strings.TrimSpace(generated))
	}
}
