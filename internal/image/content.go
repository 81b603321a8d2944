// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// UID is the user and the group that the manager runs as, the one that upstream's
// image has.
const UID = 65532

// Places in the image.
const (
	managerPath = "manager"
	rootsPath   = "etc/ssl/certs/ca-certificates.crt"
	zonesPath   = "usr/share/zoneinfo"
)

// entry is a file or a folder of the image, owned by root.
type entry struct {
	// name is the path without a leading slash; a folder's ends in one.
	name string
	mode int64
	body []byte
}

func (e entry) folder() bool { return strings.HasSuffix(e.name, "/") }

// Base is everything in the image but the manager and the licenses.
type Base struct {
	// RootsVersion is the version of the module that the certificate authorities
	// are from.
	RootsVersion string
	// ZonesVersion is the release of the time zone database, as in 2025b.
	ZonesVersion string
	entries      []entry
}

// ReadBase gathers the content from the Go distribution in use and from the
// modules of the checkout that holds the working directory.
func ReadBase(ctx context.Context) (Base, error) {
	roots, err := certificateRoots()
	if err != nil {
		return Base{}, err
	}
	rootsVersion, err := goSays(ctx, "list", "-m", "-f", "{{.Version}}", rootsModule)
	if err != nil {
		return Base{}, fmt.Errorf("failed to find the version of the certificate authorities: %w", err)
	}
	distribution, err := goSays(ctx, "env", "GOROOT")
	if err != nil {
		return Base{}, fmt.Errorf("failed to find the Go distribution: %w", err)
	}
	zones, zonesVersion, err := timeZones(filepath.Join(distribution, "lib", "time"))
	if err != nil {
		return Base{}, fmt.Errorf("failed to read the time zones of the Go distribution: %w", err)
	}
	entries := slices.Concat(zones, []entry{
		{name: "tmp/", mode: 0o1777},
		{name: "etc/passwd", mode: 0o644, body: fmt.Appendf(nil,
			"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%[1]d:%[1]d:nonroot:/:/sbin/nologin\n", UID)},
		{name: "etc/group", mode: 0o644, body: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", UID)},
		{name: rootsPath, mode: 0o644, body: roots},
	})
	return Base{RootsVersion: rootsVersion, ZonesVersion: zonesVersion, entries: entries}, nil
}

// goSays returns what the go command answers.
func goSays(ctx context.Context, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("failed to run go %s: %w:\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// withFolders adds the folders that entries lie in and sorts everything by name,
// which puts a folder before what is in it.
func withFolders(entries []entry) []entry {
	have := map[string]bool{}
	for _, e := range entries {
		have[e.name] = true
	}
	for _, e := range entries {
		for dir := path.Dir(strings.TrimSuffix(e.name, "/")); dir != "."; dir = path.Dir(dir) {
			if name := dir + "/"; !have[name] {
				have[name] = true
				entries = append(entries, entry{name: name, mode: 0o755})
			}
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries
}

// certificateRoots returns the certificate authorities of the Mozilla root
// program, as PEM. Those that it trusts under conditions are left out, since the
// file can't say the conditions.
func certificateRoots() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("failed to encode a certificate authority: %w", err)
		}
	}
	return out.Bytes(), nil
}

var zonesVersion = regexp.MustCompile(`(?m)^DATA=(\S+)$`)

// timeZones reads the database in the folder of a Go distribution. The script
// that brings it up to date is the only place that says which release it is.
func timeZones(dir string) ([]entry, string, error) {
	script := filepath.Join(dir, "update.bash")
	data, err := os.ReadFile(script)
	if err != nil {
		return nil, "", err
	}
	version := zonesVersion.FindSubmatch(data)
	if version == nil {
		return nil, "", fmt.Errorf("%s has no line DATA=VERSION", script)
	}
	entries, err := unzip(filepath.Join(dir, "zoneinfo.zip"), zonesPath)
	if err != nil {
		return nil, "", err
	}
	return entries, string(version[1]), nil
}

func unzip(file, below string) ([]entry, error) {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = archive.Close() }()
	var entries []entry
	for _, f := range archive.File {
		if f.FileInfo().IsDir() {
			continue
		}
		reader, err := f.Open()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(reader)
		reader.Close()
		if err != nil {
			return nil, fmt.Errorf("failed to read %s: %w", f.Name, err)
		}
		entries = append(entries, entry{name: path.Join(below, f.Name), mode: 0o644, body: body})
	}
	return entries, nil
}
