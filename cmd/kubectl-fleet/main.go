// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-fleet is a plugin of kubectl that says why a Workload waits or was
// evicted, who has the nodes, and whether a cluster is ready for a swap. It only
// reads, with the user's own rights.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"fleet.ai/kueue-fleet/internal/clusterread"
	"fleet.ai/kueue-fleet/internal/doctor"
	"fleet.ai/kueue-fleet/internal/explain"
	"fleet.ai/kueue-fleet/pkg/version"
)

// errUnhealthy ends doctor with exit code 1; the report says why.
var errUnhealthy = errors.New("the cluster is not ready")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(os.Stdout).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubectl-fleet:", err)
		os.Exit(1)
	}
}

// options are the flags that all commands have.
type options struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
	output    string
}

func command(stdout io.Writer) *cobra.Command {
	o := &options{rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
	root := &cobra.Command{
		Use:           "kubectl-fleet",
		Short:         "Look into the queues of a GPU fleet; reads only",
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if o.output != "table" && o.output != "json" {
				return fmt.Errorf("invalid --output %q: want table or json", o.output)
			}
			return nil
		},
	}
	root.SetOut(stdout)
	flags := root.PersistentFlags()
	flags.StringVar(&o.rules.ExplicitPath, "kubeconfig", "", "the kubeconfig file")
	flags.StringVar(&o.overrides.CurrentContext, "context", "", "the context of the kubeconfig")
	flags.StringVarP(&o.overrides.Context.Namespace, "namespace", "n", "", "the namespace")
	flags.StringVarP(&o.output, "output", "o", "table", "table or json")
	root.AddCommand(o.explainCommand(), o.whyEvictedCommand(), o.boardCommand(), o.doctorCommand())
	return root
}

// reader connects to the cluster and returns the namespace in use, too.
func (o *options) reader() (*clusterread.Reader, string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules, o.overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("failed to read the kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("failed to read the kubeconfig: %w", err)
	}
	// A few lists, all at once.
	config.QPS, config.Burst = 50, 100
	reader, err := clusterread.New(config, time.Now)
	return reader, namespace, err
}

// printer is what a report can do.
type printer interface{ Print(io.Writer) }

func (o *options) print(out io.Writer, report printer) error {
	if o.output == "table" {
		report.Print(out)
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("failed to encode the report: %w", err)
	}
	fmt.Fprintln(out, string(data))
	return nil
}

func (o *options) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME",
		Short: "Say why a Workload waits, what is free, and what would start now",
		Long: `explain says why a Workload waits. NAME is the Workload's, or that of its job.

It compares what the Workload asks for with the quota and the nodes, names the
blocker, and tries other shapes of the job. It is its own arithmetic over a state
that moves, and tries no preemption; the scheduler's last message stands beside it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reader, namespace, err := o.reader()
			if err != nil {
				return err
			}
			state, err := reader.Explain(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			return o.print(cmd.OutOrStdout(), explain.Explain(state))
		},
	}
}

func (o *options) doctorCommand() *cobra.Command {
	base := version.Get().Base
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say whether the cluster is ready for a swap, or for going back",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			reader, _, err := o.reader()
			if err != nil {
				return err
			}
			state, err := reader.Doctor(cmd.Context())
			if err != nil {
				return err
			}
			report := doctor.Examine(state, base)
			if err := o.print(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if report.Failed() {
				return errUnhealthy
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&base, "base", base, "the version of Kueue that the swap is to")
	return cmd
}
