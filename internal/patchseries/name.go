// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package patchseries

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Class says what kind of change a patch makes. It follows from the number in
// the file name and is repeated in the Fleet-Class trailer.
type Class string

// The classes, in the order of their bands.
const (
	ClassBackport Class = "backport"
	ClassFix      Class = "fix"
	ClassSeam     Class = "seam"
	ClassFeature  Class = "feature"
	ClassBuild    Class = "build"
	ClassTest     Class = "test"
)

// Band is a range of patch numbers, both ends included, and the classes that
// live in it.
type Band struct {
	First, Last int
	Classes     []Class
}

func (b Band) String() string {
	names := make([]string, len(b.Classes))
	for i, c := range b.Classes {
		names[i] = string(c)
	}
	return fmt.Sprintf("%04d-%04d %s", b.First, b.Last, strings.Join(names, " or "))
}

// Bands lists the bands in order. A band spans up to the start of the next one.
func Bands() []Band {
	return []Band{
		{First: 100, Last: 299, Classes: []Class{ClassBackport}},
		{First: 300, Last: 499, Classes: []Class{ClassFix}},
		{First: 500, Last: 699, Classes: []Class{ClassSeam}},
		{First: 700, Last: 899, Classes: []Class{ClassFeature}},
		{First: 900, Last: 999, Classes: []Class{ClassBuild, ClassTest}},
	}
}

// BandOf returns the band that number falls in.
func BandOf(number int) (Band, bool) {
	for _, band := range Bands() {
		if number >= band.First && number <= band.Last {
			return band, true
		}
	}
	return Band{}, false
}

// Extension ends the name of every patch file.
const Extension = ".patch"

// nameForm is what the file name of a patch looks like without its extension.
var nameForm = regexp.MustCompile(`^([0-9]{4})-([a-z0-9]+)-([a-z0-9]+)-([a-z0-9]+(?:-[a-z0-9]+)*)$`)

// Name is the parsed file name of a patch, NNNN-area-verb-object.
type Name struct {
	Number             int
	Area, Verb, Object string
}

// ParseName parses a name with or without the extension, and checks that its
// number lies in a band.
func ParseName(file string) (Name, error) {
	m := nameForm.FindStringSubmatch(strings.TrimSuffix(file, Extension))
	if m == nil {
		return Name{}, fmt.Errorf("name %q is not of the form NNNN-area-verb-object%s (four digits, then at least three lower case words, joined by hyphens)", file, Extension)
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return Name{}, fmt.Errorf("failed to read the number of %q: %w", file, err)
	}
	if _, ok := BandOf(number); !ok {
		return Name{}, fmt.Errorf("number %s of %q is in no band; bands are %s", m[1], file, describeBands())
	}
	return Name{Number: number, Area: m[2], Verb: m[3], Object: m[4]}, nil
}

func describeBands() string {
	var out []string
	for _, band := range Bands() {
		out = append(out, band.String())
	}
	return strings.Join(out, ", ")
}

// allows reports whether a patch of class c may be in the band.
func (b Band) allows(c Class) bool { return slices.Contains(b.Classes, c) }
