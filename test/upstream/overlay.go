// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fleet.ai/kueue-fleet/internal/gooverlay"
)

// The files that an overlay puts into the tree. The tree itself stays as it is.
const (
	gatesFile = "pkg/features/zz_fleet_gates.go"
	cacheFile = "pkg/cache/scheduler/cache.go"
	hookFile  = "pkg/cache/scheduler/zz_fleet_fit.go"
	fitFile   = "test/fleetfit/fleetfit.go"
	// registerFile is in every package under test. It is of the external test
	// package, which may import what imports the package itself.
	registerFile = "zz_fleet_fit_test.go"

	// useFit is where the cache takes the engines that its options name, and
	// useTestFit what the overlay makes of it.
	useFit     = "cache.tasCache.useFit(cache.topologyFit)"
	useTestFit = "cache.tasCache.useFit(fleetTestFit(cache.topologyFit))"
)

const gatesSource = `package features

import utilfeature "k8s.io/apiserver/pkg/util/feature"

func init() {
	if err := utilfeature.DefaultMutableFeatureGate.Set(%q); err != nil {
		panic(err)
	}
}
`

const hookSource = `package scheduler

// FleetTestFit makes the engines of caches that are not given any.
var FleetTestFit func() TopologyFit

func fleetTestFit(named TopologyFit) TopologyFit {
	if named == nil && FleetTestFit != nil {
		return FleetTestFit()
	}
	return named
}
`

const fitSource = `package fleetfit

import (
	"fleet.ai/kueue-fleet/pkg/elasticfit/kueueadapter"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
)

func init() {
	schdcache.FleetTestFit = func() schdcache.TopologyFit { return kueueadapter.New() }
}
`

const registerSource = `package %s_test

import _ "sigs.k8s.io/kueue/test/fleetfit"
`

// overlayPackage is a package under test.
type overlayPackage struct {
	// Dir is its folder in the tree, Name its package clause.
	Dir, Name string
}

// overlay writes the overlay of a plan that runs with gates or with the fit engine.
func (p plan) overlay(ctx context.Context, dir, tree string, o options) (string, error) {
	args := []string{"list", "-C", tree, "-f", "{{.ImportPath}} {{.Name}}"}
	for _, s := range p.suites {
		args = append(args, "./"+s.Path)
	}
	for _, unit := range p.units {
		args = append(args, "./"+unit)
	}
	out, err := output(exec.CommandContext(ctx, "go", args...))
	if err != nil {
		return "", err
	}
	var packages []overlayPackage
	for line := range nonEmptyLines(out) {
		importPath, name, _ := strings.Cut(line, " ")
		packages = append(packages, overlayPackage{
			Dir: strings.TrimPrefix(importPath, kueueModule+"/"), Name: strings.TrimSuffix(name, "_test"),
		})
	}
	return writeOverlay(dir, tree, o.gates, o.fit, packages)
}

// writeOverlay writes what the go command's -overlay flag reads, with the files it
// names, to dir, and returns its path. With gates, which are written as for
// --feature-gates, the tests run with these gates; with fit, every scheduler cache
// of the given packages has the fit engine.
func writeOverlay(dir, tree, gates string, fit bool, packages []overlayPackage) (string, error) {
	files := map[string]string{}
	if gates != "" {
		files[gatesFile] = fmt.Sprintf(gatesSource, gates)
	}
	if fit {
		cache, err := os.ReadFile(filepath.Join(tree, cacheFile))
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(cache), useFit); n != 1 {
			return "", fmt.Errorf("failed to put the fit engine into %s: %q is there %d times, want once", cacheFile, useFit, n)
		}
		files[cacheFile] = strings.Replace(string(cache), useFit, useTestFit, 1)
		files[hookFile], files[fitFile] = hookSource, fitSource
		for _, p := range packages {
			files[filepath.Join(p.Dir, registerFile)] = fmt.Sprintf(registerSource, p.Name)
		}
	}
	return gooverlay.Write(dir, tree, files)
}
