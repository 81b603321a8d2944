// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchgit

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"fleet.ai/kueue-fleet/internal/gitrepo"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// exportFlags fix everything about a patch file that git would otherwise take
// from its configuration, version, clock or the size of the repository. Full
// object ids keep "git am -3" possible. Three lines of context are git's own
// default and enough for an exact match.
func exportFlags() []string {
	return []string{
		"--stdout", "--zero-commit", "--no-signature", "--no-numbered", "--subject-prefix=",
		"--no-stat", "--full-index", "--unified=3", "--diff-algorithm=histogram", "--indent-heuristic",
		"--find-renames=50%", "--find-copies=75%", "--src-prefix=a/", "--dst-prefix=b/",
		"--no-color", "--no-ext-diff", "--no-textconv", "--no-thread", "--no-attach", "--no-notes",
		"--encode-email-headers",
	}
}

// Export renders a commit as the content of a patch file. The date and the
// Fleet-Patch trailer are left out.
func Export(ctx context.Context, repo *gitrepo.Repo, commit string) ([]byte, error) {
	args := append([]string{"format-patch"}, exportFlags()...)
	out, _, err := repo.Run(ctx, nil, append(args, "-1", commit)...)
	if err != nil {
		return nil, err
	}
	if out == "" {
		return nil, fmt.Errorf("failed to export commit %s: it changes nothing", commit)
	}
	return canonical([]byte(out)), nil
}

// canonical drops the date and the name of the file from the mail.
func canonical(mail []byte) []byte {
	head, diff := mail, []byte(nil)
	if i := bytes.Index(mail, []byte("\ndiff --git ")); i >= 0 {
		head, diff = mail[:i+1], mail[i+1:]
	}
	var out bytes.Buffer
	inBody := false
	for line := range bytes.Lines(head) {
		text := strings.TrimRight(string(line), "\n")
		inBody = inBody || text == ""
		if !inBody && strings.HasPrefix(text, "Date: ") {
			continue
		}
		if inBody && strings.HasPrefix(text, patchseries.TrailerName+":") {
			continue
		}
		out.Write(line)
	}
	out.Write(diff)
	return out.Bytes()
}

// CommitInfo is a commit on top of the base.
type CommitInfo struct {
	ID      string
	Subject string
	// Name is the value of the Fleet-Patch trailer, or empty.
	Name string
}

// Commits lists the commits after base up to head, oldest first. Merges are refused.
func Commits(ctx context.Context, repo *gitrepo.Repo, base, head string) ([]CommitInfo, error) {
	if _, err := repo.Git(ctx, "merge-base", "--is-ancestor", base, head); err != nil {
		return nil, fmt.Errorf("failed to list the commits: %s is not an ancestor of HEAD; rebase your work onto %s", base, base)
	}
	merges, err := repo.Git(ctx, "rev-list", "--merges", base+".."+head)
	if err != nil {
		return nil, err
	}
	if merges != "" {
		return nil, fmt.Errorf("failed to list the commits: %s is a merge, which is no patch; rebase it away", strings.Fields(merges)[0])
	}
	out, err := repo.Git(ctx, "log", "--reverse", "--format=%H%x00%s%x00%B%x1e", base+".."+head)
	if err != nil {
		return nil, err
	}
	var commits []CommitInfo
	for record := range strings.SplitSeq(out, "\x1e") {
		fields := strings.SplitN(strings.TrimLeft(record, "\n"), "\x00", 3)
		if len(fields) < 3 {
			continue
		}
		info := CommitInfo{ID: fields[0], Subject: fields[1]}
		for _, t := range patchseries.ParseTrailers(fields[2]) {
			if t.Key == patchseries.TrailerName {
				info.Name = t.Value
			}
		}
		commits = append(commits, info)
	}
	return commits, nil
}
