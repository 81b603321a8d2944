// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// report has the measures of all runs, of each arm of each scenario together.
type report struct {
	Scenarios []*scenarioReport `json:"scenarios"`
}

type scenarioReport struct {
	Name string       `json:"name"`
	Arms []*armReport `json:"arms"`
}

type armReport struct {
	Name string     `json:"name"`
	Runs []measures `json:"runs"`
}

func (r *report) add(scenario, arm string, m measures) {
	s := findOrAdd(&r.Scenarios, func(s *scenarioReport) bool { return s.Name == scenario }, &scenarioReport{Name: scenario})
	a := findOrAdd(&s.Arms, func(a *armReport) bool { return a.Name == arm }, &armReport{Name: arm})
	a.Runs = append(a.Runs, m)
}

func findOrAdd[T any](list *[]*T, is func(*T) bool, fresh *T) *T {
	for _, item := range *list {
		if is(item) {
			return item
		}
	}
	*list = append(*list, fresh)
	return fresh
}

// values are those of all runs of an arm.
func (a *armReport) values(of func(measures) []float64) []float64 {
	var all []float64
	for _, m := range a.Runs {
		all = append(all, of(m)...)
	}
	return all
}

func (a *armReport) total(of func(measures) float64) float64 {
	var sum float64
	for _, m := range a.Runs {
		sum += of(m)
	}
	return sum
}

// latencies are the rows of the report that tell times.
var latencies = []struct {
	name string
	of   func(measures) []float64
}{
	{"autoscaler's request to admission", func(m measures) []float64 { return m.Growths }},
	{"pod created to released", func(m measures) []float64 { return m.Releases }},
	{"Workload created to admission", func(m measures) []float64 { return m.Waits }},
}

// markdown writes one table of latencies and one of all else for each scenario.
func (r *report) markdown(w io.Writer) error {
	var out strings.Builder
	for _, s := range r.Scenarios {
		fmt.Fprintf(&out, "### %s\n\n| Latency | Arm | n | p50 | p90 | p99 | max |\n|---|---|---:|---:|---:|---:|---:|\n", s.Name)
		for _, l := range latencies {
			for _, a := range s.Arms {
				v := a.values(l.of)
				fmt.Fprintf(&out, "| %s | %s | %d | %s | %s | %s | %s |\n", l.name, a.Name, len(v), millis(v, 50), millis(v, 90), millis(v, 99), millis(v, 100))
			}
		}
		out.WriteString("\n| Arm | runs | jobs that succeeded | run | admissions per s | evictions | CPU of the manager per admission | its peak memory | Workload writes per admission | invariants broken |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
		for _, a := range s.Arms {
			a.costs(&out)
		}
		out.WriteString("\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (a *armReport) costs(out *strings.Builder) {
	runs := float64(len(a.Runs))
	duration := a.total(func(m measures) float64 { return m.Duration })
	admissions := a.total(func(m measures) float64 { return float64(m.Admissions) })
	cpu, peak, writes := "-", "-", "-"
	if a.measured() && admissions > 0 {
		cpu = fmt.Sprintf("%.0f ms", a.total(func(m measures) float64 { return m.Cost.CPUSeconds })/admissions*1000)
		writes = fmt.Sprintf("%.1f", a.total(func(m measures) float64 { return float64(m.Cost.WorkloadWrites) })/admissions)
		var most int64
		for _, m := range a.Runs {
			most = max(most, m.Cost.PeakBytes)
		}
		peak = fmt.Sprintf("%d MiB", most>>20)
	}
	fmt.Fprintf(out, "| %s | %.0f | %.0f of %.0f | %.0f s | %.2f | %.0f | %s | %s | %s | %.0f |\n", a.Name, runs,
		a.total(func(m measures) float64 { return float64(m.Succeeded) }), a.total(func(m measures) float64 { return float64(m.Jobs) }),
		duration/runs, admissions/duration, a.total(func(m measures) float64 { return float64(m.Evictions) }),
		cpu, peak, writes, a.total(func(m measures) float64 { return float64(m.Violations) }))
}

func (a *armReport) measured() bool {
	for _, m := range a.Runs {
		if m.Cost == nil {
			return false
		}
	}
	return true
}

// write writes the report as Markdown and JSON to dir, and as Markdown to out.
func (r *report) write(dir string, out io.Writer) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("failed to encode the report: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "report.md"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "report.json"), append(data, '\n'), 0o600),
		r.markdown(io.MultiWriter(file, out)),
		file.Close(),
	)
}
