// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// progress compares the items of two times.
func (h *history) progress(c *scenario.ProgressCheck) outcome {
	o := outcome{want: fmt.Sprintf("at least %d items from %s until %s", c.AtLeast, describeAll(c.From), describeAll(c.Until))}
	o.evidence = h.stages(c.From, 0)
	job := h.jobs[c.Job]
	from, failed := h.follow(c.From, 0)
	if job != nil && failed < 0 {
		o.evidence = append(o.evidence, h.stages(c.Until, from)...)
		var until float64
		if until, failed = h.follow(c.Until, from); failed < 0 {
			n := itemsAt(job, until) - itemsAt(job, from)
			o.got, o.passed = fmt.Sprintf("%d items in %.3fs", n, until-from), n >= c.AtLeast
			return o
		}
	}
	o.got = "the times to compare did not come"
	return o
}
