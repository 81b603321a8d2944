// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// notShipped are the folders of the module whose files nobody installs.
var notShipped = []string{"keps", "site", "vendor", ".git"}

// findSamples returns every configuration file of the manager in the tree: files,
// and texts inside the values of a chart. The key says where it was found.
func findSamples(tree string) (map[string]string, error) {
	samples := map[string]string{}
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(notShipped, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".yaml" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Chart templates have the names too, and are no YAML.
		if !strings.Contains(string(data), "apiVersion: config.kueue.x-k8s.io/") || strings.Contains(string(data), "{{") {
			return nil
		}
		name, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		for i, document := range strings.Split("\n"+string(data), "\n---") {
			var content any
			if err := yaml.Unmarshal([]byte(document), &content); err != nil {
				return fmt.Errorf("failed to read %s: %w", name, err)
			}
			key := name
			if i > 0 {
				key = fmt.Sprintf("%s, document %d", name, i+1)
			}
			if isConfiguration(content) {
				samples[key] = document
			}
			collectTexts(samples, key, content)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("failed to collect the sample configurations: %w", err)
	}
	return samples, nil
}

// collectTexts adds the configurations that stand as a text inside of content.
func collectTexts(samples map[string]string, at string, content any) {
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			collectTexts(samples, at+" "+key, value)
		}
	case []any:
		for i, value := range content {
			collectTexts(samples, fmt.Sprintf("%s[%d]", at, i), value)
		}
	case string:
		var inner any
		if yaml.Unmarshal([]byte(content), &inner) == nil && isConfiguration(inner) {
			samples[at] = content
		}
	}
}

func isConfiguration(content any) bool {
	object, _ := content.(map[string]any)
	apiVersion, _ := object["apiVersion"].(string)
	return strings.HasPrefix(apiVersion, "config.kueue.x-k8s.io/") && object["kind"] == "Configuration"
}
