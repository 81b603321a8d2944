// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"
)

// step is one go build.
type step struct {
	// dir is the tool module the build runs in.
	dir string
	// output is the value of -o below the target folder; with a trailing slash
	// each package is named after its folder.
	output   string
	ldflags  string
	packages []string
}

// program is one of the built files and how it tells its version.
type program struct {
	name string
	// wantVersion must be a line of the output of --version.
	wantVersion string
}

func buildSteps(m toolModules, v Versions) []step {
	return []step{
		{
			dir:     m.kubernetes.dir,
			output:  "/",
			ldflags: kubernetesLDFlags(v.Kubernetes),
			packages: []string{
				kubernetesModule + "/cmd/kube-apiserver",
				kubernetesModule + "/cmd/kube-controller-manager",
				kubernetesModule + "/cmd/kube-scheduler",
			},
		},
		// The root package of the server module is etcd's main.
		{dir: m.kubernetes.dir, output: "/etcd", ldflags: "-s -w", packages: []string{etcdModule}},
		{dir: m.kwok.dir, output: "/kwok", ldflags: "-s -w", packages: []string{kwokModule + "/cmd/kwok"}},
	}
}

func programs(v Versions) []program {
	return []program{
		{name: "etcd", wantVersion: "etcd Version: " + strings.TrimPrefix(v.Etcd, "v")},
		{name: "kube-apiserver", wantVersion: "Kubernetes " + v.Kubernetes},
		{name: "kube-controller-manager", wantVersion: "Kubernetes " + v.Kubernetes},
		{name: "kube-scheduler", wantVersion: "Kubernetes " + v.Kubernetes},
		// kwok prints its name, its version, and what it was built with.
		{name: "kwok", wantVersion: "kwok version " + v.Kwok},
	}
}

// kubernetesLDFlags stamps the version. Without it the API server says that it
// is 0.0.0, and clients that compare versions refuse to work with it. The date is
// left alone, so that the same sources give the same bytes.
func kubernetesLDFlags(version string) string {
	majorMinor := strings.TrimPrefix(semver.MajorMinor(version), "v")
	major, minor, _ := strings.Cut(majorMinor, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, set := range [][2]string{
			{"gitVersion", version},
			{"gitMajor", major},
			{"gitMinor", minor},
			{"gitTreeState", "archive"},
		} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, set[0], set[1]))
		}
	}
	return strings.Join(flags, " ")
}
