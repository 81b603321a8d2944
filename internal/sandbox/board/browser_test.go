// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package board

import (
	"strings"
	"sync/atomic"
	"testing"

	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/recording/recordingtest"
	"fleet.ai/kueue-fleet/internal/sandbox/web/webtest"
)

// twoMoments shows an early moment once, then a later one.
type twoMoments struct {
	early, late *recording.Recording
	asked       atomic.Int32
}

func (s *twoMoments) Snapshot() *recording.Recording {
	if s.asked.Add(1) == 1 {
		return s.early
	}
	return s.late
}

// Changed is always over: there is a later moment.
func (s *twoMoments) Changed() <-chan struct{} {
	changed := make(chan struct{})
	close(changed)
	return changed
}

// The page must come up with the early moment, take in what changed from the
// stream, and say that the fleet has ended. The stream ends at once, since a
// browser without a window waits for it.
func TestBrowserTakesInChanges(t *testing.T) {
	browser := webtest.NewBrowser(t)
	whole := recordingtest.Small()[1]
	done := make(chan struct{})
	close(done)
	cases := map[string]struct {
		allow bool
		want  string
	}{
		"a board that only shows": {want: "This page only shows. With --allow-changes it submits: Fixed gang, Elastic eval,"},
		"a board with buttons":    {allow: true, want: "Sweep q2 · six trials × 1 GPU, each a job"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := &twoMoments{early: recordingtest.Until(whole, 9), late: recordingtest.Until(whole, 16.3)}
			server := newServer(t, Options{Source: source, Done: done, AllowChanges: tc.allow, Submitter: &submitted{}})
			dom := browser.Open(t, server.URL)
			for section, want := range map[string]string{
				"stage":   "Nodes and their GPUs: 32 of 32 held",
				"actions": tc.want,
				"jobs":    "shaped q2 evals",
				"verdict": "RUNNING",
			} {
				if text := webtest.Shown(dom, section); !strings.Contains(text, want) {
					t.Errorf("section %s does not show %q:\n%s", section, want, text)
				}
			}
			if !strings.Contains(dom, "the fleet has ended") {
				t.Error("the page does not say that the fleet has ended")
			}
		})
	}
}
