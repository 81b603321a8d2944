// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"fmt"
	"time"
)

// Settings are the cluster's settings for Workloads without ready pods.
type Settings struct {
	// Start is the start window, Recovery the recovery window; 0 is for ever.
	Start, Recovery time.Duration
	Backoff         Backoff
}

// Window is the time that a Workload has, and where that comes from.
type Window struct {
	// Kind is "start" or "recovery".
	Kind string
	// Length is 0 if the Workload isn't evicted, however long it takes.
	Length time.Duration
	Source Source
	// ClusterDefault is what applies to a Workload that asks for nothing.
	ClusterDefault time.Duration
}

// String says which window applies and why, for events and conditions.
func (w Window) String() string {
	if w.Source == Cluster {
		return fmt.Sprintf("%s window %s, the cluster default", w.Kind, formatWindow(w.Length))
	}
	return fmt.Sprintf("%s window %s from %s; cluster default %s",
		w.Kind, formatWindow(w.Length), w.Source.describe(), formatWindow(w.ClusterDefault))
}

func (s Source) describe() string {
	switch s {
	case PodTemplate:
		return "pod template annotation"
	case Job:
		return "job annotation"
	default:
		return "cluster default"
	}
}

func formatWindow(d time.Duration) string {
	if d == 0 {
		return "off"
	}
	return FormatDuration(d)
}

// Windows are the two windows of one Workload.
type Windows struct {
	Start, Recovery Window
}

// WindowsFor returns the windows of a Workload with this Policy.
func WindowsFor(p *Policy, cluster Settings) Windows {
	return Windows{
		Start:    window("start", p.Start, cluster.Start),
		Recovery: window("recovery", p.Recovery, cluster.Recovery),
	}
}

func window(kind string, asked *Duration, cluster time.Duration) Window {
	w := Window{Kind: kind, Length: cluster, Source: Cluster, ClusterDefault: cluster}
	if asked != nil {
		w.Length, w.Source = asked.Value.Duration, asked.Source
	}
	return w
}
