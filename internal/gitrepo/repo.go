// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gitrepo runs git so that the result depends on the arguments alone:
// no user or system configuration, no hooks, no signing, no GIT_* variables of
// the caller, English messages, a fixed identity and date for commits.
package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CommitDate is the date of every commit made here, in git's raw format. It is
// fixed so that the same input gives the same commit ids.
const CommitDate = "1767225600 +0000"

// Committer is the identity of every commit made here.
const (
	CommitterName  = "fleet-patch"
	CommitterEmail = "fleet-patch@kueue-fleet.invalid"
)

// Repo is a git directory with a work tree.
type Repo struct {
	gitDir, workTree string
	env              []string
}

// Open returns the repository with the given git directory and work tree. It
// checks nothing.
func Open(gitDir, workTree string) *Repo {
	return &Repo{gitDir: gitDir, workTree: workTree, env: isolatedEnv(os.Environ(), gitDir, workTree)}
}

// Init makes a repository without hooks and templates, in which every file is
// stored byte for byte whatever attributes the tree carries.
func Init(ctx context.Context, gitDir, workTree, branch string) (*Repo, error) {
	r := Open(gitDir, workTree)
	if err := os.MkdirAll(gitDir, 0o755); err != nil {
		return nil, fmt.Errorf("failed to make the git directory: %w", err)
	}
	// GIT_WORK_TREE and init do not mix, and the work tree is implied later.
	init := Repo{gitDir: gitDir, workTree: workTree, env: isolatedEnv(os.Environ(), gitDir, "")}
	if _, err := init.Git(ctx, "-c", "init.defaultObjectFormat=sha1", "init", "--quiet", "--template=", "--initial-branch="+branch); err != nil {
		return nil, err
	}
	for _, setting := range [][2]string{
		{"core.bare", "false"},
		// A developer works in this repository with her own configuration; these
		// would change what her commits hold.
		{"core.autocrlf", "false"},
		{"core.hooksPath", os.DevNull},
	} {
		if _, err := r.Git(ctx, "config", setting[0], setting[1]); err != nil {
			return nil, err
		}
	}
	attributes := "* -text -ident -filter -working-tree-encoding\n"
	if err := r.WriteInfo("attributes", attributes); err != nil {
		return nil, err
	}
	return r, nil
}

// WriteInfo writes a file of the git directory's info folder.
func (r *Repo) WriteInfo(name, content string) error {
	dir := filepath.Join(r.gitDir, "info")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("failed to make the info folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		return fmt.Errorf("failed to write info/%s: %w", name, err)
	}
	return nil
}

// GitDir is the git directory.
func (r *Repo) GitDir() string { return r.gitDir }

// WorkTree is the folder of the files.
func (r *Repo) WorkTree() string { return r.workTree }

// With returns the repository with further environment variables, each "KEY=value".
func (r *Repo) With(env ...string) *Repo {
	out := *r
	out.env = append(append([]string(nil), r.env...), env...)
	return &out
}

// Error is a git command that failed.
type Error struct {
	Args   []string
	Stderr string
	Err    error
}

func (e *Error) Error() string {
	msg := strings.TrimSpace(e.Stderr)
	if msg == "" {
		msg = e.Err.Error()
	}
	return fmt.Sprintf("failed to run git %s: %s", strings.Join(e.Args, " "), msg)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Git runs a git command in the work tree and returns its output without the last line feed.
func (r *Repo) Git(ctx context.Context, args ...string) (string, error) {
	stdout, _, err := r.Run(ctx, nil, args...)
	return strings.TrimSuffix(stdout, "\n"), err
}

// Run runs a git command with the given input and returns both outputs. A
// failing command returns an *Error.
func (r *Repo) Run(ctx context.Context, stdin []byte, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.workTree
	cmd.Env = r.env
	cmd.Stdin = bytes.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return out.String(), errOut.String(), &Error{Args: args, Stderr: errOut.String(), Err: err}
	}
	return out.String(), errOut.String(), nil
}

// Import records the whole work tree as one commit and returns its id. Files
// that a .gitignore of the tree names are in only if ignored is true. It leaves
// the index at that commit.
func (r *Repo) Import(ctx context.Context, message string, ignored bool) (string, error) {
	// The tree can be made anew at any time, so nothing waits for the disk.
	args := []string{"-c", "core.fsync=none", "-c", "core.compression=1", "add", "--all"}
	if ignored {
		args = append(args, "--force")
	}
	if _, err := r.Git(ctx, append(args, ".")...); err != nil {
		return "", err
	}
	tree, err := r.Git(ctx, "-c", "core.fsync=none", "write-tree")
	if err != nil {
		return "", err
	}
	return r.Commit(ctx, Commit{Tree: tree, Message: message, AuthorName: CommitterName, AuthorEmail: CommitterEmail})
}

// Commit describes a commit to make.
type Commit struct {
	Tree string
	// Parent is empty for a first commit.
	Parent                           string
	Message, AuthorName, AuthorEmail string
}

// Commit makes a commit with the fixed date and committer and returns its id.
func (r *Repo) Commit(ctx context.Context, c Commit) (string, error) {
	args := []string{"-c", "core.fsync=none", "commit-tree", c.Tree}
	if c.Parent != "" {
		args = append(args, "-p", c.Parent)
	}
	dated := r.With(
		"GIT_AUTHOR_NAME="+c.AuthorName, "GIT_AUTHOR_EMAIL="+c.AuthorEmail, "GIT_AUTHOR_DATE="+CommitDate,
		"GIT_COMMITTER_NAME="+CommitterName, "GIT_COMMITTER_EMAIL="+CommitterEmail, "GIT_COMMITTER_DATE="+CommitDate)
	out, _, err := dated.Run(ctx, []byte(c.Message), args...)
	return strings.TrimSpace(out), err
}

// Dirty lists the files of the work tree that differ from HEAD or are new.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	out, _, err := r.Run(ctx, nil, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	var files []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > 3 {
			files = append(files, entry[3:])
		}
	}
	return files, nil
}

// Busy names an unfinished am, rebase or merge, or is empty.
func (r *Repo) Busy() string {
	for marker, name := range map[string]string{
		"rebase-apply": "git am or git rebase", "rebase-merge": "git rebase",
		"MERGE_HEAD": "git merge", "CHERRY_PICK_HEAD": "git cherry-pick",
	} {
		if _, err := os.Stat(filepath.Join(r.gitDir, marker)); err == nil {
			return name
		}
	}
	return ""
}

// isolatedEnv drops what could change git's behaviour from the environment.
func isolatedEnv(environ []string, gitDir, workTree string) []string {
	var env []string
	for _, entry := range environ {
		key, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(key, "GIT_") || strings.HasPrefix(key, "LC_") || key == "LANG" || key == "LANGUAGE" {
			continue
		}
		env = append(env, entry)
	}
	env = append(env, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_DIR="+gitDir)
	if workTree != "" {
		env = append(env, "GIT_WORK_TREE="+workTree)
	}
	return env
}
