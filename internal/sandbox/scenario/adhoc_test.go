// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodJob = `apiVersion: ray.io/v1
kind: RayJob
metadata:
  name: a
  namespace: fleet-train-jobs
  annotations: {sandbox.fleet.ai/work: "- {items: 3, duration: 1s}"}
spec: {entrypoint: python a.py}
`

func TestAdHoc(t *testing.T) {
	cases := map[string]struct {
		files     []string
		wantItems []int
		wantErr   string
	}{
		"a job":               {files: []string{goodJob}, wantItems: []int{3}},
		"two jobs in a file":  {files: []string{goodJob + "---\n" + strings.Replace(goodJob, "name: a", "name: b", 1)}, wantItems: []int{3, 3}},
		"no file":             {wantErr: "no file given"},
		"an empty file":       {files: []string{"# nothing\n"}, wantErr: "0.yaml has no object"},
		"another kind":        {files: []string{strings.Replace(goodJob, "RayJob", "RayCluster", 1)}, wantErr: "apiVersion and kind are ray.io/v1 RayCluster, allowed is ray.io/v1 RayJob"},
		"another version":     {files: []string{strings.Replace(goodJob, "ray.io/v1", "ray.io/v1alpha1", 1)}, wantErr: "are ray.io/v1alpha1 RayJob, allowed is ray.io/v1 RayJob"},
		"another namespace":   {files: []string{strings.Replace(goodJob, "fleet-train-jobs", "default", 1)}, wantErr: `metadata.namespace is "default", allowed is "fleet-train-jobs"`},
		"a field that is not": {files: []string{strings.Replace(goodJob, "entrypoint:", "entrypiont:", 1)}, wantErr: `unknown field "spec.entrypiont"`},
		"work that is wrong":  {files: []string{strings.Replace(goodJob, "items: 3", "items: 0", 1)}, wantErr: `[0].items is 0`},
		"two jobs of one name": {
			files:   []string{goodJob, goodJob},
			wantErr: `1.yaml: RayJob "a": metadata.name is taken by the job in `,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var paths []string
			for i, text := range tc.files {
				path := filepath.Join(dir, string(rune('0'+i))+".yaml")
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, path)
			}
			_, jobs, err := AdHoc(paths...)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(jobs) != len(tc.wantItems) {
				t.Fatalf("got %d jobs, want %d", len(jobs), len(tc.wantItems))
			}
			for i, job := range jobs {
				if job.Work.Items() != tc.wantItems[i] {
					t.Errorf("job %d has %d items, want %d", i, job.Work.Items(), tc.wantItems[i])
				}
			}
		})
	}
}

func TestTheExamplesLoad(t *testing.T) {
	examples, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	if _, _, err := AdHoc(examples...); err != nil {
		t.Error(err)
	}
}
