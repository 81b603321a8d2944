// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVersionComesFromTheLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if got := Version(file); got != "" {
		t.Errorf("without a log it is %q", got)
	}
	const log = `{"level":"info","msg":"Starting"}` + "\n" + `{"msg":"Initializing","gitVersion":"v9.8.7","gitCommit":"x"}` + "\n"
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Version(file); got != "v9.8.7" {
		t.Errorf("got %q, want v9.8.7", got)
	}
}

func TestIsFleet(t *testing.T) {
	for flag, want := range map[string]bool{"-fleet-config string": true, "-config string": false} {
		program := filepath.Join(t.TempDir(), "manager")
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho '  "+flag+"' >&2\nexit 2\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := IsFleet(context.Background(), program); got != want {
			t.Errorf("a program with the flag %s: %v, want %v", flag, got, want)
		}
	}
}

func TestSettingsReachTheConfiguration(t *testing.T) {
	settings := Settings{
		Gates: map[string]bool{"SomeGate": true, "TopologyAwareScheduling": false}, StartWindow: 3 * time.Minute, RecoveryWindow: time.Second,
		TimeScale: 100, FleetConfig: []byte("kind: FleetConfiguration\n"),
	}
	m, err := New(t.TempDir(), testPorts(), settings, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(m.configFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"SomeGate: true", "TopologyAwareScheduling: false", "timeout: 3m0s", "recoveryTimeout: 1s",
		// 60 s and 600 s of the story, but at least a second.
		"backoffBaseSeconds: 1\n", "backoffMaxSeconds: 6\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the configuration lacks %q", want)
		}
	}
	args := strings.Join(m.Spec("bin", "kubeconfig").Args, " ")
	if !strings.Contains(args, "--fleet-config "+m.fleetConfigFile()) {
		t.Errorf("arguments are %s", args)
	}
	without, err := New(t.TempDir(), testPorts(), testSettings(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(without.Spec("bin", "kubeconfig").Args, " "); strings.Contains(args, "fleet-config") {
		t.Errorf("arguments are %s, want none of kueue-fleet", args)
	}
}
