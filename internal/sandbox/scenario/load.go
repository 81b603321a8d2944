// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Defaults of what a file leaves out.
const (
	// DefaultTimeScale lets a story in the times of the manifests (tens of
	// seconds of idle time) be told in the time that a reader has.
	DefaultTimeScale = 10
	defaultTimeout   = 5 * time.Minute
)

const extension = ".yaml"

// Find returns the file that is meant by the name of a scenario or by a path.
func Find(dir, nameOrFile string) (string, error) {
	for _, path := range []string{nameOrFile, filepath.Join(dir, nameOrFile+extension)} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	names, err := Names(dir)
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("scenario %q is neither a file nor one of: %s", nameOrFile, strings.Join(names, ", "))
}

// Names are the scenarios of a folder.
func Names(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+extension))
	if err != nil {
		return nil, fmt.Errorf("failed to list the scenarios in %s: %w", dir, err)
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(filepath.Base(file), extension)
	}
	return names, nil
}

// Load reads a file.
func Load(file string) (*Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("failed to read a scenario: %w", err)
	}
	return Parse(file, text)
}

// Parse reads the text of a file. The error names every mistake with file,
// line, field, value and what is allowed.
func Parse(file string, text []byte) (*Scenario, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("failed to read %s: %w", file, err)
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("failed to read %s: it is empty", file)
	}
	p := &problems{file: file, lines: map[string]int{}}
	walk(doc.Content[0], reflect.TypeFor[Scenario](), "", p.lines, p.at)
	if err := p.err(); err != nil {
		return nil, err
	}
	s := &Scenario{}
	if err := doc.Decode(s); err != nil {
		return nil, fmt.Errorf("failed to read %s: %w", file, err)
	}
	s.Name, s.Dir = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), filepath.Dir(file)
	s.fillDefaults()
	s.validate(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Scenario) fillDefaults() {
	s.TimeScale = cmp.Or(s.TimeScale, DefaultTimeScale)
	s.Timeout = cmp.Or(s.Timeout, Duration(defaultTimeout))
	if len(s.Queues) == 0 {
		s.Queues = []Queue{{Name: "training"}}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		q.LocalQueue = cmp.Or(q.LocalQueue, q.Name+"-lq")
		q.WithinClusterQueue = cmp.Or(q.WithinClusterQueue, "LowerPriority")
		q.ReclaimFromCohort = cmp.Or(q.ReclaimFromCohort, "Never")
	}
	for i := range s.Jobs {
		s.Jobs[i].Expect = cmp.Or(s.Jobs[i].Expect, Succeeds)
		if w := s.Jobs[i].Work; w != nil {
			w.ItemsPerWorker = cmp.Or(w.ItemsPerWorker, 1)
			w.Autoscaler = cmp.Or(w.Autoscaler, "ray")
			w.Upscale = cmp.Or(w.Upscale, 1)
			for j := range w.Phases {
				w.Phases[j].Workers = cmp.Or(w.Phases[j].Workers, 1)
				w.Phases[j].Name = cmp.Or(w.Phases[j].Name, fmt.Sprintf("phase-%d", j))
			}
		}
	}
	for i := range s.Events {
		if kinds := setFields(s.Events[i], eventActions); len(kinds) == 1 {
			s.Events[i].Name = cmp.Or(s.Events[i].Name, fmt.Sprintf("%s-%d", kinds[0], i))
		}
	}
}

// problems collects mistakes.
type problems struct {
	file  string
	lines map[string]int
	found []problem
}

type problem struct {
	line int
	text string
}

func (p *problems) at(line int, path, text string) {
	p.found = append(p.found, problem{line, fmt.Sprintf("%s:%d: %s %s", p.file, line, path, text)})
}

// add reports a mistake in a field. If the field is not in the file, the line
// is that of the nearest thing around it.
func (p *problems) add(path, format string, args ...any) {
	near := path
	for near != "" && p.lines[near] == 0 {
		near = near[:max(strings.LastIndexAny(near, ".["), 0)]
	}
	p.at(max(p.lines[near], 1), path, fmt.Sprintf(format, args...))
}

func (p *problems) err() error {
	if len(p.found) == 0 {
		return nil
	}
	slices.SortStableFunc(p.found, func(a, b problem) int { return a.line - b.line })
	errs := make([]error, len(p.found))
	for i, found := range p.found {
		errs[i] = errors.New(found.text)
	}
	return errors.Join(errs...)
}
