// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webtest opens pages in a browser, for tests.
package webtest

import (
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Browser is a Chromium without a window.
type Browser struct{ path string }

// NewBrowser skips the test on a machine without a browser.
func NewBrowser(t *testing.T) Browser {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return Browser{path: path}
		}
	}
	t.Skip("there is no Chromium on this machine; on Debian the package chromium has it")
	return Browser{}
}

// OpenFile opens a page that is a text, with what follows the # of its
// address.
func (b Browser) OpenFile(t *testing.T, page, fragment string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return b.Open(t, "file://"+file+"#"+fragment)
}

// Open returns the elements of a page when its script has nothing more to do.
// It fails the test if the script failed or drew nothing.
func (b Browser) Open(t *testing.T, address string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
		"--user-data-dir="+t.TempDir(), "--window-size=1280,900", "--virtual-time-budget=3000", "--dump-dom", address)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("failed to run %s: %v\n%s", b.path, err, stderr.String())
	}
	dom := string(out)
	if _, failure, failed := strings.Cut(dom, `data-failed="`); failed {
		t.Fatalf("the page's script failed: %.200s", failure)
	}
	if !strings.Contains(dom, `data-drawn="true"`) {
		t.Fatalf("the page was not drawn:\n%.2000s", dom)
	}
	return dom
}

var anyTag = regexp.MustCompile(`<[^>]*>`)

// Shown is the text of the section with an id.
func Shown(dom, id string) string {
	_, rest, _ := strings.Cut(dom, `<section id="`+id+`"`)
	part, _, _ := strings.Cut(rest, "</section>")
	return strings.Join(strings.Fields(html.UnescapeString(anyTag.ReplaceAllString("<"+part, " "))), " ")
}
