// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox"
	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
)

// stateFolder is where a checkout keeps its sandboxes.
const stateFolder = ".sandbox"

type runFlags struct {
	jobs            []string
	kueueBin        string
	kueueSource     string
	controlPlaneDir string
	stateDir        string
	memInfo         string
	portBase        int
	timeout         time.Duration
	keep            bool
}

func newRunCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start a fleet, run jobs on it, report, and take it down",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			return flags.run(cmd, root)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.jobs, "job", nil, "file with RayJobs to submit; may be given several times (default: the two jobs in examples/)")
	f.StringVar(&flags.kueueBin, "kueue-bin", "", "queue manager to run (default: bin/kueue-fleet)")
	f.StringVar(&flags.kueueSource, "kueue-src", "", "Kueue tree whose manifests are installed (default: third_party/kueue)")
	f.StringVar(&flags.controlPlaneDir, "controlplane-dir", "", "folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok (default: build and cache what the checkout pins)")
	f.StringVar(&flags.stateDir, "state-dir", "", "folder for everything that runs write (default: "+stateFolder+")")
	f.StringVar(&flags.memInfo, "meminfo", "/proc/meminfo", "file that tells the available memory")
	f.Lookup("meminfo").Hidden = true // For tests of the check.
	f.IntVar(&flags.portBase, "port-base", 0, "first of nine consecutive ports to use (default: random free ports)")
	f.DurationVar(&flags.timeout, "timeout", 5*time.Minute, "how long the jobs may take")
	f.BoolVar(&flags.keep, "keep", false, "stay up after the jobs, until Ctrl-C or fleet-sandbox down")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, root string) error {
	orDefault := func(value string, names ...string) string {
		if value != "" {
			return value
		}
		return filepath.Join(append([]string{root}, names...)...)
	}
	files := f.jobs
	if len(files) == 0 {
		files = []string{filepath.Join(root, "examples", "fixed-gang.yaml"), filepath.Join(root, "examples", "elastic-eval.yaml")}
	}
	jobs, err := sandbox.LoadJobs(files...)
	if err != nil {
		return err
	}
	box, err := sandbox.Up(cmd.Context(), sandbox.Options{
		RepoRoot:        root,
		StateRoot:       orDefault(f.stateDir, stateFolder),
		ManagerBinary:   orDefault(f.kueueBin, "bin", "kueue-fleet"),
		KueueSource:     orDefault(f.kueueSource, "third_party", "kueue"),
		ControlPlaneDir: f.controlPlaneDir,
		PortBase:        f.portBase,
		MemInfo:         f.memInfo,
		Shape:           fleet.DefaultShape(),
		Clock:           clock.RealClock{},
		Out:             cmd.OutOrStdout(),
	})
	if err != nil {
		return err
	}
	err = box.Run(jobs, f.timeout)
	if f.keep && box.Cause() == nil {
		err = errors.Join(err, stay(cmd, box))
	}
	interrupted := errors.As(err, new(sandbox.Interrupted)) || errors.Is(err, context.Canceled)
	return errors.Join(err, box.Down(err != nil && !interrupted))
}

// stay waits until somebody ends the sandbox, which is no failure.
func stay(cmd *cobra.Command, box *sandbox.Sandbox) error {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "\nThe sandbox stays up. Look inside with:\n  export KUBECONFIG=%s\nEnd it with Ctrl-C, or from elsewhere with:\n  fleet-sandbox down %s\n", box.Kubeconfig(), box.ID())
	<-box.Done()
	if errors.As(box.Cause(), new(sandbox.Interrupted)) {
		return nil
	}
	return box.Cause()
}
