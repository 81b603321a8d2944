// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"slices"
	"strings"
)

// States lists the states that a group can have, from held to ended.
func States() []State {
	return []State{
		StateHeld, StateWaiting, StateDeactivated, StateDraining, StateStarting,
		StateRunning, StateGrowing, StateShrinking, StateEnding, StateEnded,
	}
}

// StatesIn returns the states of the groups that a value of StatusAnnotation names.
// What isn't a state is left out: a user may have written it.
func StatesIn(annotation string) []State {
	var out []State
	for line := range strings.Lines(annotation) {
		_, rest, _ := strings.Cut(line, ": ")
		word, _, _ := strings.Cut(rest, " ")
		if state := State(word); slices.Contains(States(), state) {
			out = append(out, state)
		}
	}
	return out
}
