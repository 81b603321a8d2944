// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRoot(t *testing.T) {
	base := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		full := filepath.Join(base, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("checkout/go.mod", "module "+ModulePath+"\n\ngo 1.26.0\n")
	write("checkout/hack/tools/go.mod", "module "+ModulePath+"/hack/tools\n")
	write("checkout/third_party/kueue/pkg/file.go", "package pkg\n")
	write("checkout/third_party/kueue/go.mod", "module sigs.k8s.io/kueue\n")
	write("elsewhere/go.mod", "module example.com/other\n")

	cases := map[string]struct {
		dir     string
		want    string
		wantErr string
	}{
		"the root itself":                 {dir: "checkout", want: "checkout"},
		"a tool module inside":            {dir: "checkout/hack/tools", want: "checkout"},
		"a folder of the patched tree":    {dir: "checkout/third_party/kueue/pkg", want: "checkout"},
		"another module is not ours":      {dir: "elsewhere", wantErr: "no go.mod of module " + ModulePath},
		"a folder that isn't in a module": {dir: ".", wantErr: "no go.mod of module " + ModulePath},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Root(filepath.Join(base, tc.dir))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %q and error %v, want an error with %q", got, err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(base, tc.want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
