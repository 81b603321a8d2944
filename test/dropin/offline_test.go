// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fleet.ai/kueue-fleet/pkg/features"
)

var (
	terminalColour = regexp.MustCompile(`\x1b\[[0-9;]*m`)
	// goFlag and ginkgoFlag are the heads of a flag's help in the two styles that
	// upstream's --help mixes: its manager links a test framework that registers
	// its flags and takes over the usage text.
	goFlag     = regexp.MustCompile(`^  -([a-z][^ \t]*)(?: (.*))?$`)
	ginkgoFlag = regexp.MustCompile(`^  --([a-z][^ \t]*)(?: ?(.*))?$`)
)

// parseFlags reads --help: the name of each flag, and its type, default and usage
// on one line.
func parseFlags(help string) Facts {
	facts := Facts{}
	var name string
	for line := range strings.Lines(terminalColour.ReplaceAllString(help, "")) {
		line = strings.TrimRight(line, "\n")
		match := goFlag.FindStringSubmatch(line)
		if match == nil {
			match = ginkgoFlag.FindStringSubmatch(line)
		}
		switch {
		case match != nil:
			name = match[1]
			facts[name] = strings.TrimSpace(match[2])
		case name != "" && strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != "":
			facts[name] = strings.TrimSpace(facts[name] + " " + strings.TrimSpace(line))
		default:
			name = ""
		}
	}
	return facts
}

func TestParseFlags(t *testing.T) {
	help := "Usage of x:\n" +
		"\x1b[1mTest flags\x1b[0m\n  \x1b[3m--ginkgo.seed\x1b[0m [int] (default: random)\n    The seed\n    of the run.\n\n" +
		"Go flags\n  -config string\n    \tThe file. \n  -devel\n    \tFor developers. (default true)\n"
	want := Facts{
		"ginkgo.seed": "[int] (default: random) The seed of the run.",
		"config":      "string The file.",
		"devel":       "For developers. (default true)",
	}
	if d := Compare("flags", want, parseFlags(help)); len(d) > 0 {
		t.Errorf("unexpected flags: %v", d)
	}
}

func (s *session) flags(t *testing.T, p *program) Facts {
	o := s.run(t, p, s.offline, "", "--help")
	var help []string
	for _, line := range o.lines {
		help = append(help, line.Raw)
	}
	facts := parseFlags(strings.Join(help, "\n"))
	if _, found := facts["config"]; !found {
		t.Fatalf("the help of %s has no flag --config; it is:\n%s", p.name, strings.Join(help, "\n"))
	}
	facts["--help"] = fmt.Sprintf("exits with %d", o.exit)
	return facts
}

// gates asks for the gates three times, because a program doesn't list the stage
// of a gate: the switches for all alpha and for all beta gates tell it.
func (s *session) gates(t *testing.T, p *program) Facts {
	ask := func(value string) map[string]any {
		t.Helper()
		args := []string{"--config=" + filepath.Join("testdata", "accepted", "empty.yaml"), "--zap-log-level=2"}
		if value != "" {
			args = append(args, "--feature-gates="+value)
		}
		o := s.run(t, p, s.offline, loadedGates, args...)
		if !o.reached {
			t.Fatalf("%s doesn't say its feature gates with %q: it %s", p.name, value, o)
		}
		gates, ok := o.lines[len(o.lines)-1].Fields["featureGates"].(map[string]any)
		if !ok || len(gates) == 0 {
			t.Fatalf("%s doesn't list its feature gates: %s", p.name, o)
		}
		return gates
	}
	byDefault, alpha, beta, noBeta := ask(""), ask("AllAlpha=true"), ask("AllBeta=true"), ask("AllBeta=false")
	facts := Facts{}
	for name, value := range byDefault {
		stage := "neither alpha nor beta"
		switch {
		case alpha[name] != value:
			stage = "alpha"
		case beta[name] != value || noBeta[name] != value:
			stage = "beta"
		}
		facts[name] = fmt.Sprintf("%v by default, %s", value, stage)
	}
	// The line lists upstream's gates only; ours show by being taken.
	for name := range features.Gates() {
		empty := filepath.Join("testdata", "accepted", "empty.yaml")
		if s.try(t, p, empty, "--feature-gates="+string(name)+"=true").reached {
			facts[string(name)] = "known"
		}
	}
	return facts
}

// loadedGates is the message of the line that lists the feature gates, the last
// one of the part that needs no API server.
const loadedGates = "Loaded feature gates"

// configurations runs a program with every sample of upstream's and with ours. A
// program that takes a file writes it out with all defaults: that is compared too.
func (s *session) configurations(t *testing.T, p *program) Facts {
	samples, err := findSamples(s.upstream)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) == 0 {
		t.Fatalf("no configuration found in %s", s.upstream)
	}
	facts := Facts{}
	for name, content := range samples {
		path := filepath.Join(s.dir, "sample.yaml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		facts[name] = s.try(t, p, path).String()
	}
	for _, path := range testdata(t, "accepted") {
		o := s.try(t, p, path)
		if !o.reached {
			t.Errorf("%s doesn't accept %s: it %s", p.name, path, o)
		}
		facts[path] = o.String()
	}
	for name, text := range facts {
		facts[name] = s.normaliseVersion(p, text)
	}
	return facts
}

func (s *session) try(t *testing.T, p *program, config string, args ...string) outcome {
	t.Helper()
	return s.run(t, p, s.offline, "Initializing", append([]string{"--config=" + config}, args...)...)
}

// mistakes runs a program with everything that it should refuse.
func (s *session) mistakes(t *testing.T, p *program) Facts {
	facts := Facts{}
	note := func(name string, o outcome) {
		t.Helper()
		if o.reached || o.exit == 0 {
			t.Errorf("%s takes %q: it %s", p.name, name, o)
		}
		facts[name] = s.normaliseVersion(p, o.String())
	}
	for _, path := range testdata(t, "rejected") {
		note(path, s.try(t, p, path))
	}
	empty := filepath.Join("testdata", "accepted", "empty.yaml")
	withGates := filepath.Join("testdata", "accepted", "ray-training.yaml")
	note("a configuration file that doesn't exist", s.try(t, p, filepath.Join(s.dir, "missing.yaml")))
	note("a folder as configuration file", s.try(t, p, s.dir))
	note("an unknown gate", s.try(t, p, empty, "--feature-gates=NoSuchGate=true"))
	note("a gate without a value", s.try(t, p, empty, "--feature-gates=TopologyAwareScheduling"))
	note("a gate that is neither on nor off", s.try(t, p, empty, "--feature-gates=TopologyAwareScheduling=maybe"))
	note("gates on the command line and in the file", s.try(t, p, withGates, "--feature-gates=TopologyAwareScheduling=true"))

	malformed := filepath.Join(s.dir, "malformed")
	if err := os.WriteFile(malformed, []byte("clusters: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	// These come after the part above, so they end later.
	const later = "Creating bootstrap manager for certificate generation"
	note("a kubeconfig that doesn't exist", s.run(t, p, filepath.Join(s.dir, "missing"), later, "--config="+empty))
	note("a malformed kubeconfig", s.run(t, p, malformed, later, "--config="+empty))
	note("a malformed kubeconfig by flag", s.run(t, p, s.offline, later, "--config="+empty, "--kubeconfig="+malformed))

	for name, flag := range map[string]string{
		"an unknown flag":      "--no-such-flag",
		"a flag without value": "--config",
		"a bad log level":      "--zap-log-level=loud",
		"a bad log encoder":    "--zap-encoder=xml",
	} {
		o := s.run(t, p, s.offline, "Initializing", flag)
		// The usage follows, which has a comparison of its own.
		o.lines = o.lines[:min(1, len(o.lines))]
		note(name, o)
	}
	return facts
}

func testdata(t *testing.T, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no files in testdata/%s", folder)
	}
	return paths
}
