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

// slice makes a Workload of one head and two workers.
func slice(conditions ...*metav1.Condition) *kueue.Workload {
	wl := &kueue.Workload{}
	wl.Spec.PodSets = []kueue.PodSet{{Name: "head", Count: 1}, {Name: "workers", Count: 2}}
	for _, c := range conditions {
		wl.Status.Conditions = append(wl.Status.Conditions, *c)
	}
	return wl
}

func admitted(at metav1.Time) *metav1.Condition {
	return &metav1.Condition{Type: kueue.WorkloadAdmitted, Status: metav1.ConditionTrue, Reason: "Admitted", LastTransitionTime: at}
}

func withHistory(t *testing.T, wl *kueue.Workload, h *History) *kueue.Workload {
	t.Helper()
	value, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&wl.ObjectMeta, HistoryAnnotation, value)
	return wl
}

func TestInherit(t *testing.T) {
	at, lostAt := ago(time.Hour), ago(9*time.Second)
	starting := podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForStart, at)
	recovering := podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, lostAt)
	earlier := Start{Counts: cluster(1, 1), Since: ago(2 * time.Hour)}
	counted := slice(admitted(at), podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, at))
	counted.Status.RequeueState = &kueue.RequeueState{Count: new(int32(3))}
	shrinking := slice(admitted(at), podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, at))
	shrinking.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{
		{Name: "head", Count: new(int32(1))}, {Name: "workers", Count: new(int32(1))},
	}}
	cases := map[string]struct {
		old  *kueue.Workload
		want *History
	}{
		"a slice that isn't admitted":  {old: slice(), want: &History{}},
		"a ready slice":                {old: slice(admitted(at), podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, at)), want: &History{Kept: cluster(1, 2)}},
		"a slice with evictions":       {old: counted, want: &History{Kept: cluster(1, 2), RequeueCount: 3}},
		"a slice with fewer pods":      {old: shrinking, want: &History{Kept: cluster(1, 1)}},
		"a slice that never was ready": {old: slice(admitted(at), starting), want: &History{Starts: []Start{{Counts: cluster(1, 2), Since: at}}}},
		"a slice without a condition":  {old: slice(admitted(at)), want: &History{Starts: []Start{{Counts: cluster(1, 2), Since: at}}}},
		"a slice that lost pods":       {old: slice(admitted(at), recovering), want: &History{Kept: cluster(1, 2), LostSince: &lostAt}},
		"a growth that starts": {
			old:  withHistory(t, slice(admitted(at), starting), &History{Kept: cluster(1, 1)}),
			want: &History{Kept: cluster(1, 1), Starts: []Start{{Counts: cluster(1, 2), Since: at}}},
		},
		"a second growth while the first ones start, and pods are lost": {
			old: withHistory(t, slice(admitted(at), recovering), &History{Kept: cluster(1, 0), Starts: []Start{earlier}}),
			want: &History{
				Kept: cluster(1, 0), Starts: []Start{earlier, {Counts: cluster(1, 2), Since: at}}, LostSince: &lostAt,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Inherit(tc.old)
			if err != nil {
				t.Fatalf("Inherit() error = %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Inherit() (-want,+got):\n%s", diff)
			}
			decoded, err := DecodeHistory(withHistory(t, &kueue.Workload{}, got).Annotations)
			if err != nil {
				t.Fatalf("DecodeHistory() error = %v", err)
			}
			if diff := cmp.Diff(tc.want, decoded); diff != "" {
				t.Errorf("The history differs after a round trip (-want,+got):\n%s", diff)
			}
		})
	}
	if _, err := Inherit(&kueue.Workload{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{HistoryAnnotation: "{"}}}); err == nil {
		t.Error("Inherit() accepts a history that isn't JSON")
	}
}

func TestDeadlineFor(t *testing.T) {
	at := ago(time.Hour)
	windows := func(start, recovery time.Duration) Windows {
		return WindowsFor(&Policy{}, Settings{Start: start, Recovery: recovery})
	}
	starting := podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForStart, ago(time.Minute))
	recovering := podsReady(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, ago(10*time.Second))
	growth := &History{Kept: cluster(1, 1)}
	type deadline struct {
		Cause kueue.EvictionUnderlyingCause
		At    time.Time
	}
	cases := map[string]struct {
		wl      *kueue.Workload
		history *History
		windows Windows
		want    *deadline
	}{
		"a workload that isn't admitted": {wl: slice(recovering), windows: windows(time.Minute, time.Minute)},
		"a ready workload": {
			wl:      slice(admitted(at), podsReady(metav1.ConditionTrue, kueue.WorkloadStarted, at)),
			windows: windows(time.Minute, time.Minute),
		},
		"a start is timed from the admission": {
			wl:      slice(admitted(at), starting),
			windows: windows(90*time.Minute, time.Second),
			want:    &deadline{kueue.WorkloadWaitForStart, at.Add(90 * time.Minute)},
		},
		"a start without a condition": {
			wl:      slice(admitted(at)),
			windows: windows(90*time.Minute, time.Second),
			want:    &deadline{kueue.WorkloadWaitForStart, at.Add(90 * time.Minute)},
		},
		"the old name of a start": {
			wl:      slice(admitted(at), podsReady(metav1.ConditionFalse, kueue.WorkloadPodsReady, at)),
			windows: windows(time.Minute, time.Second),
			want:    &deadline{kueue.WorkloadWaitForStart, at.Add(time.Minute)},
		},
		"a recovery is timed from the loss": {
			wl:      slice(admitted(at), recovering),
			windows: windows(time.Second, 15*time.Second),
			want:    &deadline{kueue.WorkloadWaitForRecovery, now.Add(5 * time.Second)},
		},
		"a start without end":    {wl: slice(admitted(at), starting), windows: windows(0, time.Second)},
		"a recovery without end": {wl: slice(admitted(at), recovering), windows: windows(time.Second, 0)},
		"a growth starts after the others": {
			wl: slice(admitted(at), starting), history: growth,
			windows: windows(90*time.Minute, time.Second),
			want:    &deadline{kueue.WorkloadWaitForStart, at.Add(90 * time.Minute)},
		},
		"a growth starts while others recover: the recovery ends first": {
			wl: slice(admitted(at), recovering), history: growth,
			windows: windows(90*time.Minute, 15*time.Second),
			want:    &deadline{kueue.WorkloadWaitForRecovery, now.Add(5 * time.Second)},
		},
		"a growth starts while others recover: the start ends first": {
			wl: slice(admitted(at), recovering), history: growth,
			windows: windows(time.Hour+time.Second, time.Minute),
			want:    &deadline{kueue.WorkloadWaitForStart, now.Add(time.Second)},
		},
		"a growth starts while others recover without end": {
			wl: slice(admitted(at), recovering), history: growth,
			windows: windows(90*time.Minute, 0),
			want:    &deadline{kueue.WorkloadWaitForStart, at.Add(90 * time.Minute)},
		},
		"a later growth doesn't give an earlier one more time": {
			wl: slice(admitted(at), starting), history: &History{Starts: []Start{{Counts: cluster(1, 1), Since: ago(80 * time.Minute)}}},
			windows: windows(90*time.Minute, time.Second),
			want:    &deadline{kueue.WorkloadWaitForStart, now.Add(10 * time.Minute)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := DeadlineFor(tc.wl, tc.history, tc.windows)
			if !ok {
				if tc.want != nil {
					t.Fatalf("There is no deadline, want %v", tc.want)
				}
				return
			}
			if diff := cmp.Diff(tc.want, &deadline{got.Cause, got.At}); diff != "" {
				t.Errorf("DeadlineFor() (-want,+got):\n%s", diff)
			}
		})
	}
}
