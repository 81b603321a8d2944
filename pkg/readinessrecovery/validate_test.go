// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

const (
	rayJobWithBadWindows = `
metadata:
  annotations:
    kueue.x-k8s.io/wait-for-pods-ready: '{"recoveryTimeoutSeconds":5}'
spec:
  rayClusterSpec:
    headGroupSpec:
      template:
        metadata:
          annotations: {fleet.ai/readiness-recovery-timeout: soon, other: soon}
    workerGroupSpecs:
    - template: {metadata: {annotations: {fleet.ai/requeue-backoff-limit: "-1"}}}
    - template: {metadata: {annotations: {fleet.ai/startup-readiness-timeout: 3h}}}
status:
  annotations: {fleet.ai/requeue-backoff-max: reported}
`
	jobWithGoodWindows = `
spec:
  template: {metadata: {annotations: {fleet.ai/readiness-recovery-timeout: 15s, fleet.ai/requeue-backoff-base: 0s}}}
`
)

func TestValidateObject(t *testing.T) {
	cases := map[string]struct {
		object string
		want   []string
	}{
		"good windows":          {object: jobWithGoodWindows},
		"an empty object":       {object: "{}"},
		"annotations of a list": {object: "annotations: [fleet.ai/requeue-backoff-max]"},
		"every bad value is named with its field, and what is allowed": {
			object: rayJobWithBadWindows,
			want: []string{
				`metadata.annotations[kueue.x-k8s.io/wait-for-pods-ready]: Invalid value: "{\"recoveryTimeoutSeconds\":5}": timeoutSeconds must be given, and be greater than 0`,
				`spec.rayClusterSpec.headGroupSpec.template.metadata.annotations[fleet.ai/readiness-recovery-timeout]: Invalid value: "soon": must be a Go duration such as 90s, 5m or 1h30m`,
				`spec.rayClusterSpec.workerGroupSpecs[0].template.metadata.annotations[fleet.ai/requeue-backoff-limit]: Invalid value: "-1": must be an integer from 0 to 2147483647`,
				`spec.rayClusterSpec.workerGroupSpecs[1].template.metadata.annotations[fleet.ai/startup-readiness-timeout]: Invalid value: "3h": must not be longer than 2h, the cluster's maxWindow`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, texts(ValidateObject(fromYAML(t, tc.object), maxWindow))); diff != "" {
				t.Errorf("ValidateObject() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestValidateChange(t *testing.T) {
	template := func(value string) string {
		return "spec: {template: {metadata: {annotations: {fleet.ai/readiness-recovery-timeout: " + value + "}}}}"
	}
	const bad = `spec.template.metadata.annotations[fleet.ai/readiness-recovery-timeout]: Invalid value: "later": must be a Go duration such as 90s, 5m or 1h30m`
	cases := map[string]struct {
		old, updated string
		want         []string
	}{
		"a bad value is added":                {old: "{}", updated: template("later"), want: []string{bad}},
		"a good value becomes bad":            {old: template("5m"), updated: template("later"), want: []string{bad}},
		"a bad value becomes another bad one": {old: template("soon"), updated: template("later"), want: []string{bad}},
		"a value that slipped through stays":  {old: template("later"), updated: template("later")},
		"a bad value becomes good":            {old: template("later"), updated: template("5m")},
		"a bad value is removed":              {old: template("later"), updated: "{}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := texts(ValidateChange(fromYAML(t, tc.old), fromYAML(t, tc.updated), maxWindow))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ValidateChange() (-want,+got):\n%s", diff)
			}
		})
	}
}

func fromYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func texts(errs field.ErrorList) []string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return out
}
