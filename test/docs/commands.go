// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs reads the commands that README and docs show, and finds out from the
// source whether there are such targets, programs, subcommands and flags.
package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Command is a line that a page shows.
type Command struct {
	Page  string
	Words []string
}

func (c Command) String() string { return c.Page + ": " + strings.Join(c.Words, " ") }

var (
	span = regexp.MustCompile("`([^`]+)`")
	// word is what a shell takes for one, as far as the pages go.
	word = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
)

// Commands returns the commands of a page: lines of code blocks, and code in a
// sentence. What isn't a command is among them; check leaves it alone.
func Commands(page, text string) []Command {
	var out []Command
	add := func(line string) {
		line, _, _ = strings.Cut(line, " #")
		if words := word.FindAllString(line, -1); len(words) > 0 {
			out = append(out, Command{Page: page, Words: words})
		}
	}
	inBlock, continued := false, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inBlock = !inBlock
			continue
		}
		if !inBlock {
			for _, code := range span.FindAllStringSubmatch(line, -1) {
				add(code[1])
			}
			continue
		}
		if rest, goesOn := strings.CutSuffix(line, "\\"); goesOn {
			continued += rest + " "
			continue
		}
		for part := range strings.SplitSeq(continued+line, " && ") {
			add(part)
		}
		continued = ""
	}
	return out
}

// Checkout is where the commands should be.
type Checkout struct {
	root, makefile, dockerfile, values string
	// literals caches the strings in the source of a folder.
	literals map[string][]string
}

// NewCheckout reads what commands are held against.
func NewCheckout(root string) (*Checkout, error) {
	c := &Checkout{root: root, literals: map[string][]string{}}
	for name, text := range map[string]*string{
		"Makefile": &c.makefile, "Dockerfile": &c.dockerfile, "charts/kueue-fleet/values.yaml": &c.values,
	} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, fmt.Errorf("failed to read what the commands should be in: %w", err)
		}
		*text = string(data)
	}
	return c, nil
}

// Check tells whether the checkout has a say in a command, and what is wrong with it.
func (c *Checkout) Check(command Command) (known bool, problem error) {
	words := command.Words
	for len(words) > 1 && variable.MatchString(words[0]) {
		if name, _, _ := strings.Cut(words[0], "="); words[1] == "make" && !c.inSource(name) {
			return true, fmt.Errorf("nothing reads the variable %s", name)
		}
		words = words[1:]
	}
	rest := words[1:]
	switch name := strings.TrimPrefix(words[0], "bin/"); {
	case name == "make":
		return len(rest) > 0, c.makes(rest)
	case name == "go" && len(rest) > 1 && (rest[0] == "run" || rest[0] == "test"):
		return true, c.goes(rest[0], rest[1:])
	case name == "kubectl" && len(rest) > 0 && rest[0] == "fleet":
		return true, c.program("kubectl-fleet", rest[1:])
	case strings.HasPrefix(name, "fleet-") && c.isFolder("cmd/"+name):
		return true, c.program(name, rest)
	case name == "helm" && len(rest) > 1:
		return true, c.helm(rest)
	case name == "docker":
		return true, c.docker(rest)
	}
	return false, nil
}

var (
	variable = regexp.MustCompile(`^[A-Z][A-Z_]*=`)
	value    = regexp.MustCompile(`--set[= ]+(fleet\.[A-Za-z.]+)=`)
	argument = regexp.MustCompile(`--build-arg (\w+)=`)
	archive  = regexp.MustCompile(`kueue-fleet-(\S+)\.tgz`)
)

// makes checks targets and variables.
func (c *Checkout) makes(words []string) error {
	for _, w := range words {
		if name, _, assigned := strings.Cut(w, "="); assigned {
			if !strings.Contains(c.makefile, "$("+name+")") && !strings.Contains(c.makefile, "$(or $("+name) && !strings.Contains(c.makefile, ","+"$("+name) {
				return fmt.Errorf("the Makefile doesn't use the variable %s", name)
			}
			continue
		}
		if !strings.Contains("\n"+c.makefile, "\n"+w+":") {
			return fmt.Errorf("the Makefile has no target %s", w)
		}
	}
	return nil
}

// goFlags are flags of go test itself.
var goFlags = []string{"run", "v", "race", "count", "timeout", "fuzz", "bench"}

func (c *Checkout) goes(verb string, words []string) error {
	var folders []string
	for i, w := range words {
		switch flag := strings.TrimLeft(w, "-"); {
		case strings.HasPrefix(w, "./"):
			folder := strings.TrimSuffix(strings.TrimPrefix(w, "./"), "/...")
			if !c.isFolder(folder) {
				return fmt.Errorf("there is no folder %s", w)
			}
			folders = append(folders, folder)
			if verb == "run" {
				return c.flags(folder, words[i+1:])
			}
		case flag != w && !slices.Contains(goFlags, flag):
			for _, folder := range folders {
				if !slices.Contains(c.strings(folder), flag) {
					return fmt.Errorf("the tests in %s have no flag -%s", folder, flag)
				}
			}
		}
	}
	return nil
}

func (c *Checkout) program(name string, words []string) error {
	return c.flags("cmd/"+name, words)
}

// subcommand is what may be one; what follows it is its own business.
var subcommand = regexp.MustCompile(`^[a-z][a-z-]+$`)

// flags checks the subcommand and the flags of the program in a folder.
func (c *Checkout) flags(folder string, words []string) error {
	literals := c.strings(folder)
	if len(words) > 0 && subcommand.MatchString(words[0]) {
		if !slices.ContainsFunc(literals, func(s string) bool { return s == words[0] || strings.HasPrefix(s, words[0]+" ") }) {
			return fmt.Errorf("%s has no subcommand %s", folder, words[0])
		}
	}
	for _, w := range words {
		flag := strings.TrimLeft(w, "-")
		flag, _, _ = strings.Cut(flag, "=")
		if flag == w || flag == "" || flag == "help" || flag == "n" && strings.HasSuffix(folder, "kubectl-fleet") {
			continue
		}
		if !strings.HasPrefix(w, "-") {
			continue
		}
		if !slices.Contains(literals, flag) {
			return fmt.Errorf("%s has no flag %s", folder, w)
		}
	}
	return nil
}

// helm checks values of ours and the name of the package.
func (c *Checkout) helm(words []string) error {
	line := strings.Join(words, " ")
	for _, m := range value.FindAllStringSubmatch(line, -1) {
		for part := range strings.SplitSeq(m[1], ".") {
			if !regexp.MustCompile(`(?m)^\s*` + part + `:`).MatchString(c.values) {
				return fmt.Errorf("the chart has no value %s", m[1])
			}
		}
	}
	if m := archive.FindStringSubmatch(line); m != nil {
		version, err := os.ReadFile(filepath.Join(c.root, "VERSION"))
		if err != nil {
			return fmt.Errorf("failed to read the version: %w", err)
		}
		if want := strings.TrimPrefix(strings.TrimSpace(string(version)), "v"); m[1] != want {
			return fmt.Errorf("the package's version is %s, and VERSION says %s", m[1], want)
		}
	}
	return nil
}

func (c *Checkout) docker(words []string) error {
	for _, m := range argument.FindAllStringSubmatch(strings.Join(words, " "), -1) {
		if !strings.Contains(c.dockerfile, "\nARG "+m[1]) {
			return fmt.Errorf("the Dockerfile has no argument %s", m[1])
		}
	}
	return nil
}

func (c *Checkout) isFolder(name string) bool {
	info, err := os.Stat(filepath.Join(c.root, name))
	return err == nil && info.IsDir()
}

// inSource looks for a string in the tests and the programs.
func (c *Checkout) inSource(text string) bool {
	for _, pattern := range []string{"test/*", "cmd/*", "internal/*"} {
		folders, _ := filepath.Glob(filepath.Join(c.root, pattern)) // the patterns are well formed
		for _, folder := range folders {
			if rel, err := filepath.Rel(c.root, folder); err == nil && slices.Contains(c.strings(rel), text) {
				return true
			}
		}
	}
	return false
}

// strings are the string literals in the Go files of a folder.
func (c *Checkout) strings(folder string) []string {
	if known, found := c.literals[folder]; found {
		return known
	}
	out := []string{}
	files, _ := filepath.Glob(filepath.Join(c.root, folder, "*.go")) // as above
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler says so
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					out = append(out, text)
				}
			}
			return true
		})
	}
	c.literals[folder] = out
	return out
}
