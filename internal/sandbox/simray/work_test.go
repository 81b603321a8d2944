// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseWork(t *testing.T) {
	cases := map[string]struct {
		annotation string
		want       Work
		wantErr    string
	}{
		"phases with and without names": {
			annotation: "- {items: 1, duration: 500ms}\n- {name: burst, items: 30, duration: 1s, workers: 2}\n",
			want: Work{
				Phases: []Phase{
					{Name: "phase-0", Items: 1, Duration: 500 * time.Millisecond, Workers: 1},
					{Name: "burst", Items: 30, Duration: time.Second, Workers: 2},
				},
				ItemsPerWorker: 1, Upscale: 1, RemoveUnready: 10 * time.Second,
			},
		},
		"a group in some phases only": {
			annotation: "- {name: a, group: g, items: 1, duration: 1s}\n- {name: b, items: 1, duration: 1s}",
			wantErr:    `[1].group is "", allowed is a worker group in all phases or in none`,
		},
		"nothing":               {annotation: "", wantErr: "has no phase"},
		"no list":               {annotation: "items: 1", wantErr: "want a list of {name, group, items, duration, workers}"},
		"an unknown field":      {annotation: "- {items: 1, duration: 1s, worker: 2}", wantErr: `unknown field "worker"`},
		"no items":              {annotation: "- {duration: 1s}", wantErr: "[0].items is missing, allowed is a number from 1"},
		"zero items":            {annotation: "- {items: 1, duration: 1s}\n- {items: 0, duration: 1s}", wantErr: "[1].items is 0, allowed is 1 to 1000000"},
		"far too many items":    {annotation: "- {items: 1000001, duration: 1s}", wantErr: "[0].items is 1000001, allowed is 1 to 1000000"},
		"no duration":           {annotation: "- {items: 1}", wantErr: "[0].duration is missing, allowed is a duration above 0"},
		"a negative duration":   {annotation: "- {items: 1, duration: -1s}", wantErr: "[0].duration is -1s, allowed is a duration above 0"},
		"a duration of no unit": {annotation: "- {items: 1, duration: '5'}", wantErr: "missing unit"},
		"no workers at all":     {annotation: "- {items: 1, duration: 1s, workers: 0}", wantErr: "[0].workers is 0, allowed is a number from 1"},
		"two phases of one name": {
			annotation: "- {name: a, items: 1, duration: 1s}\n- {name: a, items: 1, duration: 1s}",
			wantErr:    "[1].name is a, allowed is a name of its own, [0] has this one",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseWork(tc.annotation)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || !strings.Contains(err.Error(), WorkAnnotation) {
					t.Fatalf("got %v, want an error with %q and the annotation", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("work (-want,+got):\n%s", diff)
			}
			if got.Items() != 31 {
				t.Errorf("got %d items, want 31", got.Items())
			}
		})
	}
}

func TestPartsSplitTheWorkByGroup(t *testing.T) {
	w, err := ParseWork("- {name: s, group: trainer, items: 2, duration: 4s}\n- {name: r, group: rollout, items: 9, duration: 1s}\n- {name: t, group: trainer, items: 1, duration: 2s}\n")
	if err != nil {
		t.Fatal(err)
	}
	part := func(phases ...Phase) Work {
		return Work{Phases: phases, ItemsPerWorker: 1, Upscale: 1, RemoveUnready: DefaultRemoveUnready}
	}
	want := map[string]Work{
		"trainer": part(
			Phase{Name: "s", Group: "trainer", Items: 2, Duration: 4 * time.Second, Workers: 1},
			Phase{Name: "t", Group: "trainer", Items: 1, Duration: 2 * time.Second, Workers: 1}),
		"rollout": part(Phase{Name: "r", Group: "rollout", Items: 9, Duration: time.Second, Workers: 1}),
	}
	if diff := cmp.Diff(want, w.Parts()); diff != "" {
		t.Errorf("parts (-want,+got):\n%s", diff)
	}
	whole := work(Phase{Name: "p", Items: 1, Duration: time.Second})
	if diff := cmp.Diff(map[string]Work{"": whole}, whole.Parts()); diff != "" {
		t.Errorf("parts of work without groups (-want,+got):\n%s", diff)
	}
}

func TestScaled(t *testing.T) {
	w := Work{ModelLoad: 20 * time.Second, RemoveUnready: 10 * time.Second, Phases: []Phase{{Name: "p", Items: 2, Duration: time.Minute}}}
	want := Work{ModelLoad: 2 * time.Second, RemoveUnready: time.Second, Phases: []Phase{{Name: "p", Items: 2, Duration: 6 * time.Second}}}
	if diff := cmp.Diff(want, w.Scaled(10)); diff != "" {
		t.Errorf("scaled (-want,+got):\n%s", diff)
	}
	if w.Phases[0].Duration != time.Minute {
		t.Error("the original was changed")
	}
}
