// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command admission measures how long jobs wait for the queue manager, end to
// end: real API server, scheduler and KubeRay, simulated nodes and Ray runtime, and
// upstream's manager and ours as processes, in turn, with the same scenario. How to
// read its report is in docs/benchmarks.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"fleet.ai/kueue-fleet/internal/managertest"
	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// arm is a queue manager that is measured.
type arm struct {
	Name string
	// Binary is the program; empty for bin/kueue-fleet.
	Binary string
	// Plain leaves the fleet gates off.
	Plain bool
}

type options struct {
	scenarios string
	upstream  string
	rounds    int
	out       string
}

func main() {
	var o options
	flag.StringVar(&o.scenarios, "scenarios", "gpu192-churn,gpu192-preempt,gpu192-mixed", "names of scenarios, separated by commas, in this order")
	flag.StringVar(&o.upstream, "upstream", "", "upstream's manager (default: built from the module as it is)")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each arm plays each scenario, the arms in turn")
	flag.StringVar(&o.out, "out", "", "folder for recordings and the report (default: artifacts/admission)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "admission:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.rounds < 1 {
		return fmt.Errorf("-rounds is %d, allowed is 1 or more", o.rounds)
	}
	root, err := repo.FromWorkingDir()
	if err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Join(root, "artifacts", "admission")
	}
	if o.upstream == "" {
		if o.upstream, err = buildUpstream(ctx, root); err != nil {
			return err
		}
	}
	arms := []arm{{Name: "upstream", Binary: o.upstream, Plain: true}, {Name: "fleet, gates off", Plain: true}, {Name: "fleet, gates on"}}
	var rep report
	for name := range strings.SplitSeq(o.scenarios, ",") {
		file := filepath.Join(root, "test", "perf", "admission", "scenarios", name+".yaml")
		for round := range o.rounds {
			for i := range arms {
				// Each arm comes first in its turn.
				a := arms[(i+round)%len(arms)]
				rec, err := play(ctx, root, file, a, filepath.Join(o.out, fmt.Sprintf("%s-%s-%d", name, strings.ReplaceAll(strings.ReplaceAll(a.Name, ",", ""), " ", "-"), round+1)))
				if err != nil {
					return err
				}
				m := measure(rec)
				fmt.Fprintf(os.Stderr, "%s, %s, round %d: %s\n", name, a.Name, round+1, m)
				rep.add(name, a.Name, m)
			}
		}
	}
	return rep.write(o.out, os.Stdout)
}

// play plays a scenario on a sandbox of its own. Jobs that don't end as they should
// are part of the result, and no error.
func play(ctx context.Context, root, file string, a arm, out string) (*recording.Recording, error) {
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return nil, err
	}
	args := []string{"run", file, "--arm-name", a.Name, "--out", out}
	if a.Binary != "" {
		args = append(args, "--kueue-bin", a.Binary)
	}
	if a.Plain {
		args = append(args, "--without-fleet-gates")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "bin", "fleet-sandbox"), args...)
	cmd.Dir = root
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	log, err := os.Create(filepath.Join(out, "output.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	runErr := cmd.Run()
	found, err := filepath.Glob(filepath.Join(out, "*.recording.json"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("failed to play %s with %s, see %s: %w", filepath.Base(file), a.Name, log.Name(), errors.Join(runErr, err))
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return nil, err
	}
	rec := new(recording.Recording)
	if err := json.Unmarshal(data, rec); err != nil {
		return nil, fmt.Errorf("failed to read %s: %w", found[0], err)
	}
	return rec, nil
}

// buildUpstream builds the manager of the module as it is.
func buildUpstream(ctx context.Context, root string) (string, error) {
	module, err := managertest.FindUpstream(ctx, root)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "upstream")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return managertest.BuildUpstream(ctx, module, dir)
}
