// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"maps"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Needs tells, for each patch by file name, which earlier patches it can't be
// applied without: those that wrote a line it replaces or stands beside, that took
// lines out between them, or that made, moved or deleted a file it changes. The
// series must apply without offsets.
//
// It is about text. What a patch only calls is not seen.
func Needs(patches []*Patch) map[string][]string {
	files := owners{}
	needs := map[string][]string{}
	for _, patch := range patches {
		found := map[string]bool{}
		for _, diff := range patch.Diffs {
			files.apply(patch.Name, diff, found)
		}
		delete(found, patch.Name)
		needs[patch.Name] = slices.Sorted(maps.Keys(found))
	}
	return needs
}

// owners maps a file to who wrote it, as far as the series has touched it.
type owners map[string]*owned

// owned is one file: the patch that made or moved it, empty for upstream, and the
// writers of its first lines; lines beyond are upstream's.
type owned struct {
	file  string
	lines []line
}

// line is who wrote a line, empty for upstream, and who took out lines right
// before it.
type line struct {
	writer  string
	removed []string
}

func (o owners) get(name string) *owned {
	if o[name] == nil {
		o[name] = &owned{}
	}
	return o[name]
}

// apply adds to found whose work the diff stands on, and notes the patch's own.
func (o owners) apply(patch string, diff *gitdiff.File, found map[string]bool) {
	add := func(name string) {
		if name != "" {
			found[name] = true
		}
	}
	from := diff.OldName
	if diff.IsNew {
		// A file of the name may have been there.
		from = diff.NewName
	}
	source := o.get(from)
	add(source.file)
	next := source.rewrite(patch, diff.TextFragments, add)
	switch {
	case diff.IsNew:
		next.file = patch
	case diff.IsRename:
		add(o.get(diff.NewName).file)
		o[diff.OldName] = &owned{file: patch}
		next.file = patch
	case diff.IsCopy:
		add(o.get(diff.NewName).file)
		next.file = patch
	case diff.IsDelete:
		o[diff.OldName] = &owned{file: patch}
		return
	}
	o[diff.NewName] = next
}

// rewrite returns the file with the fragments applied, and calls add for each
// patch whose lines they touch.
func (f *owned) rewrite(patch string, fragments []*gitdiff.TextFragment, add func(string)) *owned {
	out := &owned{file: f.file}
	at := 0 // lines of f that are in out, or gone
	for _, fragment := range fragments {
		start := max(int(fragment.OldPosition)-1, 0)
		for ; at < start; at++ {
			out.lines = append(out.lines, f.line(at))
		}
		gone := false
		for i, l := range fragment.Lines {
			switch l.Op {
			case gitdiff.OpAdd:
				out.lines = append(out.lines, line{writer: patch})
			case gitdiff.OpDelete:
				f.touch(at, i > 0, add)
				gone = true
				at++
			case gitdiff.OpContext:
				f.touch(at, i > 0, add)
				kept := f.line(at)
				if gone {
					kept.removed = append(slices.Clone(kept.removed), patch)
				}
				gone = false
				out.lines = append(out.lines, kept)
				at++
			}
		}
		if gone {
			next := f.line(at)
			next.removed = append(slices.Clone(next.removed), patch)
			out.lines = append(out.lines, next)
			at++
		}
	}
	for ; at < len(f.lines); at++ {
		out.lines = append(out.lines, f.lines[at])
	}
	return out
}

func (f *owned) line(i int) line {
	if i < len(f.lines) {
		return f.lines[i]
	}
	return line{}
}

// touch calls add for the writer of a line and, if the line before it is in the
// fragment too, for who took lines out between the two.
func (f *owned) touch(i int, between bool, add func(string)) {
	l := f.line(i)
	add(l.writer)
	if between {
		for _, name := range l.removed {
			add(name)
		}
	}
}

// Closure returns what a patch needs with what that needs, in the order of the
// series.
func Closure(needs map[string][]string, name string) []string {
	all := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for _, need := range needs[name] {
			if !all[need] {
				all[need] = true
				visit(need)
			}
		}
	}
	visit(name)
	return slices.Sorted(maps.Keys(all))
}
