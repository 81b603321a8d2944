// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package vendoring

import (
	"fmt"
	"strings"

	"fleet.ai/kueue-fleet/internal/patchgit"
	"fleet.ai/kueue-fleet/internal/patchseries"
)

// assignNames gives each commit its file name: the Fleet-Patch trailer, else the
// file that has the commit's subject today, else name, which serves the one
// commit that has neither.
func assignNames(commits []patchgit.CommitInfo, bySubject map[string]string, name string) ([]string, error) {
	names := make([]string, len(commits))
	owner := map[string]string{}
	spare := name
	last := -1
	for i, commit := range commits {
		given := commit.Name
		if given == "" {
			given = bySubject[commit.Subject]
		}
		if given == "" {
			given, spare = spare, ""
		}
		if given == "" {
			return nil, fmt.Errorf("commit %s %q has no file name: add the trailer \"%s: NNNN-area-verb-object\" to its message, or pass --name",
				short(commit.ID), commit.Subject, patchseries.TrailerName)
		}
		parsed, err := patchseries.ParseName(given)
		if err != nil {
			return nil, fmt.Errorf("commit %s %q: %w", short(commit.ID), commit.Subject, err)
		}
		file := strings.TrimSuffix(given, patchseries.Extension) + patchseries.Extension
		if other, taken := owner[file]; taken {
			return nil, fmt.Errorf("commits %q and %q both go to %s: fold them into one, or give one a %s trailer of its own",
				other, commit.Subject, file, patchseries.TrailerName)
		}
		if parsed.Number <= last {
			return nil, fmt.Errorf("commit %s %q is %s but stands behind %s: order the commits by number (git rebase -i %s), or change the number",
				short(commit.ID), commit.Subject, file, names[i-1], UpstreamTag)
		}
		last, names[i], owner[file] = parsed.Number, file, commit.Subject
	}
	if spare != "" {
		return nil, fmt.Errorf("no commit needs the name %q: each has one already", spare)
	}
	return names, nil
}

// subjects maps the subjects of a series to file names. A file that can't be
// read lends its name to no commit.
func subjects(files []patchseries.File) map[string]string {
	out := map[string]string{}
	for _, file := range files {
		if patch, err := patchseries.Parse(file); err == nil {
			out[patch.Header.Subject] = file.Name
		}
	}
	return out
}

func short(id string) string {
	const length = 10
	if len(id) > length {
		return id[:length]
	}
	return id
}
