// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Finding is one thing that is wrong, or nearly so, with a patch.
type Finding struct {
	// Patch is the file name; empty when the finding is about the whole series.
	Patch string
	// Where is the part: name, header, budget, a file with a hunk.
	Where   string
	Message string
	// Warning findings do not fail the check.
	Warning bool
}

func (f Finding) String() string {
	level := "error"
	if f.Warning {
		level = "warning"
	}
	parts := []string{level}
	for _, part := range []string{f.Patch, f.Where, f.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Failed reports whether any finding is more than a warning.
func Failed(findings []Finding) bool {
	for _, f := range findings {
		if !f.Warning {
			return true
		}
	}
	return false
}

// Lint judges names, numbers, headers and sizes of a series, without a tree.
// It returns the patches that could be parsed besides.
func Lint(files []File) ([]*Patch, []Finding) {
	findings := lintNames(files)
	var patches []*Patch
	for _, file := range files {
		patch, err := Parse(file)
		if err != nil {
			findings = append(findings, Finding{Patch: file.Name, Where: "format", Message: err.Error()})
			continue
		}
		patches = append(patches, patch)
		findings = append(findings, LintHeader(patch)...)
		findings = append(findings, lintBudget(patch)...)
	}
	return patches, findings
}

func lintNames(files []File) []Finding {
	var findings []Finding
	owner := map[int]string{}
	for _, file := range files {
		name, err := ParseName(file.Name)
		if err != nil {
			findings = append(findings, Finding{Patch: file.Name, Where: "name", Message: err.Error()})
			continue
		}
		if other, taken := owner[name.Number]; taken {
			findings = append(findings, Finding{Patch: file.Name, Where: "name",
				Message: fmt.Sprintf("number %04d is taken by %s; give one of them a free number", name.Number, other)})
			continue
		}
		owner[name.Number] = file.Name
	}
	return findings
}

// trailerRule says what one trailer may hold. Check returns what is wrong, or "".
type trailerRule struct {
	key   string
	hint  string
	check func(value string) string
}

func trailerRules() []trailerRule {
	return []trailerRule{
		{key: TrailerClass, hint: "one of backport, fix, seam, feature, build, test"},
		{key: TrailerStatus, hint: statusHint, check: checkStatus},
		{key: TrailerIssue, hint: "a URL or none", check: checkURLOrNone},
		{key: TrailerDropWhen, hint: "what must be true for the patch to go"},
		{key: TrailerGate, hint: "the name of a feature gate or none", check: checkGate},
		{key: TrailerTests, hint: "the tests that hold the change"},
	}
}

// LintHeader judges subject, sections and trailers of one patch.
func LintHeader(patch *Patch) []Finding {
	var findings []Finding
	report := func(format string, args ...any) {
		findings = append(findings, Finding{Patch: patch.Name, Where: "header", Message: fmt.Sprintf(format, args...)})
	}
	h := patch.Header
	if h.Author == "" {
		report("no author: add a line \"From: name <address>\"")
	}
	if h.Subject == "" {
		report("no subject: add the subject that the upstream pull request would have")
	}
	if h.SubjectPrefix != "" {
		report("subject starts with %q, which git am drops: write it without brackets", strings.TrimSpace(h.SubjectPrefix))
	}
	for _, title := range Sections() {
		switch text, found := h.Section(title); {
		case !found:
			report("no section %q: add a line that starts with \"%s:\"", title, title)
		case text == "":
			report("section %q is empty: say it in a sentence", title)
		}
	}
	for _, rule := range trailerRules() {
		lintTrailer(h, rule, report)
	}
	lintClass(patch, report)
	if ref := bareReference(h.Subject + "\n" + h.Body); ref != "" {
		report("%q does not say which project it means: write the URL", ref)
	}
	if bytes.ContainsRune(patch.Raw, '\r') {
		report("holds carriage returns, which git am drops: use line feeds only")
	}
	return findings
}

func lintTrailer(h Header, rule trailerRule, report func(string, ...any)) {
	var values []string
	for _, t := range h.Trailers {
		if t.Key == rule.key {
			values = append(values, t.Value)
		}
	}
	switch {
	case len(values) == 0:
		report("no trailer %s in the last paragraph: add \"%s: ...\" with %s", rule.key, rule.key, rule.hint)
	case len(values) > 1:
		report("trailer %s is there %d times: keep one", rule.key, len(values))
	case values[0] == "":
		report("trailer %s is empty: write %s", rule.key, rule.hint)
	case rule.check != nil:
		if wrong := rule.check(values[0]); wrong != "" {
			report("trailer %s: %q %s", rule.key, values[0], wrong)
		}
	}
}

func lintClass(patch *Patch, report func(string, ...any)) {
	class := patch.Header.Class()
	name, err := ParseName(patch.Name)
	if err != nil || class == "" {
		return // said elsewhere
	}
	if band, _ := BandOf(name.Number); !band.allows(class) {
		report("trailer %s: %q does not match the band of number %04d, which holds %s: change one of the two",
			TrailerClass, class, name.Number, oneOf(band.Classes))
	}
}

const statusHint = "Pending, Submitted <URL>, Backport <URL>, or Inappropriate [why]"

func checkStatus(value string) string {
	word, rest, _ := strings.Cut(value, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "Pending":
		if rest == "" {
			return ""
		}
		return "says more than Pending: put the rest into the body"
	case "Submitted", "Backport":
		if isURL(rest) {
			return ""
		}
		return "needs a URL after " + word
	case "Inappropriate":
		if strings.HasPrefix(rest, "[") && strings.HasSuffix(rest, "]") && strings.Trim(rest, "[] ") != "" {
			return ""
		}
		return "needs the reason in square brackets after Inappropriate"
	}
	return "is not one of " + statusHint
}

func checkURLOrNone(value string) string {
	if value == "none" || isURL(value) {
		return ""
	}
	return "is neither a URL nor none"
}

var gateForm = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

func checkGate(value string) string {
	if value == "none" || gateForm.MatchString(value) {
		return ""
	}
	return "is neither a gate's name (CamelCase) nor none"
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.ContainsAny(s, " \t")
}

var (
	urlForm  = regexp.MustCompile(`https?://\S+`)
	bareForm = regexp.MustCompile(`[\w./-]*#[0-9]+\b`)
)

// bareReference finds an issue number that stands without its URL.
func bareReference(message string) string {
	return bareForm.FindString(urlForm.ReplaceAllString(message, ""))
}
