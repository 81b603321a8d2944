// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	kwokModule       = "sigs.k8s.io/kwok"
)

// Versions are the versions of the programs, with the leading v.
type Versions struct {
	Kubernetes string
	Etcd       string
	Kwok       string
}

// toolModule is a module below hack/controlplane, as the build sees it.
type toolModule struct {
	dir    string
	goMod  []byte
	goSum  []byte
	parsed *modfile.File
}

// toolModules are the two modules that pin the control plane.
type toolModules struct {
	kubernetes toolModule
	kwok       toolModule
}

func readToolModules(repoRoot string) (toolModules, error) {
	base := filepath.Join(repoRoot, "hack", "controlplane")
	kubernetes, err := readToolModule(filepath.Join(base, "kubernetes"))
	if err != nil {
		return toolModules{}, err
	}
	kwok, err := readToolModule(filepath.Join(base, "kwok"))
	if err != nil {
		return toolModules{}, err
	}
	return toolModules{kubernetes: kubernetes, kwok: kwok}, nil
}

func readToolModule(dir string) (toolModule, error) {
	path := filepath.Join(dir, "go.mod")
	goMod, err := os.ReadFile(path)
	if err != nil {
		return toolModule{}, fmt.Errorf("failed to read the pinned versions: %w", err)
	}
	goSum, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		return toolModule{}, fmt.Errorf("failed to read the pinned hashes: %w", err)
	}
	parsed, err := modfile.Parse(path, goMod, nil)
	if err != nil {
		return toolModule{}, fmt.Errorf("failed to parse the pinned versions: %w", err)
	}
	return toolModule{dir: dir, goMod: goMod, goSum: goSum, parsed: parsed}, nil
}

// version is the version of a module that m requires.
func (m toolModule) version(module string) (string, error) {
	for _, req := range m.parsed.Require {
		if req.Mod.Path == module {
			if !semver.IsValid(req.Mod.Version) {
				return "", fmt.Errorf("%s: version %q of %s is not a semantic version", m.parsed.Syntax.Name, req.Mod.Version, module)
			}
			return req.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", m.parsed.Syntax.Name, module)
}

func (m toolModules) versions() (Versions, error) {
	var v Versions
	var err error
	if v.Kubernetes, err = m.kubernetes.version(kubernetesModule); err != nil {
		return Versions{}, err
	}
	if v.Etcd, err = m.kubernetes.version(etcdModule); err != nil {
		return Versions{}, err
	}
	if v.Kwok, err = m.kwok.version(kwokModule); err != nil {
		return Versions{}, err
	}
	return v, nil
}
