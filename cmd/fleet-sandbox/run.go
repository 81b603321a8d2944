// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox"
	"fleet.ai/kueue-fleet/internal/sandbox/play"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/report"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

const (
	// stateFolder is where a checkout keeps its sandboxes.
	stateFolder = ".sandbox"
	// scenarioFolder is where a checkout keeps its scenarios, and
	// defaultScenario is played when none is named.
	scenarioFolder  = "scenarios"
	defaultScenario = "default"
)

// boxFlags say what a sandbox is made of.
type boxFlags struct {
	kueueBin        string
	kueueSource     string
	controlPlaneDir string
	stateDir        string
	memInfo         string
	portBase        int
	armName         string
	plain           bool
	log             *sandbox.Log
}

func (f *boxFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kueueBin, "kueue-bin", "", "queue manager to run (default: bin/kueue-fleet)")
	flags.StringVar(&f.kueueSource, "kueue-src", "", "Kueue tree whose manifests are installed (default: third_party/kueue)")
	flags.StringVar(&f.controlPlaneDir, "controlplane-dir", "", "folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok (default: build and cache what the checkout pins)")
	flags.StringVar(&f.stateDir, "state-dir", "", "folder for everything that runs write (default: "+stateFolder+")")
	flags.StringVar(&f.memInfo, "meminfo", "/proc/meminfo", "file that tells the available memory")
	flags.Lookup("meminfo").Hidden = true // For tests of the check.
	flags.IntVar(&f.portBase, "port-base", 0, "first of nine consecutive ports to use (default: random free ports)")
	flags.BoolVar(&f.plain, "without-fleet-gates", false, "leave out the scenarios' fleetGates and fleetConfig")
	flags.StringVar(&f.armName, "arm-name", "", "what reports call the queue manager (default: what it calls itself)")
}

func (f *boxFlags) options(cmd *cobra.Command, root string, s *scenario.Scenario) sandbox.Options {
	if f.log == nil {
		f.log = sandbox.NewLog()
	}
	if f.plain {
		s.Manager.FleetGates, s.Manager.FleetConfig = nil, nil
	}
	orDefault := func(value string, names ...string) string {
		if value != "" {
			return value
		}
		return filepath.Join(append([]string{root}, names...)...)
	}
	return sandbox.Options{
		RepoRoot:        root,
		StateRoot:       orDefault(f.stateDir, stateFolder),
		ManagerBinary:   orDefault(f.kueueBin, "bin", "kueue-fleet"),
		KueueSource:     orDefault(f.kueueSource, "third_party", "kueue"),
		ControlPlaneDir: f.controlPlaneDir,
		PortBase:        f.portBase,
		MemInfo:         f.memInfo,
		Scenario:        s,
		ManagerName:     f.armName,
		Clock:           clock.RealClock{},
		Log:             f.log,
		Out:             cmd.OutOrStdout(),
	}
}

type runFlags struct {
	boxFlags
	jobs    []string
	timeout scenario.Duration
	keep    bool
	all     bool
	repeat  int
	out     string
}

// story is a scenario with its jobs read.
type story struct {
	*scenario.Scenario
	submissions []scenario.Submission
}

func newRunCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Play scenarios, each on a fleet of its own, and report",
		Long:  "Play scenarios, given by name (see fleet-sandbox list) or by file, each on a fleet of its own, and report.",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			return flags.run(cmd, root, args)
		},
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&flags.jobs, "job", nil, "file with RayJobs to submit, in place of scenarios; may be given several times")
	f.DurationVar((*time.Duration)(&flags.timeout), "timeout", 0, "how long a scenario may take (default: what it says)")
	f.BoolVar(&flags.keep, "keep", false, "stay up after the scenario, until Ctrl-C or fleet-sandbox down")
	f.BoolVar(&flags.all, "all", false, "play every scenario of the checkout, except those that are long")
	f.IntVar(&flags.repeat, "repeat", 1, "play each scenario so often")
	f.StringVar(&flags.out, "out", "", "folder for recordings and reports (default: none are written)")
	return cmd
}

func (f *runFlags) stories(root string, names []string) ([]story, error) {
	switch {
	case f.repeat < 1:
		return nil, fmt.Errorf("--repeat is %d, allowed is 1 or more", f.repeat)
	case f.all && len(names)+len(f.jobs) > 0:
		return nil, errors.New("--all is given with scenarios or jobs, allowed is one of the two")
	case f.keep && (f.repeat > 1 || len(names) > 1 || f.all):
		return nil, errors.New("--keep is given for several runs, allowed for one")
	case len(f.jobs) > 0 && len(names) > 0:
		return nil, fmt.Errorf("--job is given with scenario %q, allowed is one of the two", names[0])
	case len(f.jobs) > 0:
		s, submissions, err := scenario.AdHoc(f.jobs...)
		if err != nil {
			return nil, err
		}
		return []story{{s, submissions}}, nil
	}
	if f.all {
		var err error
		if names, err = scenario.Names(filepath.Join(root, scenarioFolder)); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		names = []string{defaultScenario}
	}
	var stories []story
	for _, name := range names {
		s, err := loadStory(root, name)
		if err != nil {
			return nil, err
		}
		if f.all && s.Long {
			continue
		}
		stories = append(stories, s)
	}
	return stories, nil
}

// loadStory reads a scenario of the checkout, or of a file.
func loadStory(root, name string) (story, error) {
	file, err := scenario.Find(filepath.Join(root, scenarioFolder), name)
	if err != nil {
		return story{}, err
	}
	s, err := scenario.Load(file)
	if err != nil {
		return story{}, err
	}
	submissions, err := s.Submissions()
	if err != nil {
		return story{}, err
	}
	return story{s, submissions}, nil
}

func (f *runFlags) run(cmd *cobra.Command, root string, names []string) error {
	stories, err := f.stories(root, names)
	if err != nil {
		return err
	}
	var recordings []*recording.Recording
	for _, s := range stories {
		if f.timeout > 0 {
			s.Timeout = f.timeout
		}
		for range f.repeat {
			rec, err := f.playOnce(cmd, root, s)
			if rec != nil {
				recordings = append(recordings, rec)
			}
			if err != nil {
				return errors.Join(err, f.report(cmd, recordings))
			}
		}
	}
	if err := f.report(cmd, recordings); err != nil {
		return err
	}
	for _, rec := range recordings {
		if !play.Passed(rec) {
			return sandbox.ErrChecksFailed
		}
	}
	return nil
}

// playOnce plays a scenario on a sandbox of its own. An error says that it
// could not be played to its end.
func (f *runFlags) playOnce(cmd *cobra.Command, root string, s story) (*recording.Recording, error) {
	box, err := sandbox.Up(cmd.Context(), f.options(cmd, root, s.Scenario))
	if err != nil {
		return nil, err
	}
	rec, err := box.Run(s.submissions)
	if rec != nil && err == nil {
		_, _ = fmt.Fprintln(cmd.OutOrStdout())
		err = report.Text(cmd.OutOrStdout(), []*recording.Recording{rec}, textOptions(cmd))
		sandbox.PrintVerdict(cmd.OutOrStdout(), rec)
	}
	if f.keep && box.Cause() == nil {
		err = errors.Join(err, f.stay(cmd, box))
	}
	interrupted := errors.As(err, new(sandbox.Interrupted)) || errors.Is(err, context.Canceled)
	// What was interrupted has not failed, however much of it was played.
	failed := !interrupted && (err != nil || rec != nil && !play.Passed(rec))
	return rec, errors.Join(err, box.Down(failed))
}

// report writes what was asked for and says how many runs passed.
func (f *runFlags) report(cmd *cobra.Command, recordings []*recording.Recording) error {
	if len(recordings) > 1 {
		sandbox.PrintTotals(cmd.OutOrStdout(), recordings)
	}
	if f.out == "" || len(recordings) == 0 {
		return nil
	}
	return sandbox.WriteReports(f.out, recordings, report.Options{})
}

func textOptions(cmd *cobra.Command) report.Options {
	return report.Options{Color: report.UseColor(cmd.OutOrStdout(), os.Getenv)}
}

// stay waits until somebody ends the sandbox, which is no failure.
func (f *runFlags) stay(cmd *cobra.Command, box *sandbox.Sandbox) error {
	howToEnd(cmd, box)
	<-box.Done()
	if errors.As(box.Cause(), new(sandbox.Interrupted)) {
		return nil
	}
	return box.Cause()
}

func howToEnd(cmd *cobra.Command, box *sandbox.Sandbox) {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "\nThe sandbox stays up. Look inside with:\n  export KUBECONFIG=%s\nEnd it with Ctrl-C, or from elsewhere with:\n  fleet-sandbox down %s\n", box.Kubeconfig(), box.ID())
}
