// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// Result is the outcome of one suite, or of all unit packages together.
type Result struct {
	Suite   string `json:"suite"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
	// Unreached are the skipped ones that Ginkgo left out since a spec before them
	// in an ordered container failed.
	Unreached int `json:"unreached,omitempty"`
	// Meant are the failures that a gate is there for. They count as neither passed
	// nor failed.
	Meant int `json:"meant,omitempty"`
	// Retried are known flakes that failed and passed when run again. They count
	// as passed.
	Retried []string `json:"retried,omitempty"`
	// Failures are the failed specs and tests.
	Failures []Failure `json:"failures,omitempty"`
	// Problem is why the suite as a whole failed; empty if it did not.
	Problem string `json:"problem,omitempty"`
	// Compile and Run are wall-clock times.
	Compile time.Duration `json:"compileNanoseconds"`
	Run     time.Duration `json:"runNanoseconds"`
	// Log is the file with the full output.
	Log string `json:"log"`
}

// Failure is one failed spec or test.
type Failure struct {
	Spec    string `json:"spec"`
	Message string `json:"message"`
}

// ok says whether the suite counts as passed.
func (r Result) ok() bool { return r.Problem == "" && r.Failed == 0 && r.Passed > 0 }

// readSuiteReport turns a JSON report of Ginkgo into a result.
func readSuiteReport(path string) (Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Result{}, fmt.Errorf("failed to read the report of the suite: %w", err)
	}
	var reports []types.Report
	if err := json.Unmarshal(data, &reports); err != nil {
		return Result{}, fmt.Errorf("failed to parse %s: %w", path, err)
	}
	if len(reports) != 1 {
		return Result{}, fmt.Errorf("%s holds %d suites, want 1", path, len(reports))
	}
	return suiteResult(reports[0]), nil
}

func suiteResult(report types.Report) Result {
	var r Result
	for _, spec := range report.SpecReports {
		failed := spec.State.Is(types.SpecStateFailureStates)
		switch {
		case failed:
			// Set-up and clean-up nodes count as well: what they break was not tested.
			r.Failed++
			r.Failures = append(r.Failures, Failure{Spec: specName(spec), Message: spec.FailureMessage()})
		case spec.LeafNodeType != types.NodeTypeIt:
		case spec.State == types.SpecStatePassed:
			r.Passed++
		default:
			r.Skipped++
			if strings.Contains(spec.Failure.Message, unreachedMessage) {
				r.Unreached++
			}
		}
	}
	switch {
	case len(report.SpecialSuiteFailureReasons) > 0:
		r.Problem = strings.Join(report.SpecialSuiteFailureReasons, "; ")
	case r.Passed+r.Failed == 0:
		r.Problem = "the suite ran 0 specs"
	case !report.SuiteSucceeded && r.Failed == 0:
		r.Problem = "the suite failed without a failed spec"
	}
	return r
}

// unreachedMessage is Ginkgo's reason for a spec that it skipped because of another
// one. The report has no other trace of ordered containers.
const unreachedMessage = "earlier spec in an ordered container failed"

// specName is the full text of a spec, or the kind of a node without text.
func specName(spec types.SpecReport) string {
	if name := spec.FullText(); name != "" {
		return name
	}
	return "[" + spec.LeafNodeType.String() + "]"
}

// retryable returns the specs of a failed run that may run again in the given
// attempt (1 is the first retry). It returns none unless every failure of the run
// is a known flake with attempts left: one unknown failure fails the suite anyway,
// and specs that were not reached would stay untested.
func retryable(r Result, flakes map[string]Flake, attempt int) []string {
	if r.Problem != "" || r.Unreached > 0 {
		return nil
	}
	var out []string
	for _, failure := range r.Failures {
		flake, known := flakes[failure.Spec]
		if !known || attempt > flake.Retries {
			return nil
		}
		out = append(out, failure.Spec)
	}
	return out
}

// afterRetry merges the run of the retried specs into the first result.
func afterRetry(first, again Result, retried []string) Result {
	merged := first
	merged.Run += again.Run
	merged.Failures, merged.Failed = nil, 0
	for _, spec := range retried {
		i := slices.IndexFunc(again.Failures, func(f Failure) bool { return f.Spec == spec })
		if i < 0 {
			merged.Passed++
			merged.Retried = append(merged.Retried, spec)
			continue
		}
		merged.Failed++
		merged.Failures = append(merged.Failures, again.Failures[i])
	}
	merged.Problem = again.Problem
	// Each retried spec must have run: a focus that matches nothing proves nothing.
	if merged.Problem == "" && again.Passed+again.Failed < len(retried) {
		merged.Problem = fmt.Sprintf("only %d of %d retried specs ran", again.Passed+again.Failed, len(retried))
	}
	return merged
}

// focusExpression matches exactly the given specs.
func focusExpression(specs []string) string {
	quoted := make([]string, 0, len(specs))
	for _, spec := range specs {
		quoted = append(quoted, regexp.QuoteMeta(spec))
	}
	// Ginkgo matches against the suite's description, a space, and the spec's text.
	return "(?:" + strings.Join(quoted, "|") + ")$"
}
