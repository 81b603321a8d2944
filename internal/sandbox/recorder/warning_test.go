// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

func apiEvent(uid types.UID, kind string, change func(*eventsv1.Event)) *eventsv1.Event {
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: string(uid), Namespace: "ns", UID: uid},
		Type:       kind, Reason: "Ignored", Note: "has no effect",
		Regarding: corev1.ObjectReference{Kind: "Workload", Name: "wl", UID: "wl-uid"},
	}
	if change != nil {
		change(e)
	}
	return e
}

func TestWarnings(t *testing.T) {
	w := newWorld()
	w.see(1, apiEvent("normal", corev1.EventTypeNormal, nil))
	w.see(2, apiEvent("once", corev1.EventTypeWarning, nil))
	w.see(3, apiEvent("series", corev1.EventTypeWarning, nil))
	w.see(4, apiEvent("series", corev1.EventTypeWarning, func(e *eventsv1.Event) { e.Series = &eventsv1.EventSeries{Count: 3} }))
	w.see(5, apiEvent("older", corev1.EventTypeWarning, func(e *eventsv1.Event) { e.DeprecatedCount = 2 }))
	w.lose(6, apiEvent("series", corev1.EventTypeWarning, nil))

	warning := func(at float64, count int) recording.Warning {
		return recording.Warning{At: at, Kind: "Workload", Name: "wl", UID: "wl-uid", Reason: "Ignored", Text: "has no effect", Count: count}
	}
	want := []recording.Warning{warning(2, 1), warning(3, 3), warning(5, 2)}
	if diff := cmp.Diff(want, w.Snapshot().Warnings); diff != "" {
		t.Errorf("warnings (-want,+got):\n%s", diff)
	}
}
