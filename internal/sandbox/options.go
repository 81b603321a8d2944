// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sandbox brings up a whole fleet on one machine, lets jobs run on it
// and takes it down again: a real control plane, the real queue manager as a
// process, KubeRay's own reconcilers, and simulated nodes and Ray programs.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	configapi "fleet.ai/kueue-fleet/apis/config/v1alpha1"
	"fleet.ai/kueue-fleet/internal/controlplane"
	"fleet.ai/kueue-fleet/internal/sandbox/cluster"
	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/manager"
	"fleet.ai/kueue-fleet/internal/sandbox/ports"
	"fleet.ai/kueue-fleet/internal/sandbox/preflight"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// MinMemory is the memory that must be available before a sandbox starts. A
// sandbox of the default shape takes about half of it.
const MinMemory int64 = 2 << 30

const kubeRayModule = "github.com/ray-project/kuberay/ray-operator"

// Options say what a sandbox is made of.
type Options struct {
	// RepoRoot is the checkout.
	RepoRoot string
	// StateRoot is the folder of all sandboxes.
	StateRoot string
	// ManagerBinary is the queue manager to run.
	ManagerBinary string
	// KueueSource is the Kueue tree whose manifests are installed.
	KueueSource string
	// ControlPlaneDir holds the control plane's programs; empty means those
	// that the checkout pins, built if need be.
	ControlPlaneDir string
	// PortBase is the first of consecutive ports; 0 means random free ports.
	PortBase int
	// MemInfo is the file that tells the available memory.
	MemInfo string
	// Scenario has the machines, the queues and the manager's settings.
	Scenario *scenario.Scenario
	// ManagerName is what reports call the manager; empty means what it calls
	// itself.
	ManagerName string
	Clock       clock.WithTicker
	// Log is the process's one Log.
	Log *Log
	// Out gets what a user wants to read.
	Out io.Writer
}

func (o Options) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Out, format+"\n", args...)
}

// prepared is what is known once nothing cheap can fail any more.
type prepared struct {
	binaries cluster.Binaries
	rayCRDs  string
	// fleetManager says that the manager is a kueue-fleet.
	fleetManager bool
}

// prepare checks everything that can be checked before anything starts.
func (o Options) prepare(ctx context.Context) (prepared, error) {
	kustomization := filepath.Join(o.kustomization(), "kustomization.yaml")
	checks := []error{
		o.shape().Validate(),
		preflight.Programs(preflight.Program{
			Name: "the queue manager", Path: o.ManagerBinary, Hint: "build it with make build, or name another with --kueue-bin",
		}),
		preflight.Tool("go", "find KubeRay's custom resource definitions"),
		o.checkMemory(),
	}
	if _, err := os.Stat(kustomization); err != nil {
		checks = append(checks, fmt.Errorf("missing manifests: there is no %s; get them with make vendor, or name another tree with --kueue-src", kustomization))
	}
	if o.ControlPlaneDir != "" {
		checks = append(checks, preflight.Programs(controlPlanePrograms(binariesIn(o.ControlPlaneDir))...))
	}
	if o.PortBase != 0 {
		_, err := ports.Fixed(o.PortBase, nil, ports.Listen)
		checks = append(checks, err)
	}
	if err := errors.Join(checks...); err != nil {
		return prepared{}, err
	}

	p := prepared{binaries: binariesIn(o.ControlPlaneDir), fleetManager: manager.IsFleet(ctx, o.ManagerBinary)}
	if o.ControlPlaneDir == "" {
		built, err := controlplane.Ensure(ctx, o.RepoRoot, o.logf)
		if err != nil {
			return prepared{}, err
		}
		p.binaries = cluster.Binaries{
			Etcd: built.Etcd(), APIServer: built.APIServer(), ControllerManager: built.ControllerManager(),
			Scheduler: built.Scheduler(), Kwok: built.Kwok(),
		}
	}
	module, err := moduleDir(ctx, o.RepoRoot, kubeRayModule)
	if err != nil {
		return prepared{}, err
	}
	p.rayCRDs = filepath.Join(module, "config", "crd", "bases")
	return p, nil
}

func (o Options) shape() fleet.Shape {
	return o.Scenario.Fleet.Shape()
}

// real is how long a time of the story takes.
func (o Options) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / o.Scenario.TimeScale)
}

func (o Options) clusterSettings() cluster.Settings {
	return cluster.Settings{
		WorkerDrain:        o.real(o.Scenario.Drain.Worker.Or(cluster.MeasuredWorkerDrain)),
		HeadDrain:          o.real(o.Scenario.Drain.Head.Or(cluster.MeasuredHeadDrain)),
		LostNodeToleration: o.real(cluster.UsualToleration),
	}
}

// managerSettings leave out what only a kueue-fleet understands if the manager
// is none.
func (o Options) managerSettings(isFleet bool) (manager.Settings, error) {
	m := o.Scenario.Manager
	settings := manager.Settings{
		Gates:          maps.Clone(m.Gates),
		StartWindow:    o.real(m.StartWindow.Or(manager.StartWindow)),
		RecoveryWindow: o.real(m.RecoveryWindow.Or(manager.RecoveryWindow)),
		TimeScale:      o.Scenario.TimeScale,
	}
	if !isFleet {
		return settings, nil
	}
	if settings.Gates == nil {
		settings.Gates = map[string]bool{}
	}
	maps.Copy(settings.Gates, m.FleetGates)
	if len(m.FleetConfig) > 0 {
		config := maps.Clone(m.FleetConfig)
		config["apiVersion"], config["kind"] = configapi.GroupVersion.String(), configapi.Kind
		text, err := yaml.Marshal(config)
		if err != nil {
			return settings, fmt.Errorf("failed to encode the FleetConfiguration: %w", err)
		}
		settings.FleetConfig = text
	}
	return settings, nil
}

func (o Options) checkMemory() error {
	f, err := os.Open(o.MemInfo)
	if err != nil {
		return fmt.Errorf("failed to read the available memory: %w", err)
	}
	defer func() { _ = f.Close() }()
	return preflight.Memory(f, MinMemory)
}

func (o Options) kustomization() string {
	return filepath.Join(o.KueueSource, "config", "default")
}

// choosePorts picks the ports, given those of other sandboxes.
func (o Options) choosePorts(taken []int) (ports.Set, error) {
	if o.PortBase != 0 {
		return ports.Fixed(o.PortBase, taken, ports.Listen)
	}
	return ports.Random(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), taken, ports.Listen)
}

func binariesIn(dir string) cluster.Binaries {
	return cluster.Binaries{
		Etcd:              filepath.Join(dir, "etcd"),
		APIServer:         filepath.Join(dir, "kube-apiserver"),
		ControllerManager: filepath.Join(dir, "kube-controller-manager"),
		Scheduler:         filepath.Join(dir, "kube-scheduler"),
		Kwok:              filepath.Join(dir, "kwok"),
	}
}

func controlPlanePrograms(b cluster.Binaries) []preflight.Program {
	const hint = "build it with make controlplane, or leave out --controlplane-dir"
	var programs []preflight.Program
	for _, path := range []string{b.Etcd, b.APIServer, b.ControllerManager, b.Scheduler, b.Kwok} {
		programs = append(programs, preflight.Program{Name: filepath.Base(path), Path: path, Hint: hint})
	}
	return programs
}

// moduleDir is where the module that the checkout requires is unpacked.
func moduleDir(ctx context.Context, repoRoot, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = repoRoot
	// Only this module's requirements count, whether Kueue is vendored or not.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("failed to find module %s: %w: %s", module, err, strings.TrimSpace(stderr.String()))
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("failed to find module %s: it is not in the module cache; fetch it with go mod download", module)
	}
	return dir, nil
}
