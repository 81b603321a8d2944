// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// nothingLeft looks at the end of the recording. A job that was never seen, or
// that had no Workload, proves nothing.
func (h *history) nothingLeft(c *scenario.NothingCheck) outcome {
	workloads, pods := h.workloads[c.Job], h.pods[c.Job]
	left := 0
	var evidence []string
	for _, w := range workloads {
		if n := len(w.Spans); n == 0 || w.Spans[n-1].State != recording.Done {
			left++
			evidence = append(evidence, "Workload "+w.Name)
		}
	}
	for _, p := range pods {
		if p.Gone == nil {
			left++
			evidence = append(evidence, "pod "+p.Name)
		}
	}
	return outcome{
		want: "no pod and no open Workload", got: fmt.Sprintf("%d left, of %d Workloads and %d pods", left, len(workloads), len(pods)),
		passed: left == 0 && len(workloads) > 0 && len(pods) > 0, evidence: evidence,
	}
}
