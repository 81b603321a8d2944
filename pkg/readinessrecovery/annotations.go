// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Annotations of pod templates. All PodSets of a Workload must have the same value.
const (
	// RecoveryTimeoutAnnotation holds a Go duration: how long an admitted Workload
	// that lost readiness may stay unready before it is evicted. 0s means for ever.
	RecoveryTimeoutAnnotation = "fleet.ai/readiness-recovery-timeout"
	// StartupTimeoutAnnotation holds a Go duration: how long an admitted Workload
	// may take until it is ready for the first time. 0s means for ever.
	StartupTimeoutAnnotation = "fleet.ai/startup-readiness-timeout"
	// BackoffBaseAnnotation holds a Go duration: the delay after the first eviction
	// for readiness. It doubles with each further one.
	BackoffBaseAnnotation = "fleet.ai/requeue-backoff-base"
	// BackoffMaxAnnotation holds a Go duration: the longest delay.
	BackoffMaxAnnotation = "fleet.ai/requeue-backoff-max"
	// BackoffLimitAnnotation holds an integer: how many evictions for readiness
	// there may be before the Workload is deactivated.
	BackoffLimitAnnotation = "fleet.ai/requeue-backoff-limit"
)

// WaitForPodsReadyAnnotation is the annotation of a job that Kueue's KEP-4803
// defines. Its value is a WaitForPodsReady in JSON.
const WaitForPodsReadyAnnotation = "kueue.x-k8s.io/wait-for-pods-ready"

// Annotations that the manager keeps on Workloads.
const (
	// PolicyAnnotation holds the resolved Policy in JSON.
	PolicyAnnotation = "fleet.ai/readiness-policy"
	// HistoryAnnotation holds, in JSON, the History of a slice that replaces another
	// one and is not ready yet.
	HistoryAnnotation = "fleet.ai/readiness-history"
)

// TemplateKeys are the annotations of pod templates, in the order in which messages
// name them.
func TemplateKeys() []string {
	return []string{
		RecoveryTimeoutAnnotation,
		StartupTimeoutAnnotation,
		BackoffBaseAnnotation,
		BackoffMaxAnnotation,
		BackoffLimitAnnotation,
	}
}

// WaitForPodsReady is the value of WaitForPodsReadyAnnotation.
type WaitForPodsReady struct {
	// TimeoutSeconds is the start window. It must be given, and be positive.
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty"`
	// RecoveryTimeoutSeconds is the recovery window; 0 means for ever. Without it
	// the cluster's recovery window applies.
	RecoveryTimeoutSeconds *int64 `json:"recoveryTimeoutSeconds,omitempty"`
}

var (
	errNotDuration = errors.New("must be a Go duration such as 90s, 5m or 1h30m")
	errNegative    = errors.New("must not be negative")
	errNotCount    = errors.New("must be an integer from 0 to 2147483647")
	errNotJSON     = errors.New(`must be a JSON object such as {"timeoutSeconds":1800,"recoveryTimeoutSeconds":300}`)
	errNoTimeout   = errors.New("timeoutSeconds must be given, and be greater than 0")
)

// tooLongError says that a window is longer than the administrator allows.
type tooLongError struct{ max time.Duration }

func (e tooLongError) Error() string {
	return fmt.Sprintf("must not be longer than %s, the cluster's maxWindow", FormatDuration(e.max))
}

// ParseDuration reads a window or a backoff of at most longest.
func ParseDuration(value string, longest time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, errNotDuration
	case d < 0:
		return 0, errNegative
	case d > longest:
		return 0, tooLongError{max: longest}
	}
	return d, nil
}

// ParseLimit reads the number of evictions for readiness that are allowed.
func ParseLimit(value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return 0, errNotCount
	}
	return int32(n), nil
}

// ParseWaitForPodsReady reads the annotation of a job. Both windows are at most
// longest.
func ParseWaitForPodsReady(value string, longest time.Duration) (*WaitForPodsReady, error) {
	dec := json.NewDecoder(strings.NewReader(value))
	dec.DisallowUnknownFields()
	var parsed *WaitForPodsReady
	if err := dec.Decode(&parsed); err != nil || parsed == nil {
		return nil, errNotJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	if parsed.TimeoutSeconds == nil || *parsed.TimeoutSeconds <= 0 {
		return nil, errNoTimeout
	}
	// Compared in seconds: a large number would overflow a duration.
	limit := int64(longest / time.Second)
	if *parsed.TimeoutSeconds > limit {
		return nil, fmt.Errorf("timeoutSeconds %w", tooLongError{max: longest})
	}
	if recovery := parsed.RecoveryTimeoutSeconds; recovery != nil {
		switch {
		case *recovery < 0:
			return nil, fmt.Errorf("recoveryTimeoutSeconds %w", errNegative)
		case *recovery > limit:
			return nil, fmt.Errorf("recoveryTimeoutSeconds %w", tooLongError{max: longest})
		}
	}
	return parsed, nil
}

// FormatDuration writes d as users do: 5m, not 5m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
