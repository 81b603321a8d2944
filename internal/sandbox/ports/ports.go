// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports picks the loopback ports of a sandbox.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
)

// Name says what a port is for.
type Name string

// The ports of a sandbox.
const (
	EtcdClient        Name = "etcd-client"
	EtcdPeer          Name = "etcd-peer"
	APIServer         Name = "kube-apiserver"
	ControllerManager Name = "kube-controller-manager"
	Scheduler         Name = "kube-scheduler"
	Kwok              Name = "kwok"
	ManagerHealth     Name = "manager-health"
	ManagerMetrics    Name = "manager-metrics"
	ManagerWebhook    Name = "manager-webhook"
)

// All lists every port, in the order in which fixed ports are numbered.
func All() []Name {
	return []Name{
		EtcdClient, EtcdPeer, APIServer, ControllerManager, Scheduler, Kwok,
		ManagerHealth, ManagerMetrics, ManagerWebhook,
	}
}

// Random ports come from [randomLow, randomHigh): above the well-known
// services and below Linux's default ephemeral range (32768), so that an
// outgoing connection cannot take a port between its choice and its use.
const (
	randomLow  = 20000
	randomHigh = 32000
	// maxTries bounds the search when nearly all ports are taken.
	maxTries = 1000
)

// Set holds one port for each name.
type Set map[Name]int

// Addr returns the loopback address of a port.
func (s Set) Addr(name Name) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s[name]))
}

// Free reports whether a port can be listened on; nil means it can.
type Free func(port int) error

// Listen is the Free that asks the kernel.
func Listen(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// Fixed returns consecutive ports from base on, in the order of All. A port
// in use, or held by another sandbox, is an error that names it.
func Fixed(base int, taken []int, free Free) (Set, error) {
	names := All()
	if last := base + len(names) - 1; base < 1024 || last > 65535 {
		return nil, fmt.Errorf("failed to use port base %d: it must be from 1024 to %d", base, 65535-len(names)+1)
	}
	set := Set{}
	for i, name := range names {
		port := base + i
		if slices.Contains(taken, port) {
			return nil, fmt.Errorf("failed to use port %d for %s: another sandbox has it", port, name)
		}
		if err := free(port); err != nil {
			return nil, fmt.Errorf("failed to use port %d for %s, is it in use? %w", port, name, err)
		}
		set[name] = port
	}
	return set, nil
}

// Random returns free ports that no sandbox in taken has.
func Random(rng *rand.Rand, taken []int, free Free) (Set, error) {
	set := Set{}
	used := slices.Clone(taken)
	for _, name := range All() {
		port, err := pick(rng, used, free)
		if err != nil {
			return nil, fmt.Errorf("failed to find a port for %s: %w", name, err)
		}
		set[name] = port
		used = append(used, port)
	}
	return set, nil
}

func pick(rng *rand.Rand, used []int, free Free) (int, error) {
	var last error
	for range maxTries {
		port := randomLow + rng.IntN(randomHigh-randomLow)
		if slices.Contains(used, port) {
			continue
		}
		if last = free(port); last == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("none of %d ports tried from %d to %d is free, the last said: %w", maxTries, randomLow, randomHigh-1, last)
}
