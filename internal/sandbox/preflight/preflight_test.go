// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, plain := write("good", 0o755), write("plain", 0o644)
	cases := map[string]struct {
		path    string
		wantErr string
	}{
		"an executable file":        {path: good},
		"a file that is not there":  {path: filepath.Join(dir, "none"), wantErr: `the manager is not at "` + filepath.Join(dir, "none") + `"; build it`},
		"a file that cannot be run": {path: plain, wantErr: "is not executable; build it"},
		"a folder":                  {path: dir, wantErr: "is not a regular file; build it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, Programs(Program{Name: "the manager", Path: tc.path, Hint: "build it"}), tc.wantErr)
		})
	}
	err := Programs(Program{Name: "first", Path: "/none/1"}, Program{Name: "second", Path: "/none/2"})
	check(t, err, "first is not at")
	check(t, err, "second is not at")
}

func TestTool(t *testing.T) {
	check(t, Tool("sh", "test"), "")
	check(t, Tool("no-such-tool-here", "do this"), "no-such-tool-here is not in PATH; it is needed to do this")
}

func TestMemory(t *testing.T) {
	cases := map[string]struct {
		meminfo string
		wantErr string
	}{
		"exactly enough":        {meminfo: "MemTotal: 9 kB\nMemAvailable:    2097152 kB\n"},
		"a little too little":   {meminfo: "MemAvailable:    2096128 kB\n", wantErr: "too little memory: 2047 MiB are available, a sandbox needs 2048 MiB"},
		"free memory is not it": {meminfo: "MemFree: 9999999 kB\nMemAvailable: 1024 kB\n", wantErr: "1 MiB are available"},
		"a value that is none":  {meminfo: "MemAvailable: lots\n", wantErr: "failed to read the available memory"},
		"no such line":          {meminfo: "MemTotal: 9 kB\n", wantErr: `no line "MemAvailable:"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, Memory(strings.NewReader(tc.meminfo), 2<<30), tc.wantErr)
		})
	}
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}
