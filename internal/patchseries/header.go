// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Trailer keys of a patch header.
const (
	TrailerClass    = "Fleet-Class"
	TrailerStatus   = "Upstream-Status"
	TrailerIssue    = "Upstream-Issue"
	TrailerDropWhen = "Drop-When"
	TrailerGate     = "Feature-Gate"
	TrailerTests    = "Tests"
	// TrailerName names the file of a commit that has none yet. It is read by
	// the export and left out of the patch.
	TrailerName = "Fleet-Patch"
)

// Sections lists the parts that the body of every patch must have, in order.
// A section starts with its title and a colon at the start of a line.
func Sections() []string {
	return []string{"Problem", "Change", "Why not outside the tree", "User-visible effect"}
}

// Trailer is one "Key: value" line at the end of a commit message.
type Trailer struct {
	Key, Value string
}

// Header is what a patch says about itself.
type Header struct {
	// Author is the From line; empty when there is none.
	Author string
	// SubjectPrefix is what git am would cut off the subject, as "[PATCH] ".
	SubjectPrefix string
	Subject       string
	// Body is the message without the subject.
	Body string
	// Date tells whether the mail has a Date line.
	Date bool
	// Trailers are in the order of the message.
	Trailers []Trailer
}

func parseHeader(preamble string) (Header, error) {
	parsed, err := gitdiff.ParsePatchHeader(preamble)
	if err != nil {
		return Header{}, err
	}
	header := Header{
		SubjectPrefix: parsed.SubjectPrefix,
		Subject:       parsed.Title,
		Body:          parsed.Body,
		Date:          !parsed.AuthorDate.IsZero(),
		Trailers:      ParseTrailers(parsed.Body),
	}
	if parsed.Author != nil {
		header.Author = parsed.Author.String()
	}
	return header, nil
}

// Get returns the value of the first trailer with the given key.
func (h Header) Get(key string) (string, bool) {
	for _, t := range h.Trailers {
		if t.Key == key {
			return t.Value, true
		}
	}
	return "", false
}

// Class is the value of the Fleet-Class trailer.
func (h Header) Class() Class {
	value, _ := h.Get(TrailerClass)
	return Class(value)
}

var trailerLine = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9-]*):[ \t]*(.*)$`)

// ParseTrailers returns the trailers of a commit message: its last paragraph,
// if every line of it is a "Key: value" or the indented rest of one.
func ParseTrailers(message string) []Trailer {
	lines := strings.Split(strings.TrimRight(message, " \t\n"), "\n")
	start := len(lines)
	for start > 0 && strings.TrimSpace(lines[start-1]) != "" {
		start--
	}
	var trailers []Trailer
	for _, line := range lines[start:] {
		if rest := strings.TrimLeft(line, " \t"); rest != line && len(trailers) > 0 {
			last := &trailers[len(trailers)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(rest))
			continue
		}
		m := trailerLine.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		trailers = append(trailers, Trailer{Key: m[1], Value: strings.TrimSpace(m[2])})
	}
	return trailers
}

// Section returns the text under a title of Sections, and whether the title is there.
func (h Header) Section(title string) (string, bool) {
	var text []string
	found := false
	for line := range strings.SplitSeq(h.Body, "\n") {
		if other, rest, ok := cutTitle(line); ok {
			if found {
				break
			}
			if found = other == title; found {
				text = append(text, rest)
			}
			continue
		}
		// The trailers end the last section.
		if m := trailerLine.FindStringSubmatch(line); found && m != nil && isOurs(m[1]) {
			break
		}
		if found {
			text = append(text, line)
		}
	}
	return strings.TrimSpace(strings.Join(text, "\n")), found
}

func cutTitle(line string) (title, rest string, ok bool) {
	for _, title := range Sections() {
		if rest, ok := strings.CutPrefix(line, title+":"); ok {
			return title, strings.TrimSpace(rest), true
		}
	}
	return "", "", false
}

func isOurs(key string) bool {
	for _, rule := range trailerRules() {
		if rule.key == key {
			return true
		}
	}
	return false
}

// oneOf formats the allowed values for a message.
func oneOf(classes []Class) string {
	var out []string
	for _, c := range classes {
		out = append(out, fmt.Sprintf("%q", c))
	}
	return strings.Join(out, " or ")
}
