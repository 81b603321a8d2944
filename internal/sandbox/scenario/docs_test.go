// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	docFile   = "../../../docs/scenarios.md"
	docBegins = "<!-- fields: written by the test of package scenario with UPDATE_DOCS=1 -->\n"
	docEnds   = "<!-- end of fields -->\n"
)

// TestTheDocumentHasEveryField compares the tables of the document with the
// types that files are decoded into.
func TestTheDocumentHasEveryField(t *testing.T) {
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), docBegins)
	got, after, ok2 := strings.Cut(rest, docEnds)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks %q and %q", docFile, docBegins, docEnds)
	}
	want := fieldTables(t)
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(docFile, []byte(before+docBegins+want+docEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of %s (-want,+got):\n%s", docFile, diff)
	}
}

// fieldTables has a table for each type, in the order in which they are met.
func fieldTables(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	queue, seen := []reflect.Type{reflect.TypeFor[Scenario]()}, map[reflect.Type]bool{}
	for len(queue) > 0 {
		typ := queue[0]
		queue = queue[1:]
		if seen[typ] {
			continue
		}
		seen[typ] = true
		fmt.Fprintf(&b, "\n### %s\n\n| Field | Type | Meaning |\n|---|---|---|\n", typ.Name())
		queue = append(queue, writeFields(t, &b, typ)...)
	}
	b.WriteString("\n")
	return b.String()
}

func writeFields(t *testing.T, b *strings.Builder, typ reflect.Type) []reflect.Type {
	t.Helper()
	var inner []reflect.Type
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if options == "inline" {
			inner = append(inner, writeFields(t, b, field.Type)...)
			continue
		}
		if name == "-" {
			continue
		}
		doc := field.Tag.Get("doc")
		if doc == "" || name == "" {
			t.Errorf("%s.%s has no name or no text for the document", typ.Name(), field.Name)
		}
		kind, next := typeName(field.Type)
		if next != nil {
			inner = append(inner, next)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, kind, doc)
	}
	return inner
}

func typeName(t reflect.Type) (string, reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == durationType:
		return "duration", nil
	case t.Kind() == reflect.Slice:
		name, next := typeName(t.Elem())
		return "list of " + name, next
	case t.Kind() == reflect.Struct:
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name())), t
	case t.Kind() == reflect.Map:
		return "mapping", nil
	case t.Kind() == reflect.Int:
		return "number", nil
	case t.Kind() == reflect.Float64:
		return "number", nil
	case t.Kind() == reflect.Bool:
		return "true or false", nil
	}
	return "text", nil
}
