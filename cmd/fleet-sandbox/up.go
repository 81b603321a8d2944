// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"fleet.ai/kueue-fleet/internal/repo"
	"fleet.ai/kueue-fleet/internal/sandbox"
	"fleet.ai/kueue-fleet/internal/sandbox/board"
	"fleet.ai/kueue-fleet/internal/sandbox/play"
)

type upFlags struct {
	boxFlags
	address      string
	allowRemote  bool
	allowChanges bool
}

func newUpCommand() *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:   "up [SCENARIO]",
		Short: "Start the fleet of a scenario without its jobs, show it on a live board, and stay up",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, err := repo.FromWorkingDir()
			if err != nil {
				return err
			}
			name := defaultScenario
			if len(args) > 0 {
				name = args[0]
			}
			return flags.run(cmd, root, name)
		},
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.address, "board", "127.0.0.1:0", "address of the board; port 0 takes any free one")
	f.BoolVar(&flags.allowRemote, "board-allow-remote", false, "let --board be an address that other machines can reach")
	f.BoolVar(&flags.allowChanges, "allow-changes", false, "let the board's buttons submit jobs")
	return cmd
}

func (f *upFlags) run(cmd *cobra.Command, root, name string) error {
	if err := board.CheckAddress(f.address, "--board-allow-remote", f.allowRemote); err != nil {
		return fmt.Errorf("--board: %w", err)
	}
	s, err := loadStory(root, name)
	if err != nil {
		return err
	}
	s.WithoutJobs()
	box, err := sandbox.Up(cmd.Context(), f.options(cmd, root, s.Scenario))
	if err != nil {
		return err
	}
	err = f.follow(cmd, box)
	if errors.As(box.Cause(), new(sandbox.Interrupted)) {
		err = nil // Somebody has seen enough.
	}
	return errors.Join(err, box.Down(err != nil))
}

// follow records and shows the fleet until it ends.
func (f *upFlags) follow(cmd *cobra.Command, box *sandbox.Sandbox) error {
	player, err := box.Player(nil)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.address)
	if err != nil {
		return fmt.Errorf("failed to listen for the board: %w", err)
	}
	live, err := board.New(f.boardOptions(player, box.Done()))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	group, ctx := errgroup.WithContext(box.Context())
	group.Go(func() error { return live.Serve(ctx, listener) })
	group.Go(func() error {
		return player.Follow(ctx, func() {
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "\nThe board is at http://%s\n", listener.Addr())
			howToEnd(cmd, box)
		})
	})
	return group.Wait()
}

// boardOptions are those of a board of what a player records.
func (f *upFlags) boardOptions(player *play.Player, done <-chan struct{}) board.Options {
	return board.Options{
		Source: player.Recorder(), Submitter: board.SubmitFunc(player.Submit),
		AllowChanges: f.allowChanges, AllowRemote: f.allowRemote,
		Done: done, Clock: clock.RealClock{},
	}
}
