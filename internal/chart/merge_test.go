// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/release"
)

func toyRelease(t *testing.T) release.Release {
	t.Helper()
	r, err := release.New("v0.19.2-fleet.1", "0123456789ab", "2026-01-02T03:04:05Z", "37@0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func files(content map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, data := range content {
		out[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return out
}

// toySources are a chart and an overlay with one of everything, changed as a case
// wants it; an empty content removes the file.
func toySources(upstream, overlay map[string]string) Sources {
	theirs := map[string]string{
		"Chart.yaml":                  "name: kueue\nversion: 0.19.2\nappVersion: v0.19.2\n",
		"README.md":                   "of Kueue",
		"values.yaml":                 "# theirs\nreplicas: 1\n",
		"tests/a_test.yaml":           "a unit test",
		"templates/_helpers.tpl":      "{{ .Chart.Name }} {{ .Chart.AppVersion }} {{ .Chart.Version }}",
		"templates/manager/main.yaml": "kind: Deployment",
	}
	ours := map[string]string{
		"Chart.yaml":                  "name: kueue-fleet\n",
		"values.yaml":                 "# ours\nfleet:\n  enabled: true\n",
		"templates/manager/main.yaml": "{{ include \"upstream/manager/main.yaml\" . }}",
		"templates/fleet/new.yaml":    "kind: ConfigMap",
	}
	for to, changes := range map[*map[string]string]map[string]string{&theirs: upstream, &ours: overlay} {
		maps.Copy(*to, changes)
		maps.DeleteFunc(*to, func(_, data string) bool { return data == "" })
	}
	return Sources{Upstream: files(theirs), Overlay: files(ours)}
}

func TestMerge(t *testing.T) {
	sources := toySources(nil, nil)
	sources.Dashboards = files(map[string]string{"queues.json": "{}", "alerts/queues.yaml": "groups: []", "README.md": "not for the chart"})
	sources.Legal = files(map[string]string{"LICENSE": "a licence", "NOTICE": "a notice", "README.md": "not for the chart"})
	merged, err := Merge(sources, toyRelease(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Chart.yaml": "annotations:\n  fleet.ai/base-version: v0.19.2\n  fleet.ai/patch-count: \"37\"\n" +
			"  fleet.ai/patch-series: 37@0123456789ab\n  fleet.ai/revision: 0123456789ab\n" +
			"appVersion: v0.19.2-fleet.1\nname: kueue-fleet\nversion: 0.19.2-fleet.1\n",
		"values.yaml":                          "# theirs\nreplicas: 1\n\n# ours\nfleet:\n  enabled: true\n",
		"fleet-values.yaml":                    "# ours\nfleet:\n  enabled: true\n",
		"templates/_helpers.tpl":               `{{ "kueue" }} {{ "v0.19.2" }} {{ .Chart.Version }}`,
		"templates/_upstream-manager-main.tpl": "{{- define \"upstream/manager/main.yaml\" }}\nkind: Deployment\n{{- end }}\n",
		"templates/manager/main.yaml":          "{{ include \"upstream/manager/main.yaml\" . }}",
		"templates/fleet/new.yaml":             "kind: ConfigMap",
		"LICENSE":                              "a licence",
		"NOTICE":                               "a notice",
		"dashboards/queues.json":               "{}",
		"alerts/queues.yaml":                   "groups: []",
	}
	got := map[string]string{}
	for name, data := range merged {
		got[name] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected chart (-want,+got):\n%s", diff)
	}
}

func TestMergeRefuses(t *testing.T) {
	cases := map[string]struct {
		upstream, overlay map[string]string
		wantErr           string
	}{
		"a chart of another base": {
			upstream: map[string]string{"Chart.yaml": "name: kueue\nappVersion: v0.20.0\n"},
			wantErr:  `want a name and the version "v0.19.2"`,
		},
		"a chart without values": {
			upstream: map[string]string{"values.yaml": ""},
			wantErr:  "failed to read Kueue's chart: values.yaml is missing",
		},
		"a base that has our key": {
			upstream: map[string]string{"values.yaml": "fleet: {}\n"},
			wantErr:  `values.yaml of Kueue's chart has a key "fleet"`,
		},
		"an overlay that changes a value of Kueue's": {
			overlay: map[string]string{"values.yaml": "fleet: {}\nreplicas: 2\n"},
			wantErr: `values.yaml of the overlay has 2 keys, want "fleet" alone`,
		},
		"an overlay that replaces something else than a template": {
			upstream: map[string]string{"crds/a.yaml": "theirs"},
			overlay:  map[string]string{"crds/a.yaml": "ours"},
			wantErr:  "the overlay's crds/a.yaml is a file of Kueue's chart",
		},
		"an overlay with a version of its own": {
			overlay: map[string]string{"Chart.yaml": "name: kueue-fleet\nversion: 1.0.0\n"},
			wantErr: `Chart.yaml of the overlay has the field "version"`,
		},
		"a template where a replaced one has to go": {
			overlay: map[string]string{"templates/_upstream-manager-main.tpl": "taken"},
			wantErr: "templates/_upstream-manager-main.tpl is taken",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Merge(toySources(tc.upstream, tc.overlay), toyRelease(t))
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want one with %q", err, tc.wantErr)
			}
		})
	}
}

func TestPackage(t *testing.T) {
	merged, err := Merge(toySources(nil, nil), toyRelease(t))
	if err != nil {
		t.Fatal(err)
	}
	var packages [2][]byte
	for i := range packages {
		file, err := merged.Package(t.TempDir(), toyRelease(t).Date)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("kueue-fleet-0.19.2-fleet.1.tgz", filepath.Base(file)); diff != "" {
			t.Errorf("unexpected name (-want,+got):\n%s", diff)
		}
		if packages[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("two packages of one chart differ")
	}

	zipped, err := gzip.NewReader(bytes.NewReader(packages[0]))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var first string
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = header.Name
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[strings.TrimPrefix(header.Name, "kueue-fleet/")] = string(data)
	}
	want := map[string]string{}
	for name, data := range merged {
		want[name] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected content (-want,+got):\n%s", diff)
	}
	if diff := cmp.Diff("kueue-fleet/Chart.yaml", first); diff != "" {
		t.Errorf("unexpected first file (-want,+got):\n%s", diff)
	}
}

func TestWriteReplaces(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "chart")
	for _, c := range []Chart{{"old.yaml": []byte("old")}, {"templates/new.yaml": []byte("new")}} {
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rel)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []string{"templates/new.yaml"}) || len(entries) != 1 {
		t.Errorf("the folder holds %v and %d entries, want templates/new.yaml alone", got, len(entries))
	}
}
