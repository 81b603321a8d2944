// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// UpstreamMessage is the message of the patch's commit upstream: what is wrong and
// what is done about it, without what the header says to us.
func (h Header) UpstreamMessage() string {
	problem, _ := h.Section("Problem")
	change, _ := h.Section("Change")
	return strings.TrimSpace(strings.Join([]string{h.Subject, problem, change}, "\n\n")) + "\n"
}

// answer is what a patch says under one heading of a pull request.
type answer struct {
	// words are those of which a heading of the template has one.
	words []string
	// heading is ours, for a template that doesn't ask.
	heading, text string
}

func (p *Patch) answers(needs []string) []answer {
	problem, _ := p.Header.Section("Problem")
	change, _ := p.Header.Section("Change")
	return []answer{
		{words: []string{"type", "kind"}, heading: "Kind", text: "/kind " + kind(p.Header.Class())},
		{words: []string{"issue", "fixes"}, heading: "Issue", text: p.issue()},
		{words: []string{"note", "reviewer"}, heading: "Notes", text: p.notes(needs)},
		{words: []string{"user", "release"}, heading: "Release note", text: "```release-note\n" + p.releaseNote() + "\n```"},
		// Last: its words are those of many headings.
		{words: []string{"does", "why", "description"}, heading: "Change", text: reflow(problem) + "\n\n" + reflow(change)},
	}
}

func kind(class Class) string {
	switch class {
	case ClassBackport, ClassFix:
		return "bug"
	case ClassSeam, ClassFeature:
		return "feature"
	case ClassBuild, ClassTest:
		return "cleanup"
	}
	return "cleanup"
}

func (p *Patch) issue() string {
	issue, _ := p.Header.Get(TrailerIssue)
	switch {
	case issue == "none" || issue == "":
		return "None."
	case strings.Contains(issue, "/pull/"):
		return "See " + issue
	}
	return "Fixes " + issue
}

func (p *Patch) notes(needs []string) string {
	var out []string
	if len(needs) > 0 {
		out = append(out, "Stands on the pull requests for: "+strings.Join(needs, "; ")+".")
	}
	if tests, _ := p.Header.Get(TrailerTests); tests != "" {
		out = append(out, "Tests: "+tests+".")
	}
	if gate, _ := p.Header.Get(TrailerGate); gate != "none" && gate != "" {
		out = append(out, "Feature gate: "+gate+".")
	}
	return strings.Join(out, "\n\n")
}

func (p *Patch) releaseNote() string {
	effect, _ := p.Header.Section("User-visible effect")
	if word := strings.ToUpper(strings.TrimRight(strings.TrimSpace(effect), ".")); word == "NONE" || word == "" {
		return "NONE"
	}
	return reflow(effect)
}

var (
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	heading = regexp.MustCompile(`(?m)^#+ .*$`)
)

// PullRequest answers the headings of a project's template with what the patch
// says, in the template's order; what it doesn't ask for comes last. The subjects of
// the patches that it needs are named. An empty template is fine.
func (p *Patch) PullRequest(template string, needs []string) string {
	answers := p.answers(needs)
	said := make([]bool, len(answers))
	var out []string
	for _, title := range heading.FindAllString(comment.ReplaceAllString(template, ""), -1) {
		out = append(out, title)
		for i, a := range answers {
			if !said[i] && a.answers(title) {
				said[i] = true
				out = append(out, a.text)
				break
			}
		}
	}
	for i, a := range answers {
		if !said[i] && a.text != "" {
			out = append(out, "#### "+a.heading, a.text)
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

func (a answer) answers(title string) bool {
	title = strings.ToLower(title)
	for _, word := range a.words {
		if strings.Contains(title, word) {
			return true
		}
	}
	return false
}

// reflow joins the lines of paragraphs: where a pull request is shown, the end of a
// line stays one.
func reflow(text string) string {
	var out strings.Builder
	for i, l := range strings.Split(text, "\n") {
		starts := l == "" || strings.HasPrefix(l, " ") || strings.HasPrefix(l, "- ")
		switch {
		case i == 0:
		case starts || strings.HasSuffix(out.String(), "\n"):
			out.WriteString("\n")
		default:
			out.WriteString(" ")
		}
		out.WriteString(l)
	}
	return out.String()
}

var ourName = regexp.MustCompile(`\b\w*[Ff]leet\w*`)

// ByHand lists what is left to do before the patch can be sent up.
func (p *Patch) ByHand() []string {
	var out []string
	for _, diff := range p.Diffs {
		if name := diffPath(diff); ourName.MatchString(name) {
			out = append(out, fmt.Sprintf("move %s to where its tests belong", name))
		}
		seen := map[string]bool{}
		var names []string
		for _, fragment := range diff.TextFragments {
			for _, l := range fragment.Lines {
				for _, name := range ourName.FindAllString(l.Line, -1) {
					if l.Op == gitdiff.OpAdd && !seen[name] {
						seen[name] = true
						names = append(names, name)
					}
				}
			}
		}
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("rename in %s: %s", diffPath(diff), strings.Join(names, ", ")))
		}
	}
	if issue, _ := p.Header.Get(TrailerIssue); issue == "none" {
		out = append(out, "file an issue, or say why there is none")
	}
	return out
}
