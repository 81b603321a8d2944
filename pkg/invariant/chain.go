// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// checkChains looks at how many slices of a job there are and who replaced whom.
func (v *view) checkChains() {
	for _, c := range v.chains {
		switch {
		case len(c.holding) < 2:
		case len(c.holding) > 2:
			v.report(OneAdmittedSlice, "job "+c.name, "%d slices hold quota: %s", len(c.holding), names(c.holding))
		case !replaces(c.holding[1], c.holding[0]):
			v.report(OneAdmittedSlice, "job "+c.name, "two slices hold quota and neither replaces the other: %s", names(c.holding))
		case v.Settled:
			v.report(OneAdmittedSlice, "job "+c.name, "two slices hold quota and nobody ends the older: %s", names(c.holding))
		}
		if len(c.pending) > 1 {
			v.report(OnePendingSlice, "job "+c.name, "%d slices wait: %s", len(c.pending), names(c.pending))
		}
	}
	v.checkReplacements()
}

func names(slices []*slice) string {
	out := make([]string, 0, len(slices))
	for _, s := range slices {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

// checkReplacements looks for Workloads that were ended for the sake of a Workload
// that had no business to replace them.
func (v *view) checkReplacements() {
	claims := map[string][]*kueue.Workload{}
	for i := range v.Workloads {
		wl := &v.Workloads[i]
		if claimed := wl.Annotations[replacementAnnotation]; claimed != "" {
			claims[claimed] = append(claims[claimed], wl)
		}
	}
	for i := range v.Workloads {
		old := &v.Workloads[i]
		cond := apimeta.FindStatusCondition(old.Status.Conditions, kueue.WorkloadFinished)
		if cond == nil || cond.Reason != kueue.WorkloadSliceReplaced {
			continue
		}
		var strangers []string
		rightful := false
		for _, wl := range claims[old.Namespace+"/"+old.Name] {
			if wl.Namespace == old.Namespace && isElastic(wl) && isElastic(old) && ownerOf(wl) == ownerOf(old) {
				rightful = true
			} else if holdsQuota(wl) {
				strangers = append(strangers, wl.Name)
			}
		}
		if len(strangers) > 0 && !rightful {
			v.report(ForeignReplacement, "workload "+old.Name, "it was ended for %s, which is no slice of its job", strings.Join(strangers, " "))
			v.findings[len(v.findings)-1].ended = old
		}
	}
}
