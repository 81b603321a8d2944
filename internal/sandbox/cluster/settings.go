// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strconv"
	"strings"
	"time"
)

// Settings are times that a sandbox can choose.
type Settings struct {
	// WorkerDrain is the middle of how long a deleted pod holds its node, and
	// HeadDrain that of the head of a Ray cluster.
	WorkerDrain, HeadDrain time.Duration
	// LostNodeToleration is how long pods stay bound to a node that is lost.
	// Whole seconds count, and at least one.
	LostNodeToleration time.Duration
}

// Times of real clusters. A worker that was removed by scale-down was gone in
// a median of 1.2 s, a head in about its grace period of 30 s; 300 s is the
// default of Kubernetes.
const (
	MeasuredWorkerDrain = 1200 * time.Millisecond
	MeasuredHeadDrain   = 30 * time.Second
	UsualToleration     = 300 * time.Second
)

func (s Settings) tolerationSeconds() string {
	return strconv.FormatInt(max(int64(s.LostNodeToleration/time.Second), 1), 10)
}

// stagesFile is the stages with the times filled in. A drain takes between
// three quarters and five quarters of its middle.
func (s Settings) stagesFile() string {
	least := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds()*3/4, 1), 10) }
	most := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds()*5/4, 2), 10) }
	return strings.NewReplacer(
		"__DRAIN_WORKER_LEAST__", least(s.WorkerDrain), "__DRAIN_WORKER_MOST__", most(s.WorkerDrain),
		"__DRAIN_HEAD_LEAST__", least(s.HeadDrain), "__DRAIN_HEAD_MOST__", most(s.HeadDrain),
	).Replace(string(stages))
}
