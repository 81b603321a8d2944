// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"fleet.ai/kueue-fleet/internal/release"
)

func toyRelease(t *testing.T) release.Release {
	t.Helper()
	r, err := release.New("v0.19.2-fleet.1", "0123456789ab", "2026-01-02T03:04:05Z", "37@0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// toyProgram is a program in a module of its own, which compiles in a moment.
func toyProgram(t *testing.T) Program {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{
		"go.mod":  "module toy.invalid/manager\n\ngo 1.26.0\n",
		"main.go": "package main\n\nvar version string\n\nfunc main() { println(version) }\n",
		"LICENSE": "toy's terms\n",
		"NOTICE":  "toy's notice\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Program{Dir: dir, Package: ".", LinkerFlags: "-s -w -X main.version=v1"}
}

// build builds the toy's image and returns the folder and the digest.
func build(t *testing.T) (string, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image")
	digest, err := Build(t.Context(), toyRelease(t), toyProgram(t), Platforms(), out)
	if err != nil {
		t.Fatal(err)
	}
	return out, digest
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sums maps the files below dir to their hashes.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = hashOf(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTwoBuildsAreTheSame(t *testing.T) {
	// Each from a source folder of its own, into a folder of its own.
	first, digest := build(t)
	second, again := build(t)
	if digest != again {
		t.Errorf("digests %s and %s, want the same", digest, again)
	}
	got := sums(t, first)
	if len(got) < 12 {
		t.Errorf("the build wrote %d files, want an OCI layout, two archives, two documents and the digest: %v", len(got), got)
	}
	if diff := cmp.Diff(got, sums(t, second)); diff != "" {
		t.Errorf("the builds differ (-first,+second):\n%s", diff)
	}
	written, err := os.ReadFile(filepath.Join(first, DigestName))
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != digest+"\n" {
		t.Errorf("the digest file says %q, want %s", written, digest)
	}
}

func TestFailedBuildLeavesTheLastImage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "image")
	if _, err := Build(t.Context(), toyRelease(t), toyProgram(t), Platforms()[:1], out); err != nil {
		t.Fatal(err)
	}
	before := sums(t, out)
	broken := toyProgram(t)
	broken.Package = "./missing"
	_, err := Build(t.Context(), toyRelease(t), broken, Platforms()[:1], out)
	if err == nil || !strings.Contains(err.Error(), "failed to build ./missing for linux/amd64") {
		t.Errorf("error %v, want one that names the package and the platform", err)
	}
	if diff := cmp.Diff(before, sums(t, out)); diff != "" {
		t.Errorf("the last image changed (-before,+after):\n%s", diff)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{out}, append(left, hidden...)); diff != "" {
		t.Errorf("the failed build left something (-want,+got):\n%s", diff)
	}
}

// TestImage looks at one image from several sides.
func TestImage(t *testing.T) {
	out, digest := build(t)
	t.Run("holds what it should", func(t *testing.T) { checkIndex(t, out) })
	t.Run("is what a container engine would get", func(t *testing.T) { checkRootFS(t, out) })
	t.Run("has a bill of materials", func(t *testing.T) { checkBill(t, out) })
	t.Run("can be pushed", func(t *testing.T) { checkPush(t, out, digest) })
}

func checkIndex(t *testing.T, out string) {
	t.Helper()
	index, err := readIndex(filepath.Join(out, LayoutName))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the index is not valid: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Labels(toyRelease(t)), manifest.Annotations); diff != "" {
		t.Errorf("unexpected annotations of the index (-want,+got):\n%s", diff)
	}
	var platforms []Platform
	for _, descriptor := range manifest.Manifests {
		platform := Platform{OS: descriptor.Platform.OS, Arch: descriptor.Platform.Architecture}
		platforms = append(platforms, platform)
		img, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(platform.Arch, func(t *testing.T) {
			checkImage(t, out, platform, img)
		})
	}
	if diff := cmp.Diff(Platforms(), platforms); diff != "" {
		t.Errorf("unexpected platforms (-want,+got):\n%s", diff)
	}
}

func checkImage(t *testing.T, out string, platform Platform, img v1.Image) {
	t.Helper()
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		User: "65532:65532", Entrypoint: []string{"/manager"}, WorkingDir: "/", Labels: Labels(toyRelease(t)),
		Env: []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("unexpected configuration (-want,+got):\n%s", diff)
	}
	if file.Architecture != platform.Arch || file.OS != platform.OS || !file.Created.Equal(toyRelease(t).Date) {
		t.Errorf("the image is for %s/%s of %s, want %s of %s", file.OS, file.Architecture, file.Created, platform, toyRelease(t).Date)
	}
	modes, bodies := content(t, img)
	for name, want := range map[string]int64{
		"manager": 0o755, "tmp/": 0o1777, "etc/": 0o755, "etc/passwd": 0o644, "etc/ssl/certs/": 0o755,
		"etc/ssl/certs/ca-certificates.crt": 0o644, "usr/share/zoneinfo/Europe/": 0o755, "usr/share/zoneinfo/UTC": 0o644,
		"licenses/": 0o755, "licenses/LICENSE": 0o644, "licenses/NOTICE": 0o644, "licenses/go/LICENSE": 0o644,
		"licenses/" + rootsModule + "/LICENSE": 0o644,
	} {
		if got, found := modes[name]; !found || got != want {
			t.Errorf("%s: mode %o (found: %t), want %o", name, got, found, want)
		}
	}
	compiled := filepath.Join(t.TempDir(), "manager")
	if err := toyProgram(t).Compile(t.Context(), platform, compiled); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(compiled)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(program, bodies["manager"]) {
		t.Error("/manager is not the compiled program")
	}
	if _, err := time.LoadLocationFromTZData("Europe/Berlin", bodies["usr/share/zoneinfo/Europe/Berlin"]); err != nil {
		t.Errorf("a time zone can't be read: %v", err)
	}
	if got := string(bodies["licenses/LICENSE"]); got != "toy's terms\n" {
		t.Errorf("/licenses/LICENSE says %q, want the program's own terms", got)
	}
	checkRoots(t, bodies["etc/ssl/certs/ca-certificates.crt"])

	loaded, err := tarball.ImageFromPath(filepath.Join(out, ArchiveName(platform)), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantName, _ := img.ConfigName()
	if got, err := loaded.ConfigName(); err != nil || got != wantName {
		t.Errorf("the archive holds the image %s (%v), want %s", got, err, wantName)
	}
	archived, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(filepath.Join(out, ArchiveName(platform))) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kueue-fleet:v0.19.2-fleet.1"}, archived[0].RepoTags); diff != "" {
		t.Errorf("unexpected name in the archive (-want,+got):\n%s", diff)
	}
}

// content reads the flattened image.
func content(t *testing.T, img v1.Image) (modes map[string]int64, bodies map[string][]byte) {
	t.Helper()
	modes, bodies = map[string]int64{}, map[string][]byte{}
	stream := mutate.Extract(img)
	defer stream.Close()
	for r := tar.NewReader(stream); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return modes, bodies
		}
		if err != nil {
			t.Fatal(err)
		}
		name := header.Name
		if header.Typeflag == tar.TypeDir {
			name = strings.TrimSuffix(name, "/") + "/"
		}
		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("%s belongs to %d:%d, want root", name, header.Uid, header.Gid)
		}
		modes[name] = header.Mode
		if bodies[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// checkRoots wants every authority that is trusted without conditions, and none
// that isn't.
func checkRoots(t *testing.T, pem []byte) {
	t.Helper()
	want := x509.NewCertPool()
	conditional := 0
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		if root.Constraint == nil {
			want.AddCert(certificate)
		} else {
			conditional++
		}
	}
	got := x509.NewCertPool()
	if !got.AppendCertsFromPEM(pem) || !got.Equal(want) {
		t.Error("the certificate authorities are not those that are trusted without conditions")
	}
	if conditional == 0 {
		t.Log("no authority has conditions at present")
	}
}

func checkRootFS(t *testing.T, out string) {
	t.Helper()
	index, err := readIndex(filepath.Join(out, LayoutName))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "content")
	if err := WriteRootFS(t.Context(), toyProgram(t), Platforms()[0], dir); err != nil {
		t.Fatal(err)
	}
	wantModes, wantBodies := content(t, img)
	gotModes, gotBodies := map[string]int64{}, map[string][]byte{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		mode := int64(info.Mode().Perm())
		if info.Mode()&fs.ModeSticky != 0 {
			mode |= 0o1000
		}
		if d.IsDir() {
			gotModes[name+"/"], gotBodies[name+"/"] = mode, []byte{}
			return nil
		}
		gotModes[name] = mode
		gotBodies[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantModes, gotModes); diff != "" {
		t.Errorf("the folder differs from the image (-image,+folder):\n%s", diff)
	}
	for name, body := range wantBodies {
		if !bytes.Equal(body, gotBodies[name]) {
			t.Errorf("%s differs from the image's", name)
		}
	}
}

func checkBill(t *testing.T, out string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(out, SBOMName(Platforms()[1])))
	if err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	ids := map[string]bool{doc.ID: true}
	for _, p := range doc.Packages {
		if ids[p.ID] {
			t.Errorf("the identifier %s is used twice", p.ID)
		}
		ids[p.ID] = true
		if p.Version == "" {
			t.Errorf("%s has no version", p.Name)
		}
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"kueue-fleet", "stdlib", rootsModule, "tzdata"}, names); diff != "" {
		t.Errorf("unexpected packages (-want,+got):\n%s", diff)
	}
	for _, r := range doc.Relationships {
		if !ids[r.From] || !ids[r.To] {
			t.Errorf("the relationship %v is between unknown parts", r)
		}
	}
	if !slices.ContainsFunc(doc.Relationships, func(r relationship) bool { return r.Type == "DESCRIBES" }) {
		t.Error("the document describes nothing")
	}
}
