// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/chart"
)

const deployment = "Deployment kueue-system/kueue-controller-manager"

// at returns the field of an object at a path of names and of indexes; nil if there
// is none. A step that is no name of a map and no index in a text decodes it.
func at(object *unstructured.Unstructured, path ...any) any {
	if object == nil {
		return nil
	}
	var value any = object.Object
	for _, step := range path {
		if text, ok := value.(string); ok {
			value = decoded(text)
		}
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[step]
		case int:
			items, _ := value.([]any)
			if step >= len(items) {
				return nil
			}
			value = items[step]
		}
	}
	return value
}

func container(objects map[string]*unstructured.Unstructured, field string) any {
	return at(objects[deployment], "spec", "template", "spec", "containers", 0, field)
}

func managerConfig(objects map[string]*unstructured.Unstructured, field string) any {
	return at(objects["ConfigMap kueue-system/kueue-manager-config"], "data", "controller_manager_config.yaml", field)
}

func TestFleetValues(t *testing.T) {
	c := newCharts(t)
	ray, err := filepath.Abs(filepath.Join("testdata", "values", "ray-training.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	cases := map[string]struct {
		values string
		args   []string
		// got picks what is looked at; want is its YAML.
		got  func(objects map[string]*unstructured.Unstructured) any
		want string
	}{
		"a digest wins over a tag": {
			values: "fleet: {image: {tag: v1, digest: '" + digest + "', pullPolicy: Always}}",
			got: func(o map[string]*unstructured.Unstructured) any {
				return []any{container(o, "image"), container(o, "imagePullPolicy")}
			},
			want: "[" + ourImage + "@" + digest + ", Always]",
		},
		"a gate stands on the command line": {
			values: "fleet: {featureGates: {FleetSecond: false, FleetFirst: true}}",
			got:    func(o map[string]*unstructured.Unstructured) any { return container(o, "args") },
			want:   "[--config=/controller_manager_config.yaml, --zap-log-level=2, '--feature-gates=FleetFirst=true,FleetSecond=false']",
		},
		"a gate joins those of upstream's chart because the flag counts once": {
			values: "fleet: {featureGates: {FleetFirst: true}}\ncontrollerManager: {featureGates: [{name: PartialAdmission, enabled: false}]}",
			got:    func(o map[string]*unstructured.Unstructured) any { return container(o, "args") },
			want:   "[--config=/controller_manager_config.yaml, --zap-log-level=2, '--feature-gates=PartialAdmission=false,FleetFirst=true']",
		},
		"a gate joins those of the configuration file because Kueue takes one place only": {
			values: "fleet: {featureGates: {FleetFirst: true, FleetSecond: false}}",
			args:   []string{"--values", ray},
			got: func(o map[string]*unstructured.Unstructured) any {
				return []any{container(o, "args"), managerConfig(o, "featureGates")}
			},
			want: "[[--config=/controller_manager_config.yaml, --zap-log-level=2], {ElasticJobsViaWorkloadSlicesWithTAS: true, FleetFirst: true, FleetSecond: false}]",
		},
		"the fleet configuration is a mounted file that the flag names": {
			values: "fleet: {config: {maxWindow: 2h}}",
			got: func(o map[string]*unstructured.Unstructured) any {
				args, _ := container(o, "args").([]any)
				mounts, _ := container(o, "volumeMounts").([]any)
				volumes, _ := at(o[deployment], "spec", "template", "spec", "volumes").([]any)
				return []any{args[len(args)-1], mounts[len(mounts)-1], volumes[len(volumes)-1], at(o["ConfigMap kueue-system/kueue-fleet-config"], "data", "config.yaml", "kind"), at(o["ConfigMap kueue-system/kueue-fleet-config"], "data", "config.yaml", "maxWindow")}
			},
			want: "[--fleet-config=/etc/kueue-fleet/config.yaml, {name: fleet-config, mountPath: /etc/kueue-fleet, readOnly: true}, " +
				"{name: fleet-config, configMap: {name: kueue-fleet-config}}, FleetConfiguration, 2h]",
		},
		"the readiness defaults fill a configuration that has none": {
			values: "fleet: {readiness: {enabled: true}}",
			got:    func(o map[string]*unstructured.Unstructured) any { return managerConfig(o, "waitForPodsReady") },
			want: "{timeout: 30m, recoveryTimeout: 5m, blockAdmission: false, " +
				"requeuingStrategy: {timestamp: Eviction, backoffBaseSeconds: 60, backoffMaxSeconds: 600}}",
		},
		"the readiness defaults change no configuration that has its own": {
			values: "fleet: {readiness: {enabled: true}}",
			args:   []string{"--values", ray},
			got:    func(o map[string]*unstructured.Unstructured) any { return managerConfig(o, "waitForPodsReady") },
			want: "{timeout: 20m, recoveryTimeout: 3m, blockAdmission: false, " +
				"requeuingStrategy: {timestamp: Creation, backoffLimitCount: 5, backoffBaseSeconds: 30, backoffMaxSeconds: 900}}",
		},
		"the priorities of the queue": {
			values: "fleet: {priorityClasses: {queue: true}}",
			got: func(o map[string]*unstructured.Unstructured) any {
				var out []any
				for _, name := range []string{"q0", "q1", "q2"} {
					out = append(out, at(o["WorkloadPriorityClass /"+name], "value"))
				}
				return append(out, at(o["PriorityClass /c0"], "value"))
			},
			want: "[20000, 10000, 5000, null]",
		},
		"the priorities of pods": {
			values: "fleet: {priorityClasses: {pod: true}}",
			got: func(o map[string]*unstructured.Unstructured) any {
				var out []any
				for _, name := range []string{"c0", "c1", "c2"} {
					out = append(out, at(o["PriorityClass /"+name], "value"), at(o["PriorityClass /"+name], "preemptionPolicy"))
				}
				return append(out, at(o["WorkloadPriorityClass /q0"], "value"))
			},
			want: "[20000, PreemptLowerPriority, 10000, PreemptLowerPriority, 5000, Never, null]",
		},
		"labels for the ServiceMonitor": {
			values: "enablePrometheus: true\nfleet: {serviceMonitor: {labels: {release: prometheus}}}",
			got: func(o map[string]*unstructured.Unstructured) any {
				labels, _ := at(o["ServiceMonitor kueue-system/kueue-controller-manager-metrics-monitor"], "metadata", "labels").(map[string]any)
				return []any{labels["release"], labels["app.kubernetes.io/name"]}
			},
			want: "[prometheus, kueue]",
		},
		"nothing of ours with fleet off": {
			values: "fleet: {enabled: false, featureGates: {FleetFirst: true}, config: {a: b}, readiness: {enabled: true}, priorityClasses: {queue: true, pod: true}}",
			got: func(o map[string]*unstructured.Unstructured) any {
				return []any{container(o, "args"), managerConfig(o, "waitForPodsReady"), o["PriorityClass /c0"] == nil, o["ConfigMap kueue-system/kueue-fleet-config"] == nil}
			},
			want: "[[--config=/controller_manager_config.yaml, --zap-log-level=2], null, true, true]",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--set", "fleet.image.repository=" + ourImage, "--values", file(t, tc.values)}, tc.args...)
			got := normal(t, tc.got(c.render(t, c.ours, args...)))
			var want any
			if err := sigsyaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("unexpected objects (-want,+got):\n%s", diff)
			}
		})
	}
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// normal gives a value the types that a decoder gives it.
func normal(t *testing.T, value any) any {
	t.Helper()
	data, err := sigsyaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := sigsyaml.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBadValuesAreNamed(t *testing.T) {
	c := newCharts(t)
	cases := map[string]struct {
		values string
		want   []string
	}{
		"no image":                  {"fleet: {image: {repository: ''}}", []string{"fleet.image.repository must be set"}},
		"a tag in the repository":   {"fleet: {image: {repository: 'a/b:v1'}}", []string{"/fleet/image/repository", "a/b:v1"}},
		"a short digest":            {"fleet: {image: {digest: 'sha256:01'}}", []string{"/fleet/image/digest", "sha256:01"}},
		"an unknown pull policy":    {"fleet: {image: {pullPolicy: Sometimes}}", []string{"/fleet/image/pullPolicy", "Always"}},
		"an unknown key":            {"fleet: {featuregates: {}}", []string{"/fleet", "featuregates"}},
		"a gate that is not ours":   {"fleet: {featureGates: {PartialAdmission: true}}", []string{"fleet.featureGates.PartialAdmission: unknown gate: names of kueue-fleet's gates start with Fleet"}},
		"a gate that is no boolean": {"fleet: {featureGates: {FleetFirst: 'on'}}", []string{"/fleet/featureGates/FleetFirst", "boolean"}},
		"a kind in the settings":    {"fleet: {config: {kind: Other}}", []string{"/fleet/config/kind"}},
		"a window without a unit":   {"fleet: {readiness: {timeout: '30'}}", []string{"/fleet/readiness/timeout", "30"}},
		"a backoff of nothing":      {"fleet: {readiness: {backoffBaseSeconds: 0}}", []string{"/fleet/readiness/backoffBaseSeconds", "1"}},
		"a configuration file that can't be read": {
			"managerConfig: {controllerManagerConfigYaml: '{health: '}",
			[]string{"managerConfig.controllerManagerConfigYaml is no YAML"},
		},
		"a backoff that can't grow": {
			"fleet: {readiness: {enabled: true, backoffBaseSeconds: 700}}",
			[]string{"fleet.readiness.backoffMaxSeconds: invalid value 600: must not be less than fleet.readiness.backoffBaseSeconds, 700"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			image := file(t, "fleet: {image: {repository: "+ourImage+"}}")
			_, err := c.run(t, "template", "kueue", c.ours, "--values", image, "--values", file(t, tc.values))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error doesn't say %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestLint(t *testing.T) {
	c := newCharts(t)
	out, err := c.run(t, "lint", "--strict", c.ours, "--set", "fleet.image.repository="+ourImage)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "1 chart(s) linted, 0 chart(s) failed") {
		t.Errorf("unexpected answer:\n%s", out)
	}
}

func TestNotes(t *testing.T) {
	c := newCharts(t)
	cases := map[string]struct {
		args []string
		want []string
	}{
		"ours": {
			[]string{"--set", "fleet.image.repository=" + ourImage, "--set", "fleet.featureGates.FleetFirst=true"},
			[]string{"kueue-fleet v0.19.2-fleet.1 runs in namespace kueue-system: Kueue v0.19.2 with 37 patches (series 37@0123456789ab).", "FleetFirst: true", "helm -n kueue-system rollback kueue"},
		},
		"fleet is off": {
			[]string{"--set", "fleet.enabled=false", "--set", "controllerManager.manager.image.repository=mirror.invalid/kueue"},
			[]string{"Kueue's own manager (mirror.invalid/kueue) runs in namespace kueue-system"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := c.run(t, append([]string{"install", "kueue", c.ours, "--namespace", "kueue-system", "--dry-run=client"}, tc.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			_, notes, _ := strings.Cut(out, "NOTES:")
			for _, want := range tc.want {
				if !strings.Contains(notes, want) {
					t.Errorf("the notes don't say %q:\n%s", want, notes)
				}
			}
		})
	}
}

// The chart carries dashboards, alerts and roles if the checkout has some; these
// are the test's own.
func TestOptionalParts(t *testing.T) {
	c := newCharts(t)
	sources := chart.Checkout(c.root)
	sources.Dashboards = fstest.MapFS{
		"queues.json":        {Data: []byte("{\n  \"title\": \"{{ queue }}\"\n}\n")},
		"alerts/queues.yaml": {Data: []byte("groups:\n- name: queues\n  rules: []\n")},
	}
	overlay := fstest.MapFS{"rbac/role.yaml": {Data: []byte("kind: ClusterRole\nrules:\n- apiGroups: [ray.io]\n  resources: [rayjobs]\n  verbs: [get]\n")}}
	copyInto(t, overlay, filepath.Join(c.root, "charts", "kueue-fleet"))
	sources.Overlay = overlay
	ours := c.build(t, sources)

	values := file(t, "fleet: {alerts: {enabled: true, labels: {rules: 'yes'}, prometheusRule: {enabled: true, labels: {release: mine}}}, dashboards: {enabled: true}}")
	objects := c.render(t, ours, "--set", "fleet.image.repository="+ourImage, "--values", values)
	got := map[string]any{
		"alert":           at(objects["ConfigMap kueue-system/kueue-fleet-alert-queues"], "data", "queues.yaml"),
		"alert label":     at(objects["ConfigMap kueue-system/kueue-fleet-alert-queues"], "metadata", "labels", "rules"),
		"rule":            at(objects["PrometheusRule kueue-system/kueue-fleet-alert-queues"], "spec", "groups", 0, "name"),
		"rule label":      at(objects["PrometheusRule kueue-system/kueue-fleet-alert-queues"], "metadata", "labels", "release"),
		"dashboard":       at(objects["ConfigMap kueue-system/kueue-fleet-dashboard-queues"], "data", "queues.json"),
		"dashboard label": at(objects["ConfigMap kueue-system/kueue-fleet-dashboard-queues"], "metadata", "labels", "grafana_dashboard"),
		"rules":           at(objects["ClusterRole /kueue-fleet-manager-role"], "rules", 0, "resources", 0),
		"bound to":        at(objects["ClusterRoleBinding /kueue-fleet-manager-rolebinding"], "subjects", 0, "name"),
	}
	want := map[string]any{
		"alert":           "groups:\n- name: queues\n  rules: []\n",
		"alert label":     "yes",
		"rule":            "queues",
		"rule label":      "mine",
		"dashboard":       "{\n  \"title\": \"{{ queue }}\"\n}\n",
		"dashboard label": "1",
		"rules":           "rayjobs",
		"bound to":        "kueue-controller-manager",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected objects (-want,+got):\n%s", diff)
	}

	off := c.render(t, ours, "--set", "fleet.image.repository="+ourImage)
	for _, name := range slices.Sorted(maps.Keys(off)) {
		if strings.Contains(name, "fleet-alert") || strings.Contains(name, "fleet-dashboard") {
			t.Errorf("%s is rendered, though nobody asked for it", name)
		}
	}
}

func copyInto(t *testing.T, into fstest.MapFS, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if _, own := into[filepath.ToSlash(rel)]; !own {
			into[filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
