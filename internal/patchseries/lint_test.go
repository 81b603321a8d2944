// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const seamName = "0500-widget-build-twice.patch"

func texts(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return out
}

func TestLintHeader(t *testing.T) {
	replace := func(old, replacement string) string { return strings.Replace(goodMessage, old, replacement, 1) }
	const at = "error: " + seamName + ": header: "
	cases := map[string]struct {
		name    string
		subject string
		message string
		want    []string
	}{
		"a full header is in order": {},
		"no problem": {
			message: replace("Problem: The widget can only be built once.\n\n", ""),
			want:    []string{at + `no section "Problem": add a line that starts with "Problem:"`},
		},
		"no change": {
			message: replace("Change: Let", "Let"),
			want:    []string{at + `no section "Change": add a line that starts with "Change:"`},
		},
		"no reason to be in the tree": {
			message: replace("Why not outside the tree:", "Why:"),
			want:    []string{at + `no section "Why not outside the tree": add a line that starts with "Why not outside the tree:"`},
		},
		"no effect": {
			message: replace("User-visible effect: none.\n\n", ""),
			want:    []string{at + `no section "User-visible effect": add a line that starts with "User-visible effect:"`},
		},
		"a section without text": {
			message: replace("User-visible effect: none.", "User-visible effect:"),
			want:    []string{at + `section "User-visible effect" is empty: say it in a sentence`},
		},
		"no class": {
			message: replace("Fleet-Class: seam\n", ""),
			want:    []string{at + `no trailer Fleet-Class in the last paragraph: add "Fleet-Class: ..." with one of backport, fix, seam, feature, build, test`},
		},
		"no status": {
			message: replace("Upstream-Status: Pending\n", ""),
			want:    []string{at + `no trailer Upstream-Status in the last paragraph: add "Upstream-Status: ..." with Pending, Submitted <URL>, Backport <URL>, or Inappropriate [why]`},
		},
		"no issue": {
			message: replace("Upstream-Issue: none\n", ""),
			want:    []string{at + `no trailer Upstream-Issue in the last paragraph: add "Upstream-Issue: ..." with a URL or none`},
		},
		"no end": {
			message: replace("Drop-When: upstream exports the builder,\n whatever it calls it\n", ""),
			want:    []string{at + `no trailer Drop-When in the last paragraph: add "Drop-When: ..." with what must be true for the patch to go`},
		},
		"no gate": {
			message: replace("Feature-Gate: none\n", ""),
			want:    []string{at + `no trailer Feature-Gate in the last paragraph: add "Feature-Gate: ..." with the name of a feature gate or none`},
		},
		"no tests": {
			message: replace("Tests: TestWidget\n", ""),
			want:    []string{at + `no trailer Tests in the last paragraph: add "Tests: ..." with the tests that hold the change`},
		},
		"an empty trailer": {
			message: replace("Tests: TestWidget", "Tests:"),
			want:    []string{at + `trailer Tests is empty: write the tests that hold the change`},
		},
		"a trailer twice": {
			message: replace("Feature-Gate: none\n", "Feature-Gate: none\nFeature-Gate: Widget\n"),
			want:    []string{at + `trailer Feature-Gate is there 2 times: keep one`},
		},
		"a class of another band": {
			message: replace("Fleet-Class: seam", "Fleet-Class: fix"),
			want:    []string{at + `trailer Fleet-Class: "fix" does not match the band of number 0500, which holds "seam": change one of the two`},
		},
		"an unknown status": {
			message: replace("Upstream-Status: Pending", "Upstream-Status: Accepted"),
			want:    []string{at + `trailer Upstream-Status: "Accepted" is not one of Pending, Submitted <URL>, Backport <URL>, or Inappropriate [why]`},
		},
		"submitted nowhere": {
			message: replace("Upstream-Status: Pending", "Upstream-Status: Submitted soon"),
			want:    []string{at + `trailer Upstream-Status: "Submitted soon" needs a URL after Submitted`},
		},
		"inappropriate without a reason": {
			message: replace("Upstream-Status: Pending", "Upstream-Status: Inappropriate"),
			want:    []string{at + `trailer Upstream-Status: "Inappropriate" needs the reason in square brackets after Inappropriate`},
		},
		"pending with an excuse": {
			message: replace("Upstream-Status: Pending", "Upstream-Status: Pending review"),
			want:    []string{at + `trailer Upstream-Status: "Pending review" says more than Pending: put the rest into the body`},
		},
		"statuses with what they need": {
			message: replace("Upstream-Status: Pending", "Upstream-Status: Inappropriate [ours alone]"),
		},
		"submitted with its URL": {
			message: replace("Upstream-Status: Pending", "Upstream-Status: Submitted https://example.org/pull/7"),
		},
		"an issue that is no URL": {
			message: replace("Upstream-Issue: none", "Upstream-Issue: 1234"),
			want:    []string{at + `trailer Upstream-Issue: "1234" is neither a URL nor none`},
		},
		"a gate that is no name": {
			message: replace("Feature-Gate: none", "Feature-Gate: no gate"),
			want:    []string{at + `trailer Feature-Gate: "no gate" is neither a gate's name (CamelCase) nor none`},
		},
		"a bare issue number": {
			message: replace("once.", "once, see #12."),
			want:    []string{at + `"#12" does not say which project it means: write the URL`},
		},
		"a short reference": {
			message: replace("once.", "once, see some/project#12."),
			want:    []string{at + `"some/project#12" does not say which project it means: write the URL`},
		},
		"a number inside a URL": {message: replace("once.", "once, see https://example.org/pull/1#2.")},
		"brackets that git am drops": {
			subject: "[widget] Build twice",
			want:    []string{at + `subject starts with "[widget]", which git am drops: write it without brackets`},
		},
		"carriage returns": {
			message: replace("once.", "once.\r"),
			want:    []string{at + `holds carriage returns, which git am drops: use line feeds only`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.message == "" {
				tc.message = goodMessage
			}
			if tc.subject == "" {
				tc.subject = "Build widgets twice"
			}
			got := texts(LintHeader(mustParse(t, mail(seamName, tc.subject, tc.message, goodDiff))))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestLintHeaderWithoutAuthorAndSubject(t *testing.T) {
	raw := "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nX: y\n\n" + goodMessage + "\n" + goodDiff
	got := texts(LintHeader(mustParse(t, File{Name: seamName, Raw: []byte(raw)})))
	want := []string{
		"error: " + seamName + `: header: no author: add a line "From: name <address>"`,
		"error: " + seamName + `: header: no subject: add the subject that the upstream pull request would have`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want,+got):\n%s", diff)
	}
}

func TestLint(t *testing.T) {
	cases := map[string]struct {
		files []File
		want  []string
	}{
		"a series in order": {files: []File{good(seamName), good("0510-widget-build-thrice.patch")}},
		"two patches of one number": {
			files: []File{good("0500-widget-a-b.patch"), good("0500-widget-c-d.patch")},
			want:  []string{"error: 0500-widget-c-d.patch: name: number 0500 is taken by 0500-widget-a-b.patch; give one of them a free number"},
		},
		"a name of no form": {
			files: []File{good("widget.patch")},
			want:  []string{`error: widget.patch: name: name "widget.patch" is not of the form NNNN-area-verb-object.patch (four digits, then at least three lower case words, joined by hyphens)`},
		},
		"a diff that is cut off": {
			files: []File{mail(seamName, "Cut", goodMessage, goodDiff[:len(goodDiff)-len("+11\n")])},
			want:  []string{"error: 0500-widget-build-twice.patch: format: failed to read the diff of 0500-widget-build-twice.patch: gitdiff: line 29: fragment header miscounts lines: +0 old, -1 new"},
		},
		"a patch without a diff": {
			files: []File{mail(seamName, "Nothing", goodMessage, "")},
			want:  []string{"error: 0500-widget-build-twice.patch: budget: changes no file: drop the patch"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, findings := Lint(tc.files)
			if diff := cmp.Diff(tc.want, texts(findings)); diff != "" {
				t.Errorf("findings (-want,+got):\n%s", diff)
			}
			if Failed(findings) != (len(tc.want) > 0) {
				t.Errorf("Failed: got %v", Failed(findings))
			}
		})
	}
}
