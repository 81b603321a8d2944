// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package recordingtest

import "fleet.ai/kueue-fleet/internal/sandbox/recording"

// Until is a recording as it was at a time of its run: what came later is not
// in it yet. The recording itself is not changed.
func Until(rec *recording.Recording, at float64) *recording.Recording {
	past := func(moment *float64) *float64 {
		if moment == nil || *moment > at {
			return nil
		}
		return moment
	}
	cut := *rec
	cut.Duration = min(at, rec.Duration)
	cut.Nodes, cut.Jobs, cut.Workloads, cut.Pods, cut.Events = nil, nil, nil, nil, nil
	cut.Checks, cut.Comparisons, cut.Violations = nil, nil, nil
	for _, node := range rec.Nodes {
		var aways []recording.Away
		for _, away := range node.Away {
			if away.From <= at {
				away.To = past(away.To)
				aways = append(aways, away)
			}
		}
		node.Away = aways
		cut.Nodes = append(cut.Nodes, node)
	}
	for _, job := range rec.Jobs {
		if job.Submitted > at {
			continue
		}
		if job.Finished = past(job.Finished); job.Finished == nil {
			job.Result, job.ItemsDone = "", 0
		}
		cut.Jobs = append(cut.Jobs, job)
	}
	for _, wl := range rec.Workloads {
		var spans []recording.Span
		for _, span := range wl.Spans {
			if span.From <= at {
				span.To = past(span.To)
				spans = append(spans, span)
			}
		}
		if wl.Spans = spans; len(spans) > 0 {
			cut.Workloads = append(cut.Workloads, wl)
		}
	}
	for _, pod := range rec.Pods {
		if pod.Created > at {
			continue
		}
		pod.Released, pod.Bound, pod.Ready = past(pod.Released), past(pod.Bound), past(pod.Ready)
		pod.Stopping, pod.Gone = past(pod.Stopping), past(pod.Gone)
		if pod.Bound == nil {
			pod.Node = ""
		}
		cut.Pods = append(cut.Pods, pod)
	}
	for _, event := range rec.Events {
		if event.At <= at {
			cut.Events = append(cut.Events, event)
		}
	}
	return &cut
}
