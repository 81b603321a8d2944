// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is written as Go writes durations, such as 1m30s.
type Duration time.Duration

// UnmarshalYAML reads a duration that is not negative.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is no duration, allowed are 0s or more, such as 1m30s", node.Value)
	}
	*d = Duration(parsed)
	return nil
}

// D is the duration as package time has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Or is the duration, or another one if it is not set.
func (d *Duration) Or(other time.Duration) time.Duration {
	if d == nil {
		return other
	}
	return time.Duration(*d)
}

var durationType = reflect.TypeFor[Duration]()

// fields are the YAML names of a struct's fields, those of inlined structs
// included.
func fields(t reflect.Type) (names []string, types map[string]reflect.Type) {
	types = map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if options == "inline" {
			more, moreTypes := fields(field.Type)
			for _, n := range more {
				names, types[n] = append(names, n), moreTypes[n]
			}
			continue
		}
		if name != "-" {
			names, types[name] = append(names, name), field.Type
		}
	}
	return names, types
}

// walk fills lines with the line of each path and reports what does not
// belong there or has another type.
func walk(node *yaml.Node, t reflect.Type, path string, lines map[string]int, report func(line int, path, problem string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	lines[path] = node.Line
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Tag == "!!null" || t == durationType {
		if t == durationType {
			if err := new(Duration).UnmarshalYAML(node); err != nil {
				report(node.Line, path, "is "+err.Error())
			}
		}
		return
	}
	want := ""
	switch t.Kind() {
	case reflect.Struct:
		if node.Kind != yaml.MappingNode {
			want = "a mapping"
			break
		}
		walkMapping(node, t, path, lines, report)
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			want = "a list"
			break
		}
		for i, item := range node.Content {
			walk(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i), lines, report)
		}
	case reflect.Map:
		if node.Kind != yaml.MappingNode {
			want = "a mapping"
			break
		}
		for i := 0; i < len(node.Content); i += 2 {
			key := join(path, node.Content[i].Value)
			lines[key] = node.Content[i].Line
			if t.Elem().Kind() == reflect.Bool {
				walk(node.Content[i+1], t.Elem(), key, lines, report)
			}
		}
	case reflect.Int:
		want = scalar(node, "a whole number", "!!int")
	case reflect.Float64:
		want = scalar(node, "a number", "!!int", "!!float")
	case reflect.Bool:
		want = scalar(node, "true or false", "!!bool")
	case reflect.String:
		want = scalar(node, "text", "!!str", "!!int", "!!float", "!!bool")
	}
	if want != "" {
		report(node.Line, path, fmt.Sprintf("is %s, allowed is %s", describe(node), want))
	}
}

func walkMapping(node *yaml.Node, t reflect.Type, path string, lines map[string]int, report func(line int, path, problem string)) {
	names, types := fields(t)
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		at := join(path, key.Value)
		switch {
		case types[key.Value] == nil:
			report(key.Line, at, "is unknown, allowed are "+strings.Join(names, ", "))
		case seen[key.Value]:
			report(key.Line, at, "is set twice")
		default:
			walk(node.Content[i+1], types[key.Value], at, lines, report)
			lines[at] = key.Line
		}
		seen[key.Value] = true
	}
}

func scalar(node *yaml.Node, want string, tags ...string) string {
	if node.Kind == yaml.ScalarNode && slices.Contains(tags, node.Tag) {
		return ""
	}
	return want
}

func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", node.Value)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
