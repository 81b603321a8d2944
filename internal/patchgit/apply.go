// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patchgit turns patch files into commits and commits into patch files.
package patchgit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// Kind is how a patch fared.
type Kind string

// The kinds of outcome.
const (
	Clean           Kind = "clean"
	Offset          Kind = "offset"
	Conflict        Kind = "conflict"
	AlreadyUpstream Kind = "already upstream"
)

// Outcome is what happened to one patch.
type Outcome struct {
	Patch string
	Kind  Kind
	// Places are the hunks that moved (Offset) or failed (Conflict).
	Places []Place
}

// Place is a hunk of a file.
type Place struct {
	File string
	// Hunk counts from 1; 0 when the file as a whole is meant.
	Hunk int
	// Lines is how far the hunk moved, signed.
	Lines int
	// Reason says why the hunk failed.
	Reason string
}

func (p Place) String() string {
	where := p.File
	if p.Hunk > 0 {
		where = fmt.Sprintf("%s hunk %d", p.File, p.Hunk)
	}
	switch {
	case p.Reason != "" && where != "":
		return where + ": " + p.Reason
	case p.Reason != "":
		return p.Reason
	}
	return fmt.Sprintf("%s: offset %+d lines", where, p.Lines)
}

// Describe joins the places of the outcome into one line.
func (o Outcome) Describe() string {
	var out []string
	for _, place := range o.Places {
		out = append(out, place.String())
	}
	return strings.Join(out, "; ")
}

// Applier puts patches on top of a commit, one after the other, the way git am
// does: full context, no fuzz. It works on an index of its own and leaves the
// work tree alone.
type Applier struct {
	repo    *gitrepo.Repo
	scratch string
	head    string
}

// NewApplier starts at the given commit. Close it to remove its scratch files.
func NewApplier(ctx context.Context, repo *gitrepo.Repo, start string) (*Applier, error) {
	scratch, err := os.MkdirTemp(repo.GitDir(), "fleet-apply-")
	if err != nil {
		return nil, fmt.Errorf("failed to make a scratch folder: %w", err)
	}
	a := &Applier{repo: repo.With("GIT_INDEX_FILE=" + filepath.Join(scratch, "index")), scratch: scratch, head: start}
	if _, err := a.repo.Git(ctx, "read-tree", start); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close removes the scratch files. What stays behind lies in the git directory
// and does no harm.
func (a *Applier) Close() { _ = os.RemoveAll(a.scratch) }

// Head is the commit with the patches applied so far.
func (a *Applier) Head() string { return a.head }

// Apply commits the patch if it applies, at its place or with an offset. The
// error is for what is not about the patch's content.
func (a *Applier) Apply(ctx context.Context, file patchseries.File) (Outcome, error) {
	mail, err := a.split(ctx, file)
	if err != nil {
		return Outcome{}, err
	}
	_, stderr, err := a.repo.Run(ctx, nil, "apply", "--cached", "--verbose", "--whitespace=nowarn", mail.diff)
	outcome := readOutcome(file, stderr)
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{}, err
		}
		return asConflict(outcome, stderr), nil
	}
	tree, err := a.repo.Git(ctx, "-c", "core.fsync=none", "write-tree")
	if err != nil {
		return Outcome{}, err
	}
	commit, err := a.repo.Commit(ctx, gitrepo.Commit{Tree: tree, Parent: a.head, Message: mail.message, AuthorName: mail.author, AuthorEmail: mail.email})
	if err != nil {
		return Outcome{}, fmt.Errorf("failed to commit %s: %w", file.Name, err)
	}
	a.head = commit
	return outcome, nil
}

// Reversed reports whether the tree already holds the whole change.
func (a *Applier) Reversed(ctx context.Context, file patchseries.File) (bool, error) {
	mail, err := a.split(ctx, file)
	if err != nil {
		return false, err
	}
	_, _, err = a.repo.Run(ctx, nil, "apply", "--cached", "--check", "--reverse", "--whitespace=nowarn", mail.diff)
	if ctx.Err() != nil {
		return false, err
	}
	return err == nil, nil
}

// MailError is a patch file that is not a mail in git's sense.
type MailError struct {
	Patch, Reason string
}

func (e *MailError) Error() string {
	return fmt.Sprintf("failed to read %s as a mail: %s", e.Patch, e.Reason)
}

type splitMail struct {
	author, email, message string
	// diff is the path of the diff.
	diff string
}

// split takes the mail apart with the program that git am uses for it.
func (a *Applier) split(ctx context.Context, file patchseries.File) (splitMail, error) {
	body, diff := filepath.Join(a.scratch, "message"), filepath.Join(a.scratch, "diff")
	info, _, err := a.repo.Run(ctx, file.Raw, "mailinfo", body, diff)
	if err != nil {
		if ctx.Err() != nil {
			return splitMail{}, err
		}
		return splitMail{}, &MailError{Patch: file.Name, Reason: err.Error()}
	}
	text, err := os.ReadFile(body)
	if err != nil {
		return splitMail{}, fmt.Errorf("failed to read the message of %s: %w", file.Name, err)
	}
	mail := splitMail{diff: diff}
	var subject string
	for line := range strings.SplitSeq(info, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "Author":
			mail.author = value
		case "Email":
			mail.email = value
		case "Subject":
			subject = value
		}
	}
	if mail.author == "" || subject == "" {
		return splitMail{}, &MailError{Patch: file.Name, Reason: "it needs a From and a Subject line"}
	}
	mail.message = strings.TrimSpace(subject+"\n\n"+strings.TrimSpace(string(text))) + "\n"
	return mail, nil
}

var (
	checkingLine = regexp.MustCompile(`^Checking patch (.*)\.\.\.$`)
	offsetLine   = regexp.MustCompile(`^Hunk #([0-9]+) succeeded at [0-9]+ \(offset (-?[0-9]+) lines?\)\.$`)
	failedLine   = regexp.MustCompile(`^error: patch failed: (.*):([0-9]+)$`)
	fileLine     = regexp.MustCompile(`^error: (.*): (does not exist in index|already exists in index|already exists in working directory|No such file or directory|cannot apply binary patch.*|removal patch leaves file contents|wrong type)$`)
	otherLine    = regexp.MustCompile(`^error: (.*)$`)
)

// readOutcome reads what git apply --verbose said.
func readOutcome(file patchseries.File, stderr string) Outcome {
	outcome := Outcome{Patch: file.Name, Kind: Clean}
	current := ""
	for line := range strings.SplitSeq(stderr, "\n") {
		if m := checkingLine.FindStringSubmatch(line); m != nil {
			current = m[1]
		} else if m := offsetLine.FindStringSubmatch(line); m != nil {
			hunk, _ := strconv.Atoi(m[1]) // the pattern has digits only
			lines, _ := strconv.Atoi(m[2])
			outcome.Kind = Offset
			outcome.Places = append(outcome.Places, Place{File: current, Hunk: hunk, Lines: lines})
		}
	}
	var failed []Place
	for line := range strings.SplitSeq(stderr, "\n") {
		if m := failedLine.FindStringSubmatch(line); m != nil {
			failed = append(failed, Place{File: m[1], Hunk: hunkAt(file, m[1], m[2]), Reason: "the lines around line " + m[2] + " are not what the patch expects"})
		} else if m := fileLine.FindStringSubmatch(line); m != nil {
			failed = append(failed, Place{File: m[1], Reason: m[2]})
		}
	}
	if len(failed) > 0 {
		outcome.Kind, outcome.Places = Conflict, failed
	}
	return outcome
}

func hunkAt(file patchseries.File, path, line string) int {
	patch, err := patchseries.Parse(file)
	if err != nil {
		return 0
	}
	position, _ := strconv.ParseInt(line, 10, 64) // the pattern has digits only
	return patch.HunkAt(path, position)
}

// asConflict makes sure that a patch that git refused says why.
func asConflict(outcome Outcome, stderr string) Outcome {
	if outcome.Kind == Conflict {
		return outcome
	}
	reason := strings.TrimSpace(stderr)
	for line := range strings.SplitSeq(stderr, "\n") {
		if m := otherLine.FindStringSubmatch(line); m != nil {
			reason = m[1]
			break
		}
	}
	return Outcome{Patch: outcome.Patch, Kind: Conflict, Places: []Place{{Reason: reason}}}
}
