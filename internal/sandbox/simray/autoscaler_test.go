// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package simray

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestScale(t *testing.T) {
	const timeout = 10 * time.Second
	busy := func(name string) Worker { return Worker{Name: name, Ready: true} }
	idle := func(name string, since float64) Worker {
		return Worker{Name: name, Ready: true, IdleSince: at(since)}
	}
	lost := func(name string, since float64) Worker { return Worker{Name: name, UnreadySince: at(since)} }
	cases := map[string]struct {
		group  Group
		demand int
		rules  Rules
		want   *Scaling // at 100 s
	}{
		"asks for several when it may": {
			group:  Group{Min: 1, Max: 6, Replicas: 1, Workers: []Worker{busy("a")}},
			demand: 50, rules: Rules{Upscale: 3}, want: &Scaling{Replicas: 4},
		},
		"never asks for more than the maximum": {
			group:  Group{Min: 1, Max: 6, Replicas: 5, Workers: []Worker{busy("a"), busy("b"), busy("c"), busy("d"), busy("e")}},
			demand: 50, rules: Rules{Upscale: 3}, want: &Scaling{Replicas: 6},
		},
		"grows by a whole unit": {
			group:  Group{Min: 0, Max: 10, Replicas: 4, Workers: []Worker{busy("a"), busy("b"), busy("c"), busy("d")}},
			demand: 8, rules: Rules{Unit: 4}, want: &Scaling{Replicas: 8},
		},
		"fills up the unit that it has begun": {
			group:  Group{Min: 1, Max: 8, Replicas: 1, Workers: []Worker{busy("a")}},
			demand: 8, rules: Rules{Unit: 4}, want: &Scaling{Replicas: 4},
		},
		"stops at the last whole unit below the maximum": {
			group:  Group{Min: 0, Max: 10, Replicas: 8, Workers: []Worker{busy("a"), busy("b"), busy("c"), busy("d"), busy("e"), busy("f"), busy("g"), busy("h")}},
			demand: 40, rules: Rules{Unit: 4},
		},
		"gives a unit back as a whole": {
			group:  Group{Min: 0, Max: 8, Replicas: 8, Workers: []Worker{idle("a", 1), idle("b", 1), idle("c", 1), idle("d", 1), idle("e", 1), busy("f"), busy("g"), busy("h")}},
			demand: 4, rules: Rules{Unit: 4}, want: &Scaling{Replicas: 4, Remove: []string{"a", "b", "c", "d"}},
		},
		"keeps a unit of which one is busy": {
			group:  Group{Min: 0, Max: 8, Replicas: 4, Workers: []Worker{idle("a", 1), idle("b", 1), idle("c", 1), busy("d")}},
			demand: 0, rules: Rules{Unit: 4},
		},
		"gives up a worker that is unready for too long": {
			group:  Group{Min: 1, Max: 6, Replicas: 3, Workers: []Worker{busy("a"), lost("b", 90), lost("c", 95)}},
			demand: 50, rules: Rules{RemoveUnready: 10 * time.Second}, want: &Scaling{Replicas: 2, Remove: []string{"b"}},
		},
		"bears with it for ever when told so": {
			group:  Group{Min: 1, Max: 6, Replicas: 2, Workers: []Worker{busy("a"), lost("b", 0)}},
			demand: 50,
		},
		"grows by one, however much there is to do": {
			group:  Group{Min: 1, Max: 6, Replicas: 1, Workers: []Worker{busy("a")}},
			demand: 50, want: &Scaling{Replicas: 2},
		},
		"grows from nothing": {
			group:  Group{Min: 0, Max: 6},
			demand: 1, want: &Scaling{Replicas: 1},
		},
		"grows to the minimum without any demand": {
			group: Group{Min: 2, Max: 6, Replicas: 1, Workers: []Worker{busy("a")}},
			want:  &Scaling{Replicas: 2},
		},
		"waits while a worker is not there yet": {
			group:  Group{Min: 1, Max: 6, Replicas: 2, Workers: []Worker{busy("a")}},
			demand: 50,
		},
		"waits while a worker is not ready yet": {
			group:  Group{Min: 1, Max: 6, Replicas: 2, Workers: []Worker{busy("a"), {Name: "b"}}},
			demand: 50,
		},
		"stops at the maximum": {
			group:  Group{Min: 1, Max: 2, Replicas: 2, Workers: []Worker{busy("a"), busy("b")}},
			demand: 50,
		},
		"keeps an idle worker until the timeout": {
			group: Group{Min: 0, Max: 6, Replicas: 1, Workers: []Worker{idle("a", 90.1)}},
		},
		"removes a worker at the timeout": {
			group: Group{Min: 0, Max: 6, Replicas: 1, Workers: []Worker{idle("a", 90)}},
			want:  &Scaling{Replicas: 0, Remove: []string{"a"}},
		},
		"removes all that are idle long enough in one step, the longest first": {
			group:  Group{Min: 1, Max: 6, Replicas: 4, Workers: []Worker{busy("a"), idle("b", 80), idle("c", 95), idle("d", 70)}},
			demand: 1, want: &Scaling{Replicas: 2, Remove: []string{"d", "b"}},
		},
		"keeps the minimum": {
			group: Group{Min: 1, Max: 6, Replicas: 2, Workers: []Worker{idle("a", 1), idle("b", 2)}},
			want:  &Scaling{Replicas: 1, Remove: []string{"a"}},
		},
		"keeps as many as there is work for": {
			group:  Group{Min: 0, Max: 6, Replicas: 3, Workers: []Worker{idle("a", 1), idle("b", 2), busy("c")}},
			demand: 2, want: &Scaling{Replicas: 2, Remove: []string{"a"}},
		},
		"shrinks while growth waits for ever": {
			group:  Group{Min: 0, Max: 6, Replicas: 3, Workers: []Worker{idle("a", 1), busy("b"), {Name: "c"}}},
			demand: 1, want: &Scaling{Replicas: 2, Remove: []string{"a"}},
		},
		"never removes a busy worker": {
			group:  Group{Min: 0, Max: 6, Replicas: 2, Workers: []Worker{busy("a"), busy("b")}},
			demand: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.rules.IdleTimeout = timeout
			got, ok := Scale(at(100), tc.group, tc.demand, tc.rules)
			if tc.want == nil {
				if ok {
					t.Errorf("got %+v, want no change", got)
				}
				return
			}
			if !ok {
				t.Fatalf("got no change, want %+v", *tc.want)
			}
			if diff := cmp.Diff(*tc.want, got); diff != "" {
				t.Errorf("scaling (-want,+got):\n%s", diff)
			}
		})
	}
}
