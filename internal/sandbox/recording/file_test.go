// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	cases := map[string]struct {
		text string
		want string
	}{
		"a recording":                       {text: `{"version":1,"scenario":"s","pods":[{"name":"p","bound":0}]}`},
		"fields of a later release":         {text: `{"version":1,"scenario":"s","weather":"fair"}`},
		"another version":                   {text: `{"version":2}`, want: "version is 2, allowed is 1"},
		"something else":                    {text: `[]`, want: "cannot unmarshal array"},
		"a recording that was cut off":      {text: `{"version":1,`, want: "unexpected end of JSON input"},
		"a time that is no number is named": {text: `{"version":1,"pods":[{"bound":"soon"}]}`, want: "pods.bound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.json")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			rec, err := ReadFile(path)
			if tc.want == "" {
				if err != nil || rec.Scenario != "s" {
					t.Errorf("got %v, %v", rec, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q and the path", err, tc.want)
			}
		})
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is none", err)
	}
}
