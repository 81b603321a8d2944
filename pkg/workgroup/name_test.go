// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// replaceBase writes the base name of the tests where a table has $base.
func replaceBase(s string) string { return strings.ReplaceAll(s, "$base", testBase) }

func TestBaseName(t *testing.T) {
	long := strings.Repeat("a", 40) + "-" + strings.Repeat("b", 22)
	names := map[string]bool{}
	for _, group := range []string{"head", "trainer", long, long[:62]} {
		for _, job := range []string{"rl", strings.Repeat("j", 47)} {
			for _, uid := range []string{"u1", "u2"} {
				name := baseName(job, types.UID("uid-x"+uid), group)
				if names[name] {
					t.Errorf("job %q of UID %q, group %q: name %q is taken", job, uid, group, name)
				}
				names[name] = true
				for _, msg := range validation.IsDNS1123Label(name + "-1234567") {
					t.Errorf("name %q: %s", name, msg)
				}
			}
		}
	}
	if len(names) != 16 {
		t.Errorf("%d names, want 16", len(names))
	}
	if again := baseName("rl", "uid-xu1", "head"); !names[again] {
		t.Errorf("the name is another one the second time: %q", again)
	}
}

func TestNextName(t *testing.T) {
	named := func(names ...string) []*kueue.Workload {
		var out []*kueue.Workload
		for _, name := range names {
			wl := &kueue.Workload{}
			wl.Name = replaceBase(name)
			out = append(out, wl)
		}
		return out
	}
	cases := map[string]struct {
		existing []string
		want     string
	}{
		"the first":                    {want: "$base"},
		"the second":                   {existing: []string{"$base"}, want: "$base-2"},
		"numbers are not words":        {existing: []string{"$base-10", "$base-9"}, want: "$base-11"},
		"earlier ones were cleaned up": {existing: []string{"$base-3"}, want: "$base-4"},
		"names of another kind":        {existing: []string{"other", "$base-x", "$base-1"}, want: "$base"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, want := nextName(testBase, named(tc.existing...)), replaceBase(tc.want); got != want {
				t.Errorf("nextName() = %q, want %q", got, want)
			}
		})
	}
}
