// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
)

// AdHoc makes a scenario of RayJobs in files: all are submitted at once, and
// each has to succeed with all its work done. Errors name file, job and field.
func AdHoc(files ...string) (*Scenario, []Submission, error) {
	if len(files) == 0 {
		return nil, nil, errors.New("failed to load jobs: no file given")
	}
	s := &Scenario{Name: "ad-hoc", Title: "RayJobs from " + strings.Join(files, ", ")}
	from := map[types.NamespacedName]string{}
	for _, file := range files {
		objects, err := manifests.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		if len(objects) == 0 {
			return nil, nil, fmt.Errorf("failed to load jobs: %s has no object", file)
		}
		for _, object := range objects {
			name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
			if first, ok := from[name]; ok {
				return nil, nil, fmt.Errorf("failed to load %s: RayJob %q: metadata.name is taken by the job in %s", file, name.Name, first)
			}
			from[name] = file
			s.Jobs = append(s.Jobs, Job{Name: object.GetName(), Manifest: object.Object})
		}
	}
	s.fillDefaults()
	submissions, err := s.Submissions()
	if err != nil {
		return nil, nil, fmt.Errorf("failed to load %s: %w", strings.Join(files, ", "), err)
	}
	return s, submissions, nil
}
