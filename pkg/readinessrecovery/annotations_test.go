// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

const maxWindow = 2 * time.Hour

func TestParseDuration(t *testing.T) {
	cases := map[string]struct {
		value   string
		want    time.Duration
		wantErr string
	}{
		"seconds":                       {value: "15s", want: 15 * time.Second},
		"one second":                    {value: "1s", want: time.Second},
		"nothing is for ever":           {value: "0s", want: 0},
		"zero without a unit":           {value: "0", want: 0},
		"parts of a second":             {value: "1500ms", want: 1500 * time.Millisecond},
		"the longest window":            {value: "2h", want: maxWindow},
		"the longest window in seconds": {value: "7200s", want: maxWindow},
		"longer than allowed":           {value: "2h1s", wantErr: "must not be longer than 2h, the cluster's maxWindow"},
		"negative":                      {value: "-1s", wantErr: "must not be negative"},
		"a number without a unit":       {value: "15", wantErr: "must be a Go duration such as 90s, 5m or 1h30m"},
		"a word":                        {value: "soon", wantErr: "must be a Go duration such as 90s, 5m or 1h30m"},
		"empty":                         {value: "", wantErr: "must be a Go duration such as 90s, 5m or 1h30m"},
		"spaces":                        {value: " 5m", wantErr: "must be a Go duration such as 90s, 5m or 1h30m"},
		"more than a duration can hold": {value: "9999999h", wantErr: "must be a Go duration such as 90s, 5m or 1h30m"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDuration(tc.value, maxWindow)
			if diff := cmp.Diff(tc.wantErr, errText(err)); diff != "" {
				t.Errorf("ParseDuration() error (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseDuration() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestParseLimit(t *testing.T) {
	const wantErr = "must be an integer from 0 to 2147483647"
	cases := map[string]struct {
		value   string
		want    int32
		wantErr string
	}{
		"zero":         {value: "0"},
		"five":         {value: "5", want: 5},
		"the largest":  {value: "2147483647", want: 2147483647},
		"too large":    {value: "2147483648", wantErr: wantErr},
		"negative":     {value: "-1", wantErr: wantErr},
		"a fraction":   {value: "1.5", wantErr: wantErr},
		"empty":        {value: "", wantErr: wantErr},
		"not a number": {value: "many", wantErr: wantErr},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseLimit(tc.value)
			if diff := cmp.Diff(tc.wantErr, errText(err)); diff != "" {
				t.Errorf("ParseLimit() error (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseLimit() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestParseWaitForPodsReady(t *testing.T) {
	const notJSON = `must be a JSON object such as {"timeoutSeconds":1800,"recoveryTimeoutSeconds":300}`
	cases := map[string]struct {
		value   string
		want    *WaitForPodsReady
		wantErr string
	}{
		"both windows": {
			value: `{"timeoutSeconds":1800,"recoveryTimeoutSeconds":300}`,
			want:  &WaitForPodsReady{TimeoutSeconds: ptr.To[int64](1800), RecoveryTimeoutSeconds: ptr.To[int64](300)},
		},
		"the start window alone": {
			value: `{"timeoutSeconds":7200}`,
			want:  &WaitForPodsReady{TimeoutSeconds: ptr.To[int64](7200)},
		},
		"recovery switched off": {
			value: `{"timeoutSeconds":1,"recoveryTimeoutSeconds":0}`,
			want:  &WaitForPodsReady{TimeoutSeconds: ptr.To[int64](1), RecoveryTimeoutSeconds: ptr.To[int64](0)},
		},
		"the recovery window alone": {value: `{"recoveryTimeoutSeconds":300}`, wantErr: "timeoutSeconds must be given, and be greater than 0"},
		"no start window":           {value: `{"timeoutSeconds":0}`, wantErr: "timeoutSeconds must be given, and be greater than 0"},
		"a negative start window":   {value: `{"timeoutSeconds":-5}`, wantErr: "timeoutSeconds must be given, and be greater than 0"},
		"a start window that is too long": {
			value:   `{"timeoutSeconds":7201}`,
			wantErr: "timeoutSeconds must not be longer than 2h, the cluster's maxWindow",
		},
		"a start window that no duration can hold": {
			value:   `{"timeoutSeconds":9223372036854775807}`,
			wantErr: "timeoutSeconds must not be longer than 2h, the cluster's maxWindow",
		},
		"a recovery window that is too long": {
			value:   `{"timeoutSeconds":1,"recoveryTimeoutSeconds":7201}`,
			wantErr: "recoveryTimeoutSeconds must not be longer than 2h, the cluster's maxWindow",
		},
		"a negative recovery window": {
			value:   `{"timeoutSeconds":1,"recoveryTimeoutSeconds":-1}`,
			wantErr: "recoveryTimeoutSeconds must not be negative",
		},
		"an unknown field": {value: `{"timeoutSeconds":1,"recoverySeconds":1}`, wantErr: notJSON},
		"a fraction":       {value: `{"timeoutSeconds":1.5}`, wantErr: notJSON},
		"text":             {value: `{"timeoutSeconds":"1"}`, wantErr: notJSON},
		"a duration":       {value: "30m", wantErr: notJSON},
		"null":             {value: "null", wantErr: notJSON},
		"a list":           {value: "[]", wantErr: notJSON},
		"two objects":      {value: `{"timeoutSeconds":1}{}`, wantErr: notJSON},
		"empty":            {value: "", wantErr: notJSON},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseWaitForPodsReady(tc.value, maxWindow)
			if diff := cmp.Diff(tc.wantErr, errText(err)); diff != "" {
				t.Errorf("ParseWaitForPodsReady() error (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseWaitForPodsReady() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		15 * time.Second:              "15s",
		90 * time.Second:              "1m30s",
		5 * time.Minute:               "5m",
		2 * time.Hour:                 "2h",
		2*time.Hour + 5*time.Second:   "2h0m5s",
		10*time.Hour + 10*time.Minute: "10h10m",
		1500 * time.Millisecond:       "1.5s",
		0:                             "0s",
	} {
		if diff := cmp.Diff(want, FormatDuration(d)); diff != "" {
			t.Errorf("FormatDuration(%d) (-want,+got):\n%s", d, diff)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
