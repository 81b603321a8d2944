// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
)

// observeWarning takes in an event of the API. One that is removed was told all the
// same.
func (r *Recorder) observeWarning(at float64, object *eventsv1.Event) {
	if object.Type != corev1.EventTypeWarning {
		return
	}
	i, ok := r.warnings[object.UID]
	if !ok {
		i = len(r.rec.Warnings)
		r.warnings[object.UID] = i
		about := object.Regarding
		r.rec.Warnings = append(r.rec.Warnings, recording.Warning{
			At: at, Kind: about.Kind, Name: about.Name, UID: string(about.UID), Reason: object.Reason, Text: object.Note,
		})
	}
	r.rec.Warnings[i].Count = max(timesTold(object), r.rec.Warnings[i].Count)
}

// timesTold is how often an event was told. One of the older API has another field.
func timesTold(object *eventsv1.Event) int {
	if object.Series != nil {
		return int(object.Series.Count)
	}
	return max(int(object.DeprecatedCount), 1)
}
