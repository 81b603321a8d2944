// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// testEvent is a line of the output of go test -json (see go doc test2json).
type testEvent struct {
	Action      string
	Package     string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// unitReport collects the events of a run of go test -json.
type unitReport struct {
	tests    map[testID]string
	output   map[testID]*strings.Builder
	packages map[string]packageOutcome
}

type testID struct{ pkg, test string }

type packageOutcome struct {
	action      string
	seconds     float64
	failedBuild string
	cached      bool
}

// readUnitEvents reads the stream to its end and copies each line to log.
func readUnitEvents(stream io.Reader, log io.Writer) (*unitReport, error) {
	r := &unitReport{
		tests:    map[testID]string{},
		output:   map[testID]*strings.Builder{},
		packages: map[string]packageOutcome{},
	}
	in := bufio.NewReader(stream)
	for {
		line, readErr := in.ReadString('\n')
		if _, err := io.WriteString(log, line); err != nil {
			return nil, fmt.Errorf("failed to write the log: %w", err)
		}
		if strings.HasPrefix(line, "{") {
			var event testEvent
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				return nil, fmt.Errorf("failed to parse %q of go test: %w", line, err)
			}
			r.add(event)
		}
		if errors.Is(readErr, io.EOF) {
			return r, nil
		}
		if readErr != nil {
			return nil, fmt.Errorf("failed to read the output of go test: %w", readErr)
		}
	}
}

func (r *unitReport) add(event testEvent) {
	id := testID{event.Package, event.Test}
	switch event.Action {
	case "output":
		if r.output[id] == nil {
			r.output[id] = &strings.Builder{}
		}
		r.output[id].WriteString(event.Output)
		if event.Test == "" && strings.HasPrefix(event.Output, "ok ") && strings.Contains(event.Output, "(cached)") {
			outcome := r.packages[event.Package]
			outcome.cached = true
			r.packages[event.Package] = outcome
		}
	case "pass", "fail", "skip":
		if event.Test != "" {
			r.tests[id] = event.Action
			return
		}
		outcome := r.packages[event.Package]
		outcome.action, outcome.seconds, outcome.failedBuild = event.Action, event.Elapsed, event.FailedBuild
		r.packages[event.Package] = outcome
	}
}

// result counts the leaves of the test tree: a test with subtests counts through
// them, unless it failed by itself. The packages in want must all have reported.
func (r *unitReport) result(want []string) Result {
	parents, failedParents := map[testID]bool{}, map[testID]bool{}
	for id, action := range r.tests {
		for at := strings.LastIndexByte(id.test, '/'); at > 0; at = strings.LastIndexByte(id.test[:at], '/') {
			parent := testID{id.pkg, id.test[:at]}
			parents[parent] = true
			failedParents[parent] = failedParents[parent] || action == "fail"
		}
	}
	var out Result
	failedIn := map[string]bool{}
	for id, action := range r.tests {
		if parents[id] && (action != "fail" || failedParents[id]) {
			continue
		}
		switch action {
		case "pass":
			out.Passed++
		case "skip":
			out.Skipped++
		case "fail":
			failedIn[id.pkg] = true
			out.fail(id.pkg+" "+id.test, r.outputOf(id))
		}
	}
	for _, pkg := range want {
		outcome, reported := r.packages[pkg]
		switch {
		case !reported || outcome.action == "":
			out.fail(pkg, "the package did not report an outcome (build failure, or the run was cut short)")
		case outcome.action == "fail" && outcome.failedBuild != "":
			out.fail(pkg, "the build failed, see the log")
		case outcome.action == "fail" && !failedIn[pkg]:
			// A panic, a data race outside a test, or a test that was running when
			// the time was up.
			out.fail(pkg, r.outputOf(testID{pkg: pkg}))
		}
	}
	slices.SortFunc(out.Failures, func(a, b Failure) int { return strings.Compare(a.Spec, b.Spec) })
	if out.Passed+out.Failed == 0 {
		out.Problem = "0 unit tests ran"
	}
	return out
}

func (r *unitReport) outputOf(id testID) string {
	if r.output[id] == nil {
		return ""
	}
	return strings.TrimSpace(r.output[id].String())
}

// cached is how many packages go test did not run since nothing changed for them.
func (r *unitReport) cached() int {
	n := 0
	for _, outcome := range r.packages {
		if outcome.cached {
			n++
		}
	}
	return n
}

// slowest returns up to n packages that took the longest, with their seconds.
func (r *unitReport) slowest(n int) []string {
	names := make([]string, 0, len(r.packages))
	for name, outcome := range r.packages {
		if !outcome.cached && outcome.seconds > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if r.packages[a].seconds != r.packages[b].seconds {
			return int(r.packages[b].seconds*1000) - int(r.packages[a].seconds*1000)
		}
		return strings.Compare(a, b)
	})
	out := make([]string, 0, n)
	for _, name := range names[:min(n, len(names))] {
		out = append(out, fmt.Sprintf("%s %.0fs", strings.TrimPrefix(name, kueueModule+"/"), r.packages[name].seconds))
	}
	return out
}

func (r *Result) fail(spec, message string) {
	r.Failed++
	r.Failures = append(r.Failures, Failure{Spec: spec, Message: message})
}
