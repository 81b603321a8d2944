// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Backoff says how a Workload is queued again after evictions for readiness.
type Backoff struct {
	// Base is the delay after the first eviction. It doubles with each further one
	// up to Max.
	Base, Max time.Duration
	// Limit is how many evictions there may be before the Workload is deactivated;
	// nil is any number.
	Limit *int32
}

// BackoffFor returns the backoff of a Workload with this Policy.
func BackoffFor(p *Policy, cluster Backoff) Backoff {
	b := cluster
	if p.BackoffBase != nil {
		b.Base = p.BackoffBase.Value.Duration
	}
	if p.BackoffMax != nil {
		b.Max = p.BackoffMax.Value.Duration
	}
	if p.BackoffLimit != nil {
		b.Limit = p.BackoffLimit
	}
	return b
}

// jitter is the share by which Kueue lengthens each delay at random.
const jitter = 0.0001

// Delay returns how long a Workload waits after its n-th eviction, n from 1,
// without jitter: min(Base*2^(n-1), Max).
func (b Backoff) Delay(n int32) time.Duration {
	delay := min(b.Base, b.Max)
	for ; n > 1 && delay > 0; n-- {
		if delay > b.Max/2 {
			return b.Max
		}
		delay *= 2
	}
	return delay
}

// JitteredDelay returns Delay, lengthened at random as Kueue does it.
func (b Backoff) JitteredDelay(n int32) time.Duration {
	return wait.Jitter(b.Delay(n), jitter)
}
