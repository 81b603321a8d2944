// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart makes the Helm chart: Kueue's own chart from the patched tree with
// our overlay on top. Nothing of Kueue's chart is committed, so what it changes
// arrives with a new base.
package chart

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"fleet.ai/kueue-fleet/internal/release"
)

const (
	chartFile     = "Chart.yaml"
	valuesFile    = "values.yaml"
	templatesDir  = "templates"
	dashboardsDir = "dashboards"
	alertsDir     = "alerts"
	// keptValues is where templates find the overlay's own defaults.
	keptValues = "fleet-values.yaml"
	// Ours is the one top-level key of the values that is ours.
	Ours = "fleet"
)

// Chart maps the files of a chart, by their paths in it, to their content.
type Chart map[string][]byte

// Sources are the parts of the chart.
type Sources struct {
	// Upstream is Kueue's chart, Overlay ours.
	Upstream, Overlay fs.FS
	// Dashboards may be nil; its *.json and alerts/*.yaml go into the chart.
	Dashboards fs.FS
	// Legal may be nil; its LICENSE and NOTICE go into the chart.
	Legal fs.FS
}

// metadata is the part of Chart.yaml that is looked at.
type metadata struct {
	Name       string `json:"name"`
	AppVersion string `json:"appVersion"`
}

// builtIn matches what Kueue's templates ask of their chart's metadata.
var builtIn = regexp.MustCompile(`\.Chart\.(Name|AppVersion)\b`)

// Merge makes the chart of a release.
//
// A template of the overlay that has the path of one of Kueue's takes its place,
// and finds what Kueue's renders under the name "upstream/" + its path below
// templates. Names and versions in Kueue's templates stay those of Kueue's chart:
// the names of all objects and the selectors, which can't change, come from them.
func Merge(sources Sources, r release.Release) (Chart, error) {
	upstream, err := read(sources.Upstream)
	if err != nil {
		return nil, fmt.Errorf("failed to read Kueue's chart: %w", err)
	}
	overlay, err := read(sources.Overlay)
	if err != nil {
		return nil, fmt.Errorf("failed to read the overlay: %w", err)
	}
	var theirs metadata
	if err := yaml.Unmarshal(upstream[chartFile], &theirs); err != nil {
		return nil, fmt.Errorf("failed to read %s of Kueue's chart: %w", chartFile, err)
	}
	if theirs.Name == "" || theirs.AppVersion != r.Base() {
		return nil, fmt.Errorf("unexpected chart of Kueue: %q of version %q, want a name and the version %q that the release %s is made from",
			theirs.Name, theirs.AppVersion, r.Base(), r.Version)
	}

	merged := Chart{}
	for name, data := range upstream {
		if inChart(name) {
			merged[name] = fixMetadata(name, data, theirs)
		}
	}
	for name, data := range overlay {
		switch {
		case name == chartFile, name == valuesFile:
			// Merged below.
		case merged[name] == nil:
			merged[name] = data
		case strings.HasPrefix(name, templatesDir+"/"):
			kept := keptTemplate(name)
			if merged[kept] != nil || overlay[kept] != nil {
				return nil, fmt.Errorf("failed to keep Kueue's %s: %s is taken", name, kept)
			}
			merged[kept] = define(name, merged[name])
			merged[name] = data
		default:
			return nil, fmt.Errorf("the overlay's %s is a file of Kueue's chart: only templates can be replaced", name)
		}
	}
	if merged[valuesFile], err = mergeValues(upstream[valuesFile], overlay[valuesFile]); err != nil {
		return nil, err
	}
	merged[keptValues] = overlay[valuesFile]
	if merged[chartFile], err = describe(overlay[chartFile], r); err != nil {
		return nil, err
	}
	if err := addDashboards(merged, sources.Dashboards); err != nil {
		return nil, err
	}
	return merged, addLegal(merged, sources.Legal)
}

// read returns all files of a folder.
func read(from fs.FS) (Chart, error) {
	files := Chart{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		files[name] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{chartFile, valuesFile} {
		if files[name] == nil {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return files, nil
}

// inChart says whether a file of Kueue's chart goes into ours: its documents and
// unit tests describe Kueue's chart.
func inChart(name string) bool {
	return strings.HasPrefix(name, templatesDir+"/") || strings.HasPrefix(name, "crds/")
}

func fixMetadata(name string, data []byte, theirs metadata) []byte {
	if !strings.HasPrefix(name, templatesDir+"/") {
		return data
	}
	return builtIn.ReplaceAllFunc(data, func(found []byte) []byte {
		if string(found) == ".Chart.Name" {
			return fmt.Appendf(nil, "%q", theirs.Name)
		}
		return fmt.Appendf(nil, "%q", theirs.AppVersion)
	})
}

// keptTemplate is where a replaced template goes. Helm renders no file whose name
// starts with an underscore, but reads what it defines.
func keptTemplate(name string) string {
	below := strings.TrimPrefix(name, templatesDir+"/")
	return path.Join(templatesDir, "_upstream-"+strings.ReplaceAll(strings.TrimSuffix(below, path.Ext(below)), "/", "-")+".tpl")
}

func define(name string, data []byte) []byte {
	return fmt.Appendf(nil, "{{- define %q }}\n%s\n{{- end }}\n", "upstream/"+strings.TrimPrefix(name, templatesDir+"/"), data)
}

// mergeValues puts ours below Kueue's, comments and all.
func mergeValues(theirs, ours []byte) ([]byte, error) {
	var upstream, overlay map[string]any
	if err := yaml.Unmarshal(theirs, &upstream); err != nil {
		return nil, fmt.Errorf("failed to read %s of Kueue's chart: %w", valuesFile, err)
	}
	if err := yaml.UnmarshalStrict(ours, &overlay); err != nil {
		return nil, fmt.Errorf("failed to read %s of the overlay: %w", valuesFile, err)
	}
	if _, taken := upstream[Ours]; taken {
		return nil, fmt.Errorf("%s of Kueue's chart has a key %q, which is ours", valuesFile, Ours)
	}
	if _, found := overlay[Ours]; !found || len(overlay) != 1 {
		return nil, fmt.Errorf("%s of the overlay has %d keys, want %q alone", valuesFile, len(overlay), Ours)
	}
	return slices.Concat(theirs, []byte("\n"), ours), nil
}

// describe completes the overlay's Chart.yaml. A chart's version has no leading v.
func describe(ours []byte, r release.Release) ([]byte, error) {
	var fields map[string]any
	if err := yaml.UnmarshalStrict(ours, &fields); err != nil {
		return nil, fmt.Errorf("failed to read %s of the overlay: %w", chartFile, err)
	}
	for _, name := range []string{"version", "appVersion", "annotations"} {
		if _, found := fields[name]; found {
			return nil, fmt.Errorf("%s of the overlay has the field %q, which comes from the release", chartFile, name)
		}
	}
	fields["version"] = strings.TrimPrefix(r.Version, "v")
	fields["appVersion"] = r.Version
	fields["annotations"] = map[string]string{
		"fleet.ai/base-version": r.Base(),
		"fleet.ai/patch-count":  r.PatchCount(),
		"fleet.ai/patch-series": r.Series,
		"fleet.ai/revision":     r.Revision,
	}
	out, err := yaml.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("failed to write %s: %w", chartFile, err)
	}
	return out, nil
}

func addDashboards(merged Chart, from fs.FS) error {
	if from == nil {
		return nil
	}
	for pattern, dir := range map[string]string{"*.json": dashboardsDir, alertsDir + "/*.yaml": alertsDir} {
		names, err := fs.Glob(from, pattern)
		if err != nil {
			return fmt.Errorf("failed to look for dashboards and alerts: %w", err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(from, name)
			if err != nil {
				return fmt.Errorf("failed to read dashboards and alerts: %w", err)
			}
			merged[path.Join(dir, path.Base(name))] = data
		}
	}
	return nil
}

// addLegal adds what has to go along with what is Kueue's.
func addLegal(merged Chart, from fs.FS) error {
	if from == nil {
		return nil
	}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return fmt.Errorf("failed to read the %s: %w", name, err)
		}
		merged[name] = data
	}
	return nil
}

// Checkout returns the sources in a checkout whose patched tree has been made.
func Checkout(root string) Sources {
	sources := Sources{
		Upstream: os.DirFS(filepath.Join(root, "third_party", "kueue", "charts", "kueue")),
		Overlay:  os.DirFS(filepath.Join(root, "charts", "kueue-fleet")),
		Legal:    os.DirFS(root),
	}
	if dir := filepath.Join(root, dashboardsDir); isFolder(dir) {
		sources.Dashboards = os.DirFS(dir)
	}
	return sources
}

func isFolder(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}
