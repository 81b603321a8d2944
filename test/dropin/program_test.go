// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package dropin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fleet.ai/kueue-fleet/internal/managertest"
)

// startTimeout bounds every wait for a program; a loaded machine needs seconds.
const startTimeout = 2 * time.Minute

// nowhere is an address that nothing listens on: port 1 needs a privilege that
// no test has a use for.
const nowhere = "http://127.0.0.1:1"

// schemeName matches how the API machinery names a type registry in an error: by
// the place in the source that made it.
var schemeName = regexp.MustCompile(`scheme "[^"]*:\d+"`)

// ourFirstMessage is what ours says before anything else. It is on the list of
// allowed differences once, and left out wherever else a log is compared.
const ourFirstMessage = "Starting kueue-fleet"

// program is one of the two managers.
type program struct {
	name, path string
	// version, commit and date are what the program says of itself.
	version, commit, date string
}

// session is what all comparisons share.
type session struct {
	repoRoot string
	// upstream is the pristine module, patched the tree that ours is built from.
	upstream, patched string
	programs          [2]*program
	// dir is a scratch folder; tools is where programs are built; offline is a
	// kubeconfig that points nowhere.
	dir, tools, offline string
}

// normalise replaces what names the program, the checkout or the run.
func (s *session) normalise(p *program, text string) string {
	for _, name := range []struct{ value, name string }{
		{p.path, "<program>"},
		{s.dir, "<dir>"},
		{s.upstream, "<kueue>"},
		{s.repoRoot, "<checkout>"},
	} {
		if name.value != "" {
			text = strings.ReplaceAll(text, name.value, name.name)
		}
	}
	return schemeName.ReplaceAllString(text, `scheme "<place>"`)
}

// normaliseVersion replaces what the program says of itself besides.
func (s *session) normaliseVersion(p *program, text string) string {
	return strings.NewReplacer(p.version, "<version>", p.commit, "<commit>", p.date, "<date>").Replace(s.normalise(p, text))
}

// outcome is how far a program came without an API server.
type outcome struct {
	// reached says that the awaited line came; exit is the exit code otherwise.
	reached bool
	exit    int
	// lines are those up to the awaited one, or all.
	lines []managertest.Line
}

func (o outcome) String() string {
	var b strings.Builder
	if o.reached {
		b.WriteString("goes on")
	} else {
		fmt.Fprintf(&b, "exits with %d", o.exit)
	}
	for _, line := range o.lines {
		b.WriteString("\n    " + line.String())
	}
	return b.String()
}

// run starts a program with a kubeconfig and stops it as soon as a line of its
// log has the message until; without one, it waits for the program's end.
func (s *session) run(t *testing.T, p *program, kubeconfig, until string, args ...string) outcome {
	t.Helper()
	process, err := managertest.Start(p.path, args, s.environment(kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	defer process.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	isLast := func(l managertest.Line) bool { return until != "" && l.Message == until }
	var o outcome
	if o.reached, err = process.WaitLine(ctx, isLast); err != nil {
		t.Fatalf("%s %s: %v", p.name, strings.Join(args, " "), err)
	}
	if !o.reached {
		if o.exit, err = process.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, raw := range process.Lines() {
		line := managertest.ParseLine(raw)
		if line.Message == ourFirstMessage {
			continue
		}
		o.lines = append(o.lines, line)
		if o.reached && isLast(line) {
			break
		}
	}
	return o
}

// environment keeps the user's own kubeconfig out of the comparison.
func (s *session) environment(kubeconfig string) []string {
	return []string{"KUBECONFIG=" + kubeconfig, "HOME=" + s.dir, "TMPDIR=" + s.dir}
}

// identify reads from the log what the program says of itself.
func (s *session) identify(t *testing.T, p *program) {
	t.Helper()
	o := s.run(t, p, s.offline, "Initializing", "--config="+filepath.Join("testdata", "accepted", "empty.yaml"))
	if !o.reached {
		t.Fatalf("%s doesn't start with an empty configuration: it %s", p.name, o)
	}
	fields := o.lines[len(o.lines)-1].Fields
	for key, value := range map[string]*string{"gitVersion": &p.version, "gitCommit": &p.commit, "buildDate": &p.date} {
		if *value, _ = fields[key].(string); *value == "" {
			t.Fatalf("%s doesn't say its %s: %v", p.name, key, fields)
		}
	}
}

func newSession(t *testing.T, repoRoot string) *session {
	t.Helper()
	ctx := t.Context()
	upstream, err := managertest.FindUpstream(ctx, repoRoot)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{
		repoRoot: repoRoot,
		upstream: upstream.Dir,
		patched:  filepath.Join(repoRoot, "third_party", "kueue"),
		dir:      t.TempDir(),
	}
	if s.offline, err = managertest.WriteKubeconfig(s.dir, nowhere); err != nil {
		t.Fatal(err)
	}
	ours := os.Getenv("KUEUE_FLEET_BIN")
	if ours == "" {
		ours = filepath.Join(repoRoot, "bin", "kueue-fleet")
	}
	if _, err := os.Stat(ours); err != nil {
		t.Fatalf("our manager is missing: build it with `make build`, or set KUEUE_FLEET_BIN to where it is: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.patched, "go.mod")); err != nil {
		t.Fatalf("the patched tree is missing: make it with `make vendor`: %v", err)
	}
	// In a lasting folder, so that the next run finds them up to date.
	s.tools = filepath.Join(repoRoot, "artifacts", "dropin")
	if err := os.MkdirAll(s.tools, 0o755); err != nil {
		t.Fatal(err)
	}
	theirs, err := managertest.BuildUpstream(ctx, upstream, s.tools)
	if err != nil {
		t.Fatal(err)
	}
	// A program's file name is part of what it says of itself, and both are called
	// manager in their images.
	link := filepath.Join(t.TempDir(), filepath.Base(theirs))
	if ours, err = filepath.Abs(ours); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(ours, link); err != nil {
		t.Fatal(err)
	}
	s.programs = [2]*program{{name: "upstream", path: theirs}, {name: "ours", path: link}}
	for _, p := range s.programs {
		s.identify(t, p)
	}
	return s
}
