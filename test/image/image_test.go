// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image runs the manager out of the container image that make image wrote.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/repo"
)

// directory is where an image is, relative to the checkout.
func directory(t *testing.T, variable, fallback string) string {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		root, err := repo.FromWorkingDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(root, "artifacts", fallback)
	}
	if _, err := os.Stat(filepath.Join(dir, "oci", "index.json")); err != nil {
		t.Fatalf("there is no image in %s: build it with `make image`, or set %s: %v", dir, variable, err)
	}
	return dir
}

// descriptor and manifest are the parts of the OCI format that lead to the layers.
// They are read here by hand: the library that wrote the image is no witness.
type descriptor struct {
	MediaType, Digest string
	Platform          struct{ OS, Architecture string }
}

type manifest struct {
	Manifests, Layers []descriptor
	Config            descriptor
}

type config struct {
	Config struct {
		User       string
		Entrypoint []string
		Labels     map[string]string
	}
}

// blob reads a blob of the layout and checks it against its digest.
func blob(t *testing.T, layout, digest string) []byte {
	t.Helper()
	kind, hash, _ := strings.Cut(digest, ":")
	data, err := os.ReadFile(filepath.Join(layout, "blobs", kind, hash))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != hash {
		t.Fatalf("the blob %s has the hash %s", digest, got)
	}
	return data
}

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// open returns the manifest and the configuration of this machine's platform.
func open(t *testing.T, layout string) (manifest, config) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	outer := decode[manifest](t, data)
	if len(outer.Manifests) != 1 {
		t.Fatalf("the layout has %d entries, want one index", len(outer.Manifests))
	}
	for _, entry := range decode[manifest](t, blob(t, layout, outer.Manifests[0].Digest)).Manifests {
		if entry.Platform.OS == "linux" && entry.Platform.Architecture == runtime.GOARCH {
			m := decode[manifest](t, blob(t, layout, entry.Digest))
			return m, decode[config](t, blob(t, layout, m.Config.Digest))
		}
	}
	t.Fatalf("the index has no image for linux/%s", runtime.GOARCH)
	return manifest{}, config{}
}

// unpack writes the layers' files below a folder, as a container engine does.
func unpack(t *testing.T, layout string, m manifest) string {
	t.Helper()
	dir := t.TempDir()
	for _, layer := range m.Layers {
		zipped, err := gzip.NewReader(bytes.NewReader(blob(t, layout, layer.Digest)))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(zipped); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(dir, filepath.FromSlash(header.Name))
			if header.Typeflag == tar.TypeDir {
				if err := os.MkdirAll(at, 0o755); err != nil {
					t.Fatal(err)
				}
				continue
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, data, fs.FileMode(header.Mode)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// TestManagerOfTheImageRuns takes /manager out of the image and runs it on a real
// API server under upstream's own installation: as after a change of the image of
// upstream's Deployment, and nothing else.
func TestManagerOfTheImageRuns(t *testing.T) {
	ctrllog.SetLogger(logr.Discard())
	ctx := t.Context()
	layout := filepath.Join(directory(t, "KUEUE_FLEET_IMAGE", "image"), "oci")
	m, c := open(t, layout)
	if diff := cmp.Diff([]string{"/manager"}, c.Config.Entrypoint); diff != "" {
		t.Fatalf("unexpected entry point (-want,+got):\n%s", diff)
	}
	if c.Config.User != "65532:65532" {
		t.Errorf("the image runs as %q, want 65532:65532", c.Config.User)
	}
	content := unpack(t, layout, m)

	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := managertest.FindUpstream(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Config.Labels["ai.fleet.kueue-fleet.base-version"]; got != upstream.Version {
		t.Errorf("the image names the base version %q, want %s", got, upstream.Version)
	}
	rendered, err := managertest.Render(filepath.Join(upstream.Dir, "config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := managertest.RayDefinitions(ctx, root)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := managertest.ReadFolder(filepath.Join(root, "test", "dropin", "testdata", "scenario"))
	if err != nil {
		t.Fatal(err)
	}
	binaries, err := controlplane.Ensure(ctx, root, t.Logf)
	if err != nil {
		t.Fatal(err)
	}

	manager, err := managertest.StartInstalled(ctx, binaries.Dir, filepath.Join(content, c.Config.Entrypoint[0]), t.TempDir(), rendered, definitions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := manager.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := manager.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if err := manager.AdmitJobs(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	if denied := manager.Denied(); len(denied) > 0 {
		t.Errorf("the API server denied %v", denied)
	}
	version := c.Config.Labels["org.opencontainers.image.version"]
	series := c.Config.Labels["ai.fleet.kueue-fleet.patch-series"]
	for _, want := range []string{version, series} {
		if want == "" || !strings.Contains(strings.Join(manager.Log(), "\n"), `"`+want+`"`) {
			t.Errorf("the manager's log doesn't say %q, as the image's labels do", want)
		}
	}
}

// TestBillOfMaterialsNamesEveryModule reads from the program in the image what it was
// linked from, and looks for each module in the SPDX document beside the image.
func TestBillOfMaterialsNamesEveryModule(t *testing.T) {
	dir := directory(t, "KUEUE_FLEET_IMAGE", "image")
	layout := filepath.Join(dir, "oci")
	m, c := open(t, layout)
	info, err := buildinfo.ReadFile(filepath.Join(unpack(t, layout, m), "manager"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "kueue-fleet-linux-"+runtime.GOARCH+".spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	document := decode[struct {
		Packages []struct{ Name, VersionInfo string }
	}](t, data)
	got := map[string]string{}
	for _, p := range document.Packages {
		got[p.Name] = p.VersionInfo
	}
	want := map[string]string{"sigs.k8s.io/kueue": c.Config.Labels["ai.fleet.kueue-fleet.base-version"]}
	for _, module := range info.Deps {
		if _, known := want[module.Path]; !known {
			want[module.Path] = module.Version
		}
	}
	if len(want) < 50 {
		t.Errorf("the program names %d modules, want those of a whole manager", len(want))
	}
	for path, version := range want {
		if got[path] != version {
			t.Errorf("the document has version %q of %s, want %q", got[path], path, version)
		}
	}
}

// TestLicensesOfEveryModule reads from the program in the image what it was linked
// from, and looks for the license of each module beside it.
func TestLicensesOfEveryModule(t *testing.T) {
	layout := filepath.Join(directory(t, "KUEUE_FLEET_IMAGE", "image"), "oci")
	m, _ := open(t, layout)
	content := unpack(t, layout, m)
	info, err := buildinfo.ReadFile(filepath.Join(content, "manager"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := managertest.FindUpstream(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{
		{filepath.Join(root, "LICENSE"), "LICENSE"}, {filepath.Join(root, "NOTICE"), "NOTICE"},
		{filepath.Join(upstream.Dir, "LICENSE"), "sigs.k8s.io/kueue/LICENSE"},
	} {
		want, err := os.ReadFile(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(content, "licenses", pair[1]))
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("/licenses/%s is not %s (%v)", pair[1], pair[0], err)
		}
	}
	for _, module := range append(info.Deps, &debug.Module{Path: "go"}) {
		names, err := filepath.Glob(filepath.Join(content, "licenses", module.Path, "[LlC][IiO][CcP]*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			t.Errorf("the image has no license of %s", module.Path)
		}
	}
	t.Logf("%d modules have their licenses", len(info.Deps))
}

// TestTwoImagesAreTheSame compares the image with a second build of the commit.
func TestTwoImagesAreTheSame(t *testing.T) {
	first := sums(t, directory(t, "KUEUE_FLEET_IMAGE", "image"))
	second := sums(t, directory(t, "KUEUE_FLEET_IMAGE_AGAIN", "image-again"))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the builds differ (-first,+second):\n%s", diff)
	}
	t.Logf("%d files are the same", len(first))
}

func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = hex.EncodeToString(hash.Sum(nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
