// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/patchgit"
)

func TestTryTellsConflictsApart(t *testing.T) {
	outcome := func(number string, kind patchgit.Kind) patchgit.Outcome {
		return patchgit.Outcome{Patch: number + "-a-b-c.patch", Kind: kind}
	}
	outcomes := []patchgit.Outcome{
		outcome("0300", patchgit.Conflict), outcome("0310", patchgit.Clean),
		outcome("0320", patchgit.Conflict), outcome("0330", patchgit.Conflict), outcome("0340", patchgit.Offset),
	}
	// 0330 stands on 0300 by way of a patch that applied; 0320 on one that did.
	needs := map[string][]string{
		"0310-a-b-c.patch": {"0300-a-b-c.patch"}, "0330-a-b-c.patch": {"0310-a-b-c.patch"},
		"0320-a-b-c.patch": {"0290-a-b-c.patch"}, "0340-a-b-c.patch": {"0300-a-b-c.patch"},
	}
	follow := following(outcomes, needs)
	if diff := cmp.Diff(map[string]string{"0330-a-b-c.patch": "0300-a-b-c.patch"}, follow); diff != "" {
		t.Errorf("unexpected followers (-want,+got):\n%s", diff)
	}
	want := `| Outcome | Patches | Which |
|---|---:|---|
| clean | 1 | 0310 |
| offset | 1 | 0340 |
| already upstream | 0 | - |
| conflict | 2 | 0300, 0320 |
| conflict, and stands on another one | 1 | 0330 |
`
	if diff := cmp.Diff(want, tryTable(outcomes, follow)); diff != "" {
		t.Errorf("unexpected table (-want,+got):\n%s", diff)
	}
	report := tryReport("kueue v1", outcomes, follow)
	for _, want := range []string{"conflict  0330-a-b-c.patch  stands on 0300-a-b-c.patch\n", "1 clean, 1 offset, 3 conflict (1 of them stand on another one), 0 already upstream\n"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
}
