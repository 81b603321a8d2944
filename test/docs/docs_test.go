// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleet.ai/kueue-fleet/internal/repo"
)

// pages maps the pages to what they say.
func pages(t *testing.T) (root string, texts map[string]string) {
	t.Helper()
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = string(data)
		}
	}
	return root, texts
}

func TestCommandsOfThePagesExist(t *testing.T) {
	root, texts := pages(t)
	checkout, err := NewCheckout(root)
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for page, text := range texts {
		for _, command := range Commands(page, text) {
			isKnown, problem := checkout.Check(command)
			if isKnown {
				known++
			}
			if problem != nil {
				t.Errorf("%s: %v", command, problem)
			}
		}
	}
	if known < 80 {
		t.Errorf("%d commands were found, want those of README and docs", known)
	}
	t.Logf("%d commands in %d pages", known, len(texts))
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	root, texts := pages(t)
	for page, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			at := page
			if target != "" {
				at = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, at)); err != nil {
				t.Errorf("%s links to %s, which there is not", page, m[1])
				continue
			}
			if anchor == "" || !strings.HasSuffix(at, ".md") {
				continue
			}
			slugs := map[string]bool{}
			for _, h := range heading.FindAllStringSubmatch(texts[at], -1) {
				slugs[strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
			}
			if !slugs[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", page, m[1], at)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	got := Commands("p.md", "Run `make x` or\n```sh\nA=1 make y   # why\nhelm upgrade a \\\n  --set b=c\ncd d && make z\n```\n")
	var lines []string
	for _, c := range got {
		lines = append(lines, strings.Join(c.Words, " "))
	}
	if diff := cmp.Diff([]string{"make x", "A=1 make y", "helm upgrade a --set b=c", "cd d", "make z"}, lines); diff != "" {
		t.Errorf("unexpected commands (-want,+got):\n%s", diff)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	root, err := repo.FromWorkingDir()
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := NewCheckout(root)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"make test": "", "make nothing": "the Makefile has no target nothing",
		"make run SCENARIO=default": "", "make run SHAPE=round": "the Makefile doesn't use the variable SHAPE",
		"KUEUE_FLEET_MANIFESTS=DIR make test-sandbox": "", "KUEUE_NOTHING=1 make test": "nothing reads the variable KUEUE_NOTHING",
		"go run ./cmd/fleet-patch try v0.17.0": "", "go run ./cmd/fleet-patch attempt v0.17.0": "cmd/fleet-patch has no subcommand attempt",
		"go run ./cmd/fleet-patch try v0.17.0 --loud": "cmd/fleet-patch has no flag --loud", "go run ./cmd/nothing": "there is no folder ./cmd/nothing",
		"go test ./test/dropin -update": "", "go test ./test/dropin -downdate": "the tests in test/dropin have no flag -downdate",
		"kubectl fleet board --watch": "", "kubectl fleet broad": "cmd/kubectl-fleet has no subcommand broad",
		"helm upgrade kueue c --set fleet.image.repository=x": "", "helm upgrade kueue c --set fleet.picture.repository=x": "the chart has no value fleet.picture.repository",
		"helm install kueue kueue-fleet-0.0.1.tgz": "the package's version is 0.0.1, and VERSION says ",
		"docker build --build-arg VERSION=x .":     "", "docker build --build-arg COLOUR=x .": "the Dockerfile has no argument COLOUR",
	}
	for line, want := range cases {
		t.Run(line, func(t *testing.T) {
			known, problem := checkout.Check(Command{Words: strings.Fields(line)})
			if !known {
				t.Error("it is taken for no command")
			}
			if got := ""; problem != nil {
				got = problem.Error()
				if want == "" || !strings.HasPrefix(got, want) {
					t.Errorf("problem %q, want %q", got, want)
				}
			} else if want != "" {
				t.Errorf("nothing is wrong, want %q", want)
			}
		})
	}
}
