// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func podsReady(status metav1.ConditionStatus, reason string, at metav1.Time) *metav1.Condition {
	return &metav1.Condition{Type: kueue.WorkloadPodsReady, Status: status, Reason: reason, LastTransitionTime: at}
}

func cluster(head, workers int32) Counts { return Counts{"head": head, "workers": workers} }

func TestJudge(t *testing.T) {
	started := podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, ago(time.Hour))
	recovered := podsReady(metav1.ConditionTrue, kueue.WorkloadRecovered, ago(time.Hour))
	starting := podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForStart, ago(time.Minute))
	recovering := podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, ago(time.Minute))
	waits := func(reason string, since metav1.Time, h *History) Readiness {
		return Readiness{Status: metav1.ConditionFalse, Reason: reason, Since: since.Time, History: h}
	}
	isReady := func(reason string) Readiness {
		return Readiness{Status: metav1.ConditionTrue, Reason: reason, Since: now}
	}
	lostSince := ago(9 * time.Second)
	cases := map[string]struct {
		o    Observation
		want Readiness
	}{
		"no pod of a new job runs": {
			o:    Observation{Expected: cluster(1, 2)},
			want: waits(kueue.WorkloadWaitForStart, ago(0), nil),
		},
		"some pods of a new job run": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 1), Previous: starting},
			want: waits(kueue.WorkloadWaitForStart, ago(time.Minute), nil),
		},
		"all pods run for the first time": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 2), Previous: starting},
			want: isReady(kueue.WorkloadStarted),
		},
		"pods that aren't expected don't harm": {
			o:    Observation{Expected: cluster(1, 2), Ready: Counts{"head": 1, "workers": 3, "other": 1}, Previous: starting},
			want: isReady(kueue.WorkloadStarted),
		},
		"pods of one group don't stand for another's": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(0, 3), Previous: started},
			want: waits(kueue.WorkloadWaitForRecovery, ago(0), nil),
		},
		"a worker is lost": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 1), Previous: started},
			want: waits(kueue.WorkloadWaitForRecovery, ago(0), nil),
		},
		"the head is lost after an earlier recovery": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(0, 2), Previous: recovered},
			want: waits(kueue.WorkloadWaitForRecovery, ago(0), nil),
		},
		"a second worker is lost while one is waited for": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 0), Previous: recovering},
			want: waits(kueue.WorkloadWaitForRecovery, ago(time.Minute), nil),
		},
		"the clock has stepped back since a worker was lost": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 1), Previous: podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, ago(-time.Hour))},
			want: waits(kueue.WorkloadWaitForRecovery, ago(-time.Hour), nil),
		},
		"a worker is lost after the clock has stepped back": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 1), Previous: podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, ago(-time.Hour))},
			want: waits(kueue.WorkloadWaitForRecovery, ago(0), nil),
		},
		"the lost worker is back": {
			o:    Observation{Expected: cluster(1, 2), Ready: cluster(1, 2), Previous: recovering},
			want: isReady(kueue.WorkloadRecovered),
		},
		"the group has shrunk to what runs": {
			o:    Observation{Expected: cluster(1, 1), Ready: cluster(1, 1), Previous: recovering},
			want: isReady(kueue.WorkloadRecovered),
		},
		"pods of a growth start": {
			o:    Observation{Expected: cluster(1, 3), Ready: cluster(1, 2), History: &History{Kept: cluster(1, 2)}},
			want: waits(kueue.WorkloadWaitForStart, ago(0), &History{Kept: cluster(1, 2)}),
		},
		"all pods of a growth run": {
			o:    Observation{Expected: cluster(1, 3), Ready: cluster(1, 3), Previous: starting, History: &History{Kept: cluster(1, 2)}},
			want: isReady(kueue.WorkloadStarted),
		},
		"a kept pod is lost while a growth starts": {
			o:    Observation{Expected: cluster(1, 3), Ready: cluster(1, 1), Previous: starting, History: &History{Kept: cluster(1, 2)}},
			want: waits(kueue.WorkloadWaitForRecovery, ago(0), &History{Kept: cluster(1, 2)}),
		},
		"a kept pod stays lost while a growth starts": {
			o:    Observation{Expected: cluster(1, 3), Ready: cluster(1, 1), Previous: recovering, History: &History{Kept: cluster(1, 2)}},
			want: waits(kueue.WorkloadWaitForRecovery, ago(time.Minute), &History{Kept: cluster(1, 2)}),
		},
		"a kept pod isn't ready while a pod of the growth already is": {
			o: Observation{
				Expected: cluster(1, 4), Ready: cluster(1, 2), EarlierUnready: true,
				Previous: starting, History: &History{Kept: cluster(1, 2)},
			},
			want: waits(kueue.WorkloadWaitForRecovery, ago(0), &History{Kept: cluster(1, 2)}),
		},
		"a loss of before the growth goes on": {
			o: Observation{
				Expected: cluster(1, 3), Ready: cluster(1, 1),
				History: &History{Kept: cluster(1, 2), LostSince: &lostSince},
			},
			want: waits(kueue.WorkloadWaitForRecovery, lostSince, &History{Kept: cluster(1, 2), LostSince: &lostSince}),
		},
		"a loss of before the growth is over, the growth still starts": {
			o: Observation{
				Expected: cluster(1, 3), Ready: cluster(1, 2), Previous: recovering,
				History: &History{Kept: cluster(1, 2), LostSince: &lostSince},
			},
			want: waits(kueue.WorkloadWaitForStart, ago(0), &History{Kept: cluster(1, 2)}),
		},
		"an earlier growth is done, the later one starts": {
			o: Observation{
				Expected: cluster(1, 3), Ready: cluster(1, 2), Previous: starting,
				History: &History{Kept: cluster(1, 1), Starts: []Start{{Counts: cluster(1, 2), Since: ago(time.Hour)}}},
			},
			want: waits(kueue.WorkloadWaitForStart, ago(0), &History{Kept: cluster(1, 2)}),
		},
		"a job that never was ready grows": {
			o: Observation{
				Expected: cluster(1, 2), Ready: cluster(1, 0), EarlierUnready: true,
				History: &History{Starts: []Start{{Counts: cluster(1, 1), Since: ago(time.Hour)}}},
			},
			want: waits(kueue.WorkloadWaitForStart, ago(0), &History{Starts: []Start{{Counts: cluster(1, 1), Since: ago(time.Hour)}}}),
		},
		"the kept pods are fewer since the job has shrunk": {
			o: Observation{
				Expected: Counts{"head": 1, "a": 1, "b": 3}, Ready: Counts{"head": 1, "a": 1, "b": 1},
				Previous: starting, History: &History{Kept: Counts{"head": 1, "a": 2, "b": 1}},
			},
			want: waits(kueue.WorkloadWaitForStart, ago(0), &History{Kept: Counts{"head": 1, "a": 2, "b": 1}}),
		},
		"a group without pods is ready": {
			o:    Observation{Expected: cluster(1, 0), Ready: Counts{"head": 1}, Previous: starting},
			want: isReady(kueue.WorkloadStarted),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.o.Now = now
			if diff := cmp.Diff(tc.want, Judge(tc.o)); diff != "" {
				t.Errorf("Judge() (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestJudgeWhole(t *testing.T) {
	lostSince := ago(9 * time.Second)
	lost := &History{LostSince: &lostSince}
	cases := map[string]struct {
		ready    bool
		previous *metav1.Condition
		history  *History
		want     Readiness
	}{
		"a job starts": {want: Readiness{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForStart, Since: now}},
		"a job runs": {
			ready: true,
			want:  Readiness{Status: metav1.ConditionTrue, Reason: kueue.WorkloadStarted, Since: now},
		},
		"a grown job is still lost": {
			history: lost,
			want:    Readiness{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForRecovery, Since: lostSince.Time, History: lost},
		},
		"a job is lost": {
			previous: podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, ago(time.Hour)),
			want:     Readiness{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForRecovery, Since: now},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, JudgeWhole(tc.ready, tc.previous, tc.history, now)); diff != "" {
				t.Errorf("JudgeWhole() (-want,+got):\n%s", diff)
			}
		})
	}
}
