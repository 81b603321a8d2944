// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func checkPush(t *testing.T, out, digest string) {
	t.Helper()
	// The user's own credentials stay out of the test.
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New())
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/platform/kueue-fleet:v1"
	for _, attempt := range []string{"first", "second"} {
		pushed, err := Push(t.Context(), filepath.Join(out, LayoutName), reference)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSuffix(reference, ":v1")+"@"+digest, pushed); diff != "" {
			t.Errorf("unexpected place after the %s push (-want,+got):\n%s", attempt, diff)
		}
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("what was pushed is not whole: %v", err)
	}
}

func TestPushRefuses(t *testing.T) {
	cases := map[string]struct{ reference, layout, wantErr string }{
		"no reference":                     {"", "unused", `invalid reference "": want REGISTRY/REPOSITORY:TAG`},
		"a reference without a registry":   {"kueue-fleet:v1", "unused", `invalid reference "kueue-fleet:v1": want REGISTRY/REPOSITORY:TAG`},
		"a reference without a tag":        {"registry.invalid/kueue-fleet", "unused", "want REGISTRY/REPOSITORY:TAG"},
		"a folder that is no OCI layout":   {"registry.invalid/kueue-fleet:v1", "missing", "failed to read the OCI layout in missing (make image writes it)"},
		"a reference with upper-case name": {"registry.invalid/Kueue:v1", "unused", "want REGISTRY/REPOSITORY:TAG"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Push(t.Context(), tc.layout, tc.reference)
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want one with %q", err, tc.wantErr)
			}
		})
	}
}
