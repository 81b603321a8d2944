// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLicensesOfLinkedModules(t *testing.T) {
	cases := map[string]struct {
		dependency map[string]string
		want       map[string]string
		wantErr    string
	}{
		"every file of terms is taken from the module that is linked": {
			dependency: map[string]string{"LICENSE.txt": "dep's terms\n", "notice": "dep's notice\n", "licenses.go": "package dep\n", "README": "no terms\n"},
			want: map[string]string{
				"licenses/LICENSE": "toy's terms\n", "licenses/NOTICE": "toy's notice\n",
				"licenses/dep.invalid/dep/LICENSE.txt": "dep's terms\n", "licenses/dep.invalid/dep/notice": "dep's notice\n",
			},
		},
		"a notice alone is no license": {
			dependency: map[string]string{"NOTICE": "dep's notice\n"},
			wantErr:    "failed to find the license of dep.invalid/dep: ",
		},
		"a folder of licenses is no license": {
			dependency: map[string]string{"LICENSE/MIT": "dep's terms\n"},
			wantErr:    "failed to find the license of dep.invalid/dep: ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			program := toyProgram(t)
			files := map[string]string{
				"go.mod": "module toy.invalid/manager\n\ngo 1.26.0\n\nrequire (\n\tdep.invalid/dep v0.0.0\n\tother.invalid/other v0.0.0\n)\n\n" +
					"replace (\n\tdep.invalid/dep => ./dep\n\tother.invalid/other => ./other\n)\n",
				"main.go":    "package main\n\nimport _ \"dep.invalid/dep\"\n\nfunc main() {}\n",
				"dep/go.mod": "module dep.invalid/dep\n", "dep/dep.go": "package dep\n",
				// Required, but not linked: its terms are nobody's business.
				"other/go.mod": "module other.invalid/other\n",
			}
			for file, body := range tc.dependency {
				files["dep/"+file] = body
			}
			for file, body := range files {
				at := filepath.Join(program.Dir, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			entries, err := program.licenses(t.Context(), Platforms()[0])
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, e := range entries {
				got[e.name] = string(e.body)
			}
			for _, always := range []string{"licenses/go/LICENSE", "licenses/" + rootsModule + "/LICENSE"} {
				if got[always] == "" {
					t.Errorf("%s is missing or empty", always)
				}
			}
			maps.DeleteFunc(got, func(name, _ string) bool {
				return strings.HasPrefix(name, goLicensesPath+"/") || strings.HasPrefix(name, "licenses/"+rootsModule+"/")
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unexpected files (-want,+got):\n%s", diff)
			}
		})
	}
}
