// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/mod/module"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Rendering lists the files that upstream's build makes and its module lacks.
type Rendering struct {
	Kustomizations []Kustomization
	Copies         []Copy
}

// Kustomization is a kustomize build of Dir, written to Output. Both are
// relative to the tree.
type Kustomization struct {
	Dir, Output string
}

// Copy takes files out of a module that the tree's go.mod requires.
type Copy struct {
	Module string
	// Files is a glob inside the module; folders that it matches are left out.
	Files string
	// Except names files to leave out.
	Except []string
	// To is a folder of the tree.
	To string
}

// KueueRendering is what Kueue's integration suites read besides the module.
func KueueRendering() Rendering {
	crds := func(name string) string { return filepath.Join("dep-crds", name) }
	return Rendering{
		Kustomizations: []Kustomization{
			{Dir: "config/components/crd", Output: "config/components/crd/_output/crds-with-webhooks.yaml"},
		},
		Copies: []Copy{
			{Module: "github.com/kubeflow/mpi-operator", Files: "manifests/base/*", To: crds("mpi-operator")},
			// Training Operator's MPIJob is an older one than MPI Operator's.
			{Module: "github.com/kubeflow/training-operator", Files: "manifests/base/crds/*", Except: []string{"kubeflow.org_mpijobs.yaml"}, To: crds("training-operator-crds")},
			{Module: "github.com/kubeflow/trainer/v2", Files: "manifests/base/crds/*", To: crds("kf-trainer-crds")},
			{Module: "github.com/kubeflow/trainer/v2", Files: "manifests/base/runtimes/*_distributed.yaml", To: crds("kf-trainer-runtimes")},
			{Module: "github.com/ray-project/kuberay/ray-operator", Files: "config/crd/bases/*", To: crds("ray-operator-crds")},
			{Module: "sigs.k8s.io/jobset", Files: "config/components/crd/bases/*", To: crds("jobset-operator")},
			{Module: "sigs.k8s.io/lws", Files: "config/crd/bases/*", To: crds("leaderworkerset-operator")},
			{Module: "k8s.io/autoscaler/cluster-autoscaler/apis", Files: "config/crd/*", To: crds("cluster-autoscaler")},
			{Module: "github.com/project-codeflare/appwrapper", Files: "config/crd/bases/*", To: crds("appwrapper-crds")},
			{Module: "sigs.k8s.io/cluster-inventory-api", Files: "config/crd/bases/*", To: crds("clusterprofile")},
			{Module: "github.com/kubeflow/spark-operator/v2", Files: "config/crd/bases/*", To: crds("spark-operator-crds")},
		},
	}
}

// outputs lists the rendered paths, relative to the tree.
func (r Rendering) outputs() []string {
	var out []string
	for _, k := range r.Kustomizations {
		out = append(out, k.Output)
	}
	for _, c := range r.Copies {
		out = append(out, c.To)
	}
	return out
}

// missing returns the first rendered path that the tree lacks, or "".
func (r Rendering) missing(tree string) string {
	for _, output := range r.outputs() {
		if _, err := os.Stat(filepath.Join(tree, output)); err != nil {
			return output
		}
	}
	return ""
}

// render writes the files into the tree, over what is there.
func (r Rendering) render(ctx context.Context, g GoCommand, tree string) error {
	for _, output := range r.outputs() {
		if err := os.RemoveAll(filepath.Join(tree, output)); err != nil {
			return fmt.Errorf("failed to clear %s: %w", output, err)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for _, k := range r.Kustomizations {
			if err := k.build(tree); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error { return r.copyAll(ctx, g, tree) })
	return group.Wait()
}

func (k Kustomization) build(tree string) error {
	options := krusty.MakeDefaultOptions()
	// The order of the kustomize program, whose output this file is elsewhere.
	options.Reorder = krusty.ReorderOptionUnspecified
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(tree, k.Dir))
	if err != nil {
		return fmt.Errorf("failed to build the kustomization %s: %w", k.Dir, err)
	}
	yaml, err := resources.AsYaml()
	if err != nil {
		return fmt.Errorf("failed to write the kustomization %s as YAML: %w", k.Dir, err)
	}
	return writeFile(filepath.Join(tree, k.Output), yaml)
}

func (r Rendering) copyAll(ctx context.Context, g GoCommand, tree string) error {
	if len(r.Copies) == 0 {
		return nil
	}
	// Versions and hashes are those of the tree's own go.mod and go.sum.
	mods, err := readModFile(tree)
	if err != nil {
		return err
	}
	var versions []module.Version
	for _, c := range r.Copies {
		var version module.Version
		if version, err = mods.required(c.Module); err != nil {
			return err
		}
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	modules, err := mods.download(ctx, g, versions...)
	if err != nil {
		return err
	}
	for _, m := range modules {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := VerifyDir(m.Dir, m); err != nil {
			return err
		}
		for _, c := range r.Copies {
			if c.Module != m.Path {
				continue
			}
			if err := c.copy(m, tree); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Copy) copy(m Module, tree string) error {
	files, err := filepath.Glob(filepath.Join(m.Dir, c.Files))
	if err != nil {
		return fmt.Errorf("failed to list %s of %s: %w", c.Files, m, err)
	}
	copied := 0
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return fmt.Errorf("failed to look at a file of %s: %w", m, err)
		}
		if info.IsDir() || slices.Contains(c.Except, filepath.Base(file)) {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("failed to read a file of %s: %w", m, err)
		}
		if err := writeFile(filepath.Join(tree, c.To, filepath.Base(file)), raw); err != nil {
			return err
		}
		copied++
	}
	if copied == 0 {
		return errors.New(m.String() + " holds no file " + c.Files + ", wanted for " + c.To)
	}
	return nil
}
