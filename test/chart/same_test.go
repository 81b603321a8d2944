// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"
)

// ourImage is the one value that has to be set besides upstream's.
const ourImage = "registry.invalid/platform/kueue-fleet"

// difference is one place where two renderings differ.
type difference struct {
	object, path, upstream, ours string
}

func (d difference) String() string {
	return fmt.Sprintf("%s %s: %s -> %s", d.object, d.path, d.upstream, d.ours)
}

// allowed is a difference that is meant.
type allowed struct {
	object, path, why string
	// ours is what our side must be.
	ours string
	// sometimes says that not every set of values brings it out.
	sometimes bool
}

// always are the differences from upstream's chart that don't come from our
// manager: they are there with fleet.enabled=false, too.
var always = []allowed{
	{object: `.*`, path: `.*\.labels\.helm\.sh/chart`, ours: `.*-0\.19\.2-fleet\.1`,
		why: "the label names the version of the chart"},
	{object: `ServiceMonitor .*`, path: `spec\.selector\.matchLabels\.helm\.sh/chart`, ours: `kueue-0\.19\.2-fleet\.1`, sometimes: true,
		why: "it selects the metrics Service by all of that one's labels"},
	{object: `Deployment .*-controller-manager`, path: `spec\.template\.metadata\.annotations\.charts\.kueue\.x-k8s\.io/config-checksum`, ours: `[0-9a-f]{64}`,
		why: "it is a hash over the text of the ConfigMap, whose keys are in another order"},
}

// swapped are those that make the chart ours.
var swapped = append([]allowed{
	{object: `Deployment .*-controller-manager`, path: `spec\.template\.spec\.containers\.0\.image`, ours: regexp.QuoteMeta(ourImage) + `:v0\.19\.2-fleet\.1`,
		why: "the image is ours"},
	{object: `Deployment .*-controller-manager`, path: `spec\.template\.spec\.containers\.0\.imagePullPolicy`, ours: `IfNotPresent`, sometimes: true,
		why: "a tag of ours never moves"},
	{object: `ClusterRole(Binding)? /.*-fleet-manager-role(binding)?`, ours: `there`, sometimes: true,
		why: "rights that our features need"},
}, always...)

// judge returns the differences that are not allowed, and the entries of the list
// that were of use.
func judge(differences []difference, list []allowed) (unexpected []difference, used map[string]bool) {
	used = map[string]bool{}
	for _, d := range differences {
		i := slices.IndexFunc(list, func(a allowed) bool {
			return matches(a.object, d.object) && matches(a.path, d.path) && matches(a.ours, d.ours)
		})
		if i < 0 {
			unexpected = append(unexpected, d)
		} else {
			used[list[i].why] = true
		}
	}
	return unexpected, used
}

func matches(pattern, text string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(text)
}

func compare(upstream, ours map[string]*unstructured.Unstructured) []difference {
	var out []difference
	names := map[string]*unstructured.Unstructured{}
	maps.Copy(names, upstream)
	maps.Copy(names, ours)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := upstream[name], ours[name]
		switch {
		case a == nil:
			out = append(out, difference{name, "", "absent", "there"})
		case b == nil:
			out = append(out, difference{name, "", "there", "absent"})
		default:
			out = append(out, walk(name, "", a.Object, b.Object)...)
		}
	}
	return out
}

func walk(object, path string, a, b any) []difference {
	below := func(key string) string { return strings.TrimPrefix(path+"."+key, ".") }
	var out []difference
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			x, inA := a[key]
			y, inB := b[key]
			switch {
			case inA && inB:
				out = append(out, walk(object, below(key), x, y)...)
			case inA:
				out = append(out, difference{object, below(key), fmt.Sprint(x), "absent"})
			default:
				out = append(out, difference{object, below(key), "absent", fmt.Sprint(y)})
			}
		}
		return out
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			out = append(out, walk(object, below(strconv.Itoa(i)), a[i], b[i])...)
		}
		return out
	}
	if fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b) {
		return nil
	}
	// A configuration file inside a ConfigMap is compared as what it says.
	if x, y := decoded(a), decoded(b); x != nil && y != nil {
		return walk(object, path, x, y)
	}
	return []difference{{object, path, fmt.Sprint(a), fmt.Sprint(b)}}
}

// TestSameObjectsAsUpstream renders upstream's chart and ours with upstream's own
// values and with those of users, and compares the objects, field by field.
func TestSameObjectsAsUpstream(t *testing.T) {
	c := newCharts(t)
	files, err := filepath.Glob(filepath.Join("testdata", "values", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("there are %d sets of values, want 10 at least", len(files))
	}
	cases := map[string][]string{
		"nothing set":                         nil,
		"the whole of upstream's values.yaml": {"--values", filepath.Join(c.upstream, "values.yaml")},
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		cases[strings.TrimSuffix(filepath.Base(file), ".yaml")] = []string{
			"--values", path, "--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",
		}
	}
	withoutDefaults := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(withoutDefaults, []byte(`fleet:
  image: {repository: `+ourImage+`, tag: null, digest: null, pullPolicy: null}
  enabled: null
  featureGates: null
  config: null
  readiness: null
  priorityClasses: null
  serviceMonitor: null
  alerts: null
  dashboards: null
`), 0o600); err != nil {
		t.Fatal(err)
	}
	sides := map[string]struct {
		args []string
		list []allowed
	}{
		"ours":         {[]string{"--set", "fleet.image.repository=" + ourImage}, swapped},
		"fleet is off": {[]string{"--set", "fleet.enabled=false"}, always},
		// As after helm upgrade --reuse-values, which knows no default of ours.
		"only the image is known": {[]string{"--values", withoutDefaults}, swapped},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			upstream := c.render(t, c.upstream, args...)
			for side, tc := range sides {
				differences := compare(upstream, c.render(t, c.ours, append(args, tc.args...)...))
				unexpected, used := judge(differences, tc.list)
				for _, d := range unexpected {
					t.Errorf("%s: %s", side, d)
				}
				for _, a := range tc.list {
					if !used[a.why] && !a.sometimes {
						t.Errorf("%s: the allowed difference at %s is not there: %s", side, a.path, a.why)
					}
				}
				t.Logf("%s: %d objects of upstream, %d differences, all allowed: %t", side, len(upstream), len(differences), len(unexpected) == 0)
			}
		})
	}
}

// The comparison has to see what it is there for.
func TestCompareSees(t *testing.T) {
	object := func(fields map[string]any) map[string]*unstructured.Unstructured {
		return map[string]*unstructured.Unstructured{"o": {Object: fields}}
	}
	cases := map[string]struct {
		upstream, ours map[string]*unstructured.Unstructured
		want           string
	}{
		"an object that is missing":   {object(nil), nil, "o : there -> absent"},
		"an object that is new":       {nil, object(nil), "o : absent -> there"},
		"a field that is missing":     {object(map[string]any{"a": int64(1)}), object(map[string]any{}), "o a: 1 -> absent"},
		"a number that became a text": {object(map[string]any{"a": int64(1)}), object(map[string]any{"a": "1"}), "o a: 1 -> 1"},
		"a shorter list":              {object(map[string]any{"a": []any{"x", "y"}}), object(map[string]any{"a": []any{"x"}}), "o a: [x y] -> [x]"},
		"a map in place of a list":    {object(map[string]any{"a": []any{}}), object(map[string]any{"a": map[string]any{}}), "o a: [] -> map[]"},
		"a field of a file":           {object(map[string]any{"a": "b: 1\nc: 2\n"}), object(map[string]any{"a": "c: 2\nb: 3\n"}), "o a.b: 1 -> 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := compare(tc.upstream, tc.ours)
			if len(got) != 1 || got[0].String() != tc.want {
				t.Errorf("differences %v, want %s", got, tc.want)
			}
		})
	}
	same := object(map[string]any{"a": "b: 1\nc: 2\n"})
	if got := compare(same, object(map[string]any{"a": "c: 2\nb: 1\n"})); len(got) != 0 {
		t.Errorf("differences %v in files that say the same, want none", got)
	}
}

// decoded is the map that a text holds, or nil.
func decoded(value any) any {
	text, ok := value.(string)
	if !ok || !strings.Contains(text, ": ") {
		return nil
	}
	var out map[string]any
	if sigsyaml.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}
