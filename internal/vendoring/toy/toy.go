// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package toy makes, for tests, a small upstream module with a module proxy that
// is a folder, and a repository that requires it. Nothing leaves the machine.
package toy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"

	"fleet.ai/kueue-fleet/internal/vendoring"
)

// The modules of the toy.
const (
	Upstream   = "example.org/toy"
	Dependency = "example.org/dep"
	Base       = "v1.0.0"
)

// World is a proxy with a module cache, and one repository on top.
type World struct {
	// Root is the repository.
	Root string
	// Out collects what the tool says.
	Out *bytes.Buffer

	proxy, cache string
	sums         []string
}

// New makes a world with the given versions of the upstream module, each a map
// from file name to content on top of Files. Base is published in any case.
func New(t testing.TB, versions map[string]map[string]string) *World {
	t.Helper()
	dir := t.TempDir()
	w := &World{Root: filepath.Join(dir, "repo"), Out: &bytes.Buffer{}, proxy: filepath.Join(dir, "proxy"), cache: filepath.Join(dir, "cache")}
	// The go command makes the module cache read-only.
	t.Cleanup(func() {
		err := filepath.WalkDir(w.cache, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = os.Chmod(path, 0o755)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Errorf("failed to make the module cache writable: %v", err)
		}
	})
	w.publish(t, Dependency, "v1.2.0", map[string]string{
		"go.mod":           "module example.org/dep\n\ngo 1.26\n",
		"crds/widget.yaml": "kind: Widget\n",
		"crds/old.yaml":    "kind: Old\n",
	})
	depSums := strings.Join(w.sums, "\n") + "\n"
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		w.publishUpstream(t, version, depSums, versions[version])
	}
	if _, ok := versions[Base]; !ok {
		w.publishUpstream(t, Base, depSums, nil)
	}
	w.Write(t, "go.mod", "module example.org/repo\n\ngo 1.26\n\nrequire "+Upstream+" "+Base+"\n")
	w.Write(t, "go.sum", strings.Join(w.sums, "\n")+"\n")
	return w
}

// Files are the files of the toy's first version.
func Files() map[string]string {
	return map[string]string{
		"go.mod":                        "module example.org/toy\n\ngo 1.26\n\nrequire example.org/dep v1.2.0\n",
		"widget.txt":                    Numbered("widget", 60),
		"gadget.txt":                    Numbered("gadget", 60),
		".gitignore":                    "*.out\n",
		"kept.out":                      "ignored by git, but part of the module\n",
		"crlf.txt":                      "two\r\nlines\r\n",
		"config/crd/kustomization.yaml": "resources:\n- a.yaml\n",
		"config/crd/a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
	}
}

// Numbered returns n lines, "word 1" to "word n".
func Numbered(word string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "%s %d\n", word, i+1)
	}
	return out.String()
}

func (w *World) publishUpstream(t testing.TB, version, goSum string, changes map[string]string) {
	files := Files()
	files["go.sum"] = goSum
	maps.Copy(files, changes)
	w.publish(t, Upstream, version, files)
}

// publish puts a module version into the proxy and notes its hashes.
func (w *World) publish(t testing.TB, path, version string, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	at := filepath.Join(w.proxy, path, "@v")
	info, err := json.Marshal(map[string]string{"Version": version})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, version+".info"), string(info))
	write(t, filepath.Join(at, version+".mod"), files["go.mod"])
	var archive bytes.Buffer
	if err = zip.CreateFromDir(&archive, module.Version{Path: path, Version: version}, dir); err != nil {
		t.Fatalf("failed to pack %s: %v", path, err)
	}
	write(t, filepath.Join(at, version+".zip"), archive.String())
	sum, err := dirhash.HashZip(filepath.Join(at, version+".zip"), dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	modSum, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(files["go.mod"])), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.sums = append(w.sums, path+" "+version+" "+sum, path+" "+version+"/go.mod "+modSum)
}

// Configure describes a repository at root in this world.
func (w *World) Configure(root string, out io.Writer) vendoring.Config {
	return vendoring.Config{
		Root:    root,
		Module:  Upstream,
		Tree:    filepath.Join("third_party", "toy"),
		Patches: "patches",
		Ledger:  filepath.Join("docs", "patches.md"),
		Order:   filepath.Join("docs", "upstreaming.md"),
		Render: vendoring.Rendering{
			Kustomizations: []vendoring.Kustomization{{Dir: "config/crd", Output: "config/crd/_output/all.yaml"}},
			Copies:         []vendoring.Copy{{Module: Dependency, Files: "crds/*", Except: []string{"old.yaml"}, To: "dep-crds/dep"}},
		},
		Exclude: []string{"zz_fleet_*_test.go"},
		Go: vendoring.GoCommand{Env: []string{
			"GOPROXY=file://" + w.proxy, "GOMODCACHE=" + w.cache, "GOSUMDB=off", "GONOPROXY=", "GOPRIVATE=",
		}},
		Out: out,
	}
}

// Config describes the world's repository.
func (w *World) Config() vendoring.Config { return w.Configure(w.Root, w.Out) }

// Cached returns a file of the module cache.
func (w *World) Cached(path, version, name string) string {
	return filepath.Join(w.cache, path+"@"+version, name)
}

// Tree returns a path in the patched tree.
func (w *World) Tree(name ...string) string {
	return filepath.Join(append([]string{w.Root, "third_party", "toy"}, name...)...)
}

// Write writes a file of the repository.
func (w *World) Write(t testing.TB, name, content string) {
	t.Helper()
	write(t, filepath.Join(w.Root, name), content)
}

// Read returns a file of the repository.
func (w *World) Read(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.Root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Edit replaces text in a file of the patched tree, which must hold it.
func (w *World) Edit(t testing.TB, name, old, replacement string) {
	t.Helper()
	raw, err := os.ReadFile(w.Tree(name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	write(t, w.Tree(name), strings.Replace(string(raw), old, replacement, 1))
}

// Git runs git in the patched tree the way a developer does, and returns its output.
func (w *World) Git(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.fsync=none", "-c", "user.name=A Person", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = w.Tree()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Commit commits all edits in the patched tree.
func (w *World) Commit(t testing.TB, message string) {
	t.Helper()
	w.Git(t, "add", "--all")
	w.Git(t, "commit", "--quiet", "-m", message)
}

// Message is a commit message with a full header. A name adds the trailer for it.
func Message(subject, class, name string) string {
	message := subject + "\n\nProblem: It is wrong.\n\nChange: Make it right.\n\nWhy not outside the tree: It is inside.\n\n" +
		"User-visible effect: It is right.\n\nFleet-Class: " + class + "\nUpstream-Status: Pending\nUpstream-Issue: none\n" +
		"Drop-When: upstream has it\nFeature-Gate: none\nTests: none but this\n"
	if name != "" {
		message += "Fleet-Patch: " + name + "\n"
	}
	return message
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
