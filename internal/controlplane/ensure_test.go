// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeGo stands in for the go command: it writes what a build would write.
type fakeGo struct {
	programs []program
	// fail and omit name a program that the build fails at or leaves out.
	fail, omit string
	builds     atomic.Int32
}

func (f *fakeGo) run(_ context.Context, _ string, args []string) error {
	f.builds.Add(1)
	var output string
	for i, arg := range args {
		if arg == "-o" {
			output = args[i+1]
		}
	}
	for _, p := range f.programs {
		if p.name == f.fail {
			return errors.New("exit status 1")
		}
		if p.name == f.omit {
			continue
		}
		if err := os.WriteFile(filepath.Join(output, p.name), []byte(p.wantVersion+"\n"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// readVersion treats the file's content as the output of --version.
func readVersion(_ context.Context, path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

func newBuilder(t *testing.T, dir string, f *fakeGo) builder {
	f.programs = []program{{name: "etcd", wantVersion: "etcd Version: 3.6.13"}, {name: "kwok", wantVersion: "kwok version v0.8.0"}}
	return builder{
		dir:      dir,
		steps:    []step{{dir: "module", output: "/", packages: []string{"example.com/all"}}},
		programs: f.programs,
		logf:     t.Logf,
		run:      f.run,
		version:  readVersion,
	}
}

// entries lists what is in the cache folder besides the lock.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			names = append(names, entry.Name())
		}
	}
	return names
}

func TestEnsureBuildsOnce(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "key")
	// What a build that was killed leaves behind.
	if err := os.MkdirAll(dir+tempInfix+"123", 0o755); err != nil {
		t.Fatal(err)
	}
	f := &fakeGo{}
	for range 2 {
		if err := newBuilder(t, dir, f).ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.builds.Load(); got != 1 {
		t.Errorf("%d builds, want 1", got)
	}
	if diff := cmp.Diff([]string{"key"}, entries(t, cache)); diff != "" {
		t.Errorf("cache (-want,+got):\n%s", diff)
	}
}

func TestEnsureRepairs(t *testing.T) {
	cases := map[string]func(path string) error{
		"a program was deleted":       os.Remove,
		"a program was cut to 0 byte": func(path string) error { return os.Truncate(path, 0) },
		"a program can't be run":      func(path string) error { return os.Chmod(path, 0o644) },
	}
	for name, damage := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "key")
			f := &fakeGo{}
			b := newBuilder(t, dir, f)
			if err := b.ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := damage(filepath.Join(dir, "kwok")); err != nil {
				t.Fatal(err)
			}
			if err := b.ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := f.builds.Load(); got != 2 || !complete(dir, b.programs) {
				t.Errorf("%d builds and complete is %t, want 2 and true", got, complete(dir, b.programs))
			}
		})
	}
}

func TestEnsureLeavesNothingHalfDone(t *testing.T) {
	cases := map[string]struct {
		fake    *fakeGo
		version string
		wantErr string
	}{
		"the build fails":        {fake: &fakeGo{fail: "kwok"}, wantErr: "exit status 1"},
		"a program is not there": {fake: &fakeGo{omit: "kwok"}, wantErr: "failed to run kwok --version"},
		"a version is not stamped": {
			fake:    &fakeGo{},
			version: "Kubernetes v0.0.0-master",
			wantErr: `etcd --version prints "Kubernetes v0.0.0-master", want "etcd Version: 3.6.13"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			b := newBuilder(t, filepath.Join(cache, "key"), tc.fake)
			if tc.version != "" {
				b.version = func(context.Context, string) (string, error) { return tc.version, nil }
			}
			err := b.ensure(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("got error %v, want one with %q", err, tc.wantErr)
			}
			if left := entries(t, cache); len(left) != 0 {
				t.Errorf("the cache holds %q, want nothing", left)
			}
		})
	}
}

func TestEnsureConcurrently(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "key")
	f := &fakeGo{}
	b := newBuilder(t, dir, f)
	const callers = 8
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { errs[i] = b.ensure(t.Context()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := f.builds.Load(); got != 1 {
		t.Errorf("%d builds for %d callers, want 1", got, callers)
	}
}

func TestEnsureStopsWaiting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "key")
	held, err := lock(t.Context(), dir+".lock", func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	b := newBuilder(t, dir, &fakeGo{})
	// The message that it waits is the moment to give up.
	b.logf = func(string, ...any) { cancel() }
	if err := b.ensure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that the context was cancelled", err)
	}
}
