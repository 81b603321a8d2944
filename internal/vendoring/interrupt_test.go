// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/vendoring"
	"fleet.ai/kueue-fleet/internal/vendoring/toy"
)

// childRoot and childEnv tell the test binary to vendor the toy repository and
// do nothing else, so that a test can kill it.
const (
	childRoot = "VENDORING_TEST_ROOT"
	childEnv  = "VENDORING_TEST_GOENV"
)

func TestMain(m *testing.M) {
	root := os.Getenv(childRoot)
	if root == "" {
		os.Exit(m.Run())
	}
	config := new(toy.World).Configure(root, os.Stderr)
	config.Go.Env = strings.Split(os.Getenv(childEnv), "\n")
	if err := config.Vendor(context.Background(), vendoring.VendorOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stallingGo puts a go command in front of the real one that hangs when asked
// for the toy's dependency, which happens when the new tree is nearly complete.
// The marker file appears when it hangs.
func stallingGo(t *testing.T) (path, marker string) {
	t.Helper()
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	marker = filepath.Join(dir, "stalled")
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *%s*) touch '%s'; exec sleep 300;; esac\nexec '%s' \"$@\"\n", toy.Dependency, marker, realGo)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir + string(os.PathListSeparator) + os.Getenv("PATH"), marker
}

func waitFor(t *testing.T, marker string) {
	t.Helper()
	for range 600 {
		if _, err := os.Stat(marker); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the run never came to the point where it is to be interrupted")
}

// outdate makes the next run build the tree, and returns the tree's head.
func outdate(t *testing.T, w *toy.World) string {
	t.Helper()
	name := "patches/0500-widget-add-half.patch"
	w.Write(t, name, strings.Replace(w.Read(t, name), "+gadget five", "+gadget 5.0", 1))
	return w.Git(t, "rev-parse", "HEAD")
}

func wantLeftover(t *testing.T, w *toy.World, want bool) {
	t.Helper()
	names := beside(t, w)
	got := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, ".toy.new-") })
	if got != want {
		t.Errorf("half-made tree beside the tree: want %v, got %q", want, names)
	}
}

func TestVendorAfterKill(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	old := outdate(t, w)
	path, marker := stallingGo(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PATH="+path, childRoot+"="+w.Root, childEnv+"="+strings.Join(w.Config().Go.Env, "\n"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, marker)
	// The whole group, or the stalled go command would stay.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatalf("want a killed process, got %v", err)
	}
	if got := w.Git(t, "rev-parse", "HEAD"); got != old || w.Git(t, "status", "--porcelain") != "" {
		t.Errorf("the killed run touched the tree")
	}
	wantLeftover(t, w, true)

	if said := vendor(t, w, vendoring.VendorOptions{}); !strings.Contains(said, "is made") {
		t.Errorf("want a new tree, got %q", said)
	}
	if got := w.Git(t, "show", "HEAD:gadget.txt"); !strings.Contains(got, "gadget 5.0\n") {
		t.Errorf("the new tree lacks the edit of the patch")
	}
	wantLeftover(t, w, false)
}

func TestVendorCancelled(t *testing.T) {
	w := withSeries(t, nil)
	old := outdate(t, w)
	path, marker := stallingGo(t)
	t.Setenv("PATH", path)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Configure(w.Root, io.Discard).Vendor(ctx, vendoring.VendorOptions{}) }()
	waitFor(t, marker)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled, got %v", err)
	}
	if got := w.Git(t, "rev-parse", "HEAD"); got != old {
		t.Errorf("the cancelled run touched the tree")
	}
	wantLeftover(t, w, false)
}

func TestVendorBetweenTheRenames(t *testing.T) {
	t.Parallel()
	w := withSeries(t, nil)
	head := w.Git(t, "rev-parse", "HEAD")
	if err := os.Rename(w.Tree(), filepath.Join(filepath.Dir(w.Tree()), ".toy.old")); err != nil {
		t.Fatal(err)
	}
	if said := vendor(t, w, vendoring.VendorOptions{}); !strings.Contains(said, "is current") {
		t.Errorf("the old tree was not put back: %q", said)
	}
	if got := w.Git(t, "rev-parse", "HEAD"); got != head {
		t.Errorf("want head %s, got %s", head, got)
	}
	if diff := cmp.Diff([]string{".toy.lock", "toy"}, beside(t, w)); diff != "" {
		t.Errorf("files beside the tree (-want,+got):\n%s", diff)
	}
}
