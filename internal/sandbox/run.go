// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/sandbox/manager"
	"fleet.ai/kueue-fleet/internal/sandbox/manifests"
	"fleet.ai/kueue-fleet/internal/sandbox/play"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// Run plays the scenario that the sandbox was made for, prints what happens,
// and returns what was recorded. An error says that it could not be played;
// whether its checks hold is in the recording.
func (s *Sandbox) Run(submissions []scenario.Submission) (*recording.Recording, error) {
	player, err := s.Player(submissions)
	if err != nil {
		return nil, err
	}
	s.opts.logf("\nscenario %s: %s", s.opts.Scenario.Name, s.opts.Scenario.Title)
	before, err := s.cost()
	if err != nil {
		return nil, err
	}
	rec, err := player.Play(s.ctx)
	if err != nil {
		return rec, s.explain(err)
	}
	after, err := s.cost()
	if err != nil {
		return rec, err
	}
	after.CPUSeconds -= before.CPUSeconds
	after.WorkloadWrites -= before.WorkloadWrites
	rec.Manager.Cost = &after
	s.opts.logf("ready after %.1f s, all over after %.1f s; %s", s.readyTime.Seconds(), s.opts.Clock.Since(s.started).Seconds(), s.memory())
	return rec, nil
}

// Player returns what plays the sandbox's scenario.
func (s *Sandbox) Player(submissions []scenario.Submission) (*play.Player, error) {
	applier, err := manifests.NewApplier(s.rest)
	if err != nil {
		return nil, err
	}
	live, err := client.New(s.rest, client.Options{Scheme: s.ray.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("failed to make a client: %w", err)
	}
	return play.New(play.Cluster{
		Client: live, Cache: s.ray.GetCache(), Applier: applier, Runtime: s.runtime, Ledger: s.ledger,
		RestartManager: s.restartManager, Manager: s.describeManager(), Clock: s.opts.Clock, Out: s.opts.Out,
	}, s.opts.Scenario, submissions), nil
}

// describeManager names the manager for reports.
func (s *Sandbox) describeManager() recording.Manager {
	m := recording.Manager{Name: s.opts.ManagerName, Version: manager.Version(s.sup.LogPath(manager.Name))}
	if m.Name == "" {
		m.Name = strings.TrimSpace("upstream " + m.Version)
		if s.isFleet {
			m.Name = "kueue-fleet"
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(s.gates)) {
		m.Gates = append(m.Gates, fmt.Sprintf("%s=%t", gate, s.gates[gate]))
	}
	return m
}

// explain prefers the reason for the sandbox's end over what it interrupted.
func (s *Sandbox) explain(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	return err
}

// memory tells how much memory all processes hold, by process.
func (s *Sandbox) memory() string {
	pids := s.sup.PIDs()
	pids["fleet-sandbox with KubeRay"] = os.Getpid()
	var parts []string
	var total int64
	for _, name := range slices.Sorted(maps.Keys(pids)) {
		usage, err := s.proc.Usage(pids[name])
		if err != nil {
			continue // It has just ended; watchChildren tells.
		}
		total += usage.ResidentBytes
		parts = append(parts, fmt.Sprintf("%s %d", name, usage.ResidentBytes>>20))
	}
	return fmt.Sprintf("%d MiB of memory (%s)", total>>20, strings.Join(parts, ", "))
}
