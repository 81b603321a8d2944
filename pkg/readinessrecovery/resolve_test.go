// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// podSet makes a PodSet whose template has the annotations, given as key, value, ...
func podSet(name kueue.PodSetReference, annotations ...string) kueue.PodSet {
	ps := kueue.PodSet{Name: name, Count: 1}
	for i := 0; i < len(annotations); i += 2 {
		if ps.Template.Annotations == nil {
			ps.Template.Annotations = make(map[string]string)
		}
		ps.Template.Annotations[annotations[i]] = annotations[i+1]
	}
	return ps
}

func TestResolve(t *testing.T) {
	const recovery = RecoveryTimeoutAnnotation
	job := func(value string) map[string]string { return map[string]string{WaitForPodsReadyAnnotation: value} }
	cases := map[string]struct {
		podSets   []kueue.PodSet
		job       map[string]string
		generated []string
		want      *Policy
	}{
		"a job that asks for nothing": {
			podSets: []kueue.PodSet{podSet("head"), podSet("workers")},
			want:    &Policy{},
		},
		"all templates ask for the same": {
			podSets: []kueue.PodSet{podSet("head", recovery, "15s"), podSet("workers", recovery, "15s")},
			want:    &Policy{Recovery: newDuration(15*time.Second, PodTemplate)},
		},
		"the same in other words": {
			podSets: []kueue.PodSet{podSet("head", recovery, "90s"), podSet("workers", recovery, "1m30s")},
			want:    &Policy{Recovery: newDuration(90*time.Second, PodTemplate)},
		},
		"every key": {
			podSets: []kueue.PodSet{podSet("main",
				recovery, "0s", StartupTimeoutAnnotation, "10m",
				BackoffBaseAnnotation, "5s", BackoffMaxAnnotation, "1m", BackoffLimitAnnotation, "3")},
			want: &Policy{
				Start:        newDuration(10*time.Minute, PodTemplate),
				Recovery:     newDuration(0, PodTemplate),
				BackoffBase:  newDuration(5*time.Second, PodTemplate),
				BackoffMax:   newDuration(time.Minute, PodTemplate),
				BackoffLimit: ptr.To[int32](3),
			},
		},
		"templates that differ": {
			podSets: []kueue.PodSet{podSet("head", recovery, "45s"), podSet("workers", recovery, "15s")},
			want: &Policy{Ignored: []Ignored{{
				Key: recovery, Reason: `the PodSets differ: head has "45s", workers has "15s"`,
			}}},
		},
		"a template without the key": {
			podSets: []kueue.PodSet{podSet("head"), podSet("workers", recovery, "15s")},
			want: &Policy{Ignored: []Ignored{{
				Key: recovery, Reason: `the PodSets differ: head has none, workers has "15s"`,
			}}},
		},
		"a generated template without the key is left out": {
			podSets:   []kueue.PodSet{podSet("head", recovery, "15s"), podSet("submitter")},
			generated: []string{"submitter"},
			want:      &Policy{Recovery: newDuration(15*time.Second, PodTemplate), Generated: []string{"submitter"}},
		},
		"a submitter template of the user isn't left out": {
			podSets: []kueue.PodSet{podSet("head", recovery, "15s"), podSet("submitter")},
			want: &Policy{Ignored: []Ignored{{
				Key: recovery, Reason: `the PodSets differ: head has "15s", submitter has none`,
			}}},
		},
		"one key in dispute doesn't touch the others": {
			podSets: []kueue.PodSet{
				podSet("head", recovery, "45s", BackoffLimitAnnotation, "2", StartupTimeoutAnnotation, "1m"),
				podSet("workers", recovery, "15s", BackoffLimitAnnotation, "1", StartupTimeoutAnnotation, "1m"),
			},
			want: &Policy{
				Start: newDuration(time.Minute, PodTemplate),
				Ignored: []Ignored{
					{Key: recovery, Reason: `the PodSets differ: head has "45s", workers has "15s"`},
					{Key: BackoffLimitAnnotation, Reason: `the PodSets differ: head has "2", workers has "1"`},
				},
			},
		},
		"the job's annotation": {
			podSets: []kueue.PodSet{podSet("main")},
			job:     job(`{"timeoutSeconds":600,"recoveryTimeoutSeconds":30}`),
			want:    &Policy{Start: newDuration(10*time.Minute, Job), Recovery: newDuration(30*time.Second, Job)},
		},
		"the job's start window says nothing about recovery": {
			podSets: []kueue.PodSet{podSet("main")},
			job:     job(`{"timeoutSeconds":600}`),
			want:    &Policy{Start: newDuration(10*time.Minute, Job)},
		},
		"the templates win field by field": {
			podSets: []kueue.PodSet{podSet("main", recovery, "15s")},
			job:     job(`{"timeoutSeconds":600,"recoveryTimeoutSeconds":30}`),
			want:    &Policy{Start: newDuration(10*time.Minute, Job), Recovery: newDuration(15*time.Second, PodTemplate)},
		},
		"templates in dispute aren't settled by the job's annotation": {
			podSets: []kueue.PodSet{podSet("head", recovery, "45s"), podSet("workers", recovery, "15s")},
			job:     job(`{"timeoutSeconds":600,"recoveryTimeoutSeconds":30}`),
			want: &Policy{
				Start:   newDuration(10*time.Minute, Job),
				Ignored: []Ignored{{Key: recovery, Reason: `the PodSets differ: head has "45s", workers has "15s"`}},
			},
		},
		"values that slipped through": {
			podSets: []kueue.PodSet{podSet("main", recovery, "3h", BackoffBaseAnnotation, "-1s", BackoffLimitAnnotation, "x")},
			job:     job("30m"),
			want: &Policy{Ignored: []Ignored{
				{Key: WaitForPodsReadyAnnotation, Reason: `value "30m" must be a JSON object such as {"timeoutSeconds":1800,"recoveryTimeoutSeconds":300}`},
				{Key: recovery, Reason: `value "3h" must not be longer than 2h, the cluster's maxWindow`},
				{Key: BackoffBaseAnnotation, Reason: `value "-1s" must not be negative`},
				{Key: BackoffLimitAnnotation, Reason: `value "x" must be an integer from 0 to 2147483647`},
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Resolve(Request{PodSets: tc.podSets, JobAnnotations: tc.job, Generated: tc.generated, MaxWindow: maxWindow})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Resolve() (-want,+got):\n%s", diff)
			}
			value, err := got.Encode()
			if err != nil {
				t.Fatalf("Encode() error = %v", err)
			}
			decoded, err := DecodePolicy(map[string]string{PolicyAnnotation: value})
			if err != nil {
				t.Fatalf("DecodePolicy() error = %v", err)
			}
			if diff := cmp.Diff(tc.want, decoded); diff != "" {
				t.Errorf("The policy differs after a round trip (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSameSettings(t *testing.T) {
	base := Policy{Recovery: newDuration(time.Second, Job), BackoffLimit: ptr.To[int32](1)}
	cases := map[string]struct {
		other Policy
		want  bool
	}{
		"equal":                      {other: Policy{Recovery: newDuration(time.Second, Job), BackoffLimit: ptr.To[int32](1)}, want: true},
		"another note":               {other: Policy{Recovery: newDuration(time.Second, Job), BackoffLimit: ptr.To[int32](1), Ignored: []Ignored{{Key: "k"}}}, want: true},
		"another window":             {other: Policy{Recovery: newDuration(2*time.Second, Job), BackoffLimit: ptr.To[int32](1)}},
		"another source":             {other: Policy{Recovery: newDuration(time.Second, PodTemplate), BackoffLimit: ptr.To[int32](1)}},
		"another limit":              {other: Policy{Recovery: newDuration(time.Second, Job), BackoffLimit: ptr.To[int32](2)}},
		"a window that is asked for": {other: Policy{Recovery: newDuration(time.Second, Job), Start: newDuration(0, Job), BackoffLimit: ptr.To[int32](1)}},
		"nothing that is asked for":  {other: Policy{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, base.SameSettings(&tc.other)); diff != "" {
				t.Errorf("SameSettings() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestDecodePolicyOfUnreadableAnnotation(t *testing.T) {
	if _, err := DecodePolicy(map[string]string{PolicyAnnotation: "{"}); err == nil {
		t.Error("DecodePolicy() accepts what isn't JSON")
	}
	if _, err := DecodeHistory(map[string]string{HistoryAnnotation: "{"}); err == nil {
		t.Error("DecodeHistory() accepts what isn't JSON")
	}
}

func TestWindowsFor(t *testing.T) {
	cluster := Settings{Start: 30 * time.Minute, Recovery: 5 * time.Minute}
	cases := map[string]struct {
		policy                  Policy
		cluster                 Settings
		wantStart, wantRecovery string
	}{
		"the cluster's windows": {
			cluster:   cluster,
			wantStart: "start window 30m, the cluster default", wantRecovery: "recovery window 5m, the cluster default",
		},
		"windows of the templates": {
			policy:       Policy{Recovery: newDuration(15*time.Second, PodTemplate)},
			cluster:      cluster,
			wantStart:    "start window 30m, the cluster default",
			wantRecovery: "recovery window 15s from pod template annotation; cluster default 5m",
		},
		"windows of the job": {
			policy:       Policy{Start: newDuration(90*time.Second, Job), Recovery: newDuration(0, Job)},
			cluster:      cluster,
			wantStart:    "start window 1m30s from job annotation; cluster default 30m",
			wantRecovery: "recovery window off from job annotation; cluster default 5m",
		},
		"recovery is off in the cluster": {
			policy:       Policy{Recovery: newDuration(time.Second, PodTemplate)},
			cluster:      Settings{Start: time.Minute},
			wantStart:    "start window 1m, the cluster default",
			wantRecovery: "recovery window 1s from pod template annotation; cluster default off",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := WindowsFor(&tc.policy, tc.cluster)
			if diff := cmp.Diff(tc.wantStart, got.Start.String()); diff != "" {
				t.Errorf("start window (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantRecovery, got.Recovery.String()); diff != "" {
				t.Errorf("recovery window (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	cluster := Backoff{Base: time.Minute, Max: 10 * time.Minute, Limit: ptr.To[int32](9)}
	cases := map[string]struct {
		policy    Policy
		want      []time.Duration
		wantLimit int32
	}{
		"the cluster's": {
			want:      []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute},
			wantLimit: 9,
		},
		"a base and a limit of one's own": {
			policy:    Policy{BackoffBase: newDuration(5*time.Second, PodTemplate), BackoffLimit: ptr.To[int32](0)},
			want:      []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second},
			wantLimit: 0,
		},
		"a base above the maximum": {
			policy:    Policy{BackoffBase: newDuration(time.Minute, PodTemplate), BackoffMax: newDuration(7*time.Second, PodTemplate)},
			want:      []time.Duration{7 * time.Second, 7 * time.Second},
			wantLimit: 9,
		},
		"no delay": {
			policy:    Policy{BackoffBase: newDuration(0, PodTemplate)},
			want:      []time.Duration{0, 0, 0},
			wantLimit: 9,
		},
		"no delay by the maximum": {
			policy:    Policy{BackoffMax: newDuration(0, PodTemplate)},
			want:      []time.Duration{0, 0},
			wantLimit: 9,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := BackoffFor(&tc.policy, cluster)
			var got []time.Duration
			for n := range tc.want {
				got = append(got, b.Delay(int32(n+1)))
				if jittered := b.JitteredDelay(int32(n + 1)); jittered < got[n] || float64(jittered) > float64(got[n])*1.0001 {
					t.Errorf("JitteredDelay(%d) = %v, want at least %v and at most 0.01%% more", n+1, jittered, got[n])
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("delays (-want,+got):\n%s", diff)
			}
			if diff := cmp.Diff(&tc.wantLimit, b.Limit); diff != "" {
				t.Errorf("limit (-want,+got):\n%s", diff)
			}
		})
	}
	if got := (Backoff{Base: time.Second, Max: maxWindow}).Delay(1 << 30); got != maxWindow {
		t.Errorf("Delay() after very many evictions = %v, want %v", got, maxWindow)
	}
}
