// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// Vector holds amounts, in the resources' own units, by the index that Resources
// gives each name. What is beyond its length is zero.
type Vector []int64

// Resources numbers the names of resources. It only grows, and is shared by the
// engines of all flavors.
type Resources struct {
	lock  sync.RWMutex
	index map[string]int
	names []string
}

// NewResources returns an empty numbering.
func NewResources() *Resources {
	return &Resources{index: make(map[string]int)}
}

// Index returns the number of a resource, a new one if the name is new.
func (r *Resources) Index(name string) int {
	r.lock.RLock()
	i, found := r.index[name]
	r.lock.RUnlock()
	if found {
		return i
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if i, found := r.index[name]; found {
		return i
	}
	i = len(r.names)
	r.index[name] = i
	r.names = append(r.names, name)
	return i
}

// Name returns the name with the given number.
func (r *Resources) Name(i int) string {
	r.lock.RLock()
	defer r.lock.RUnlock()
	return r.names[i]
}

// Len returns how many names there are.
func (r *Resources) Len() int {
	r.lock.RLock()
	defer r.lock.RUnlock()
	return len(r.names)
}

// Set returns v with the amount at index i, longer if need be.
func (v Vector) Set(i int, amount int64) Vector {
	for len(v) <= i {
		v = append(v, 0)
	}
	v[i] = amount
	return v
}

func (v Vector) equal(other Vector) bool {
	if len(v) > len(other) {
		v, other = other, v
	}
	for i := range v {
		if v[i] != other[i] {
			return false
		}
	}
	return !slices.ContainsFunc(other[len(v):], func(a int64) bool { return a != 0 })
}

func (v Vector) hasNegative() bool {
	return slices.ContainsFunc(v, func(a int64) bool { return a < 0 })
}

// addClamped and subClamped stay within int64, as Kueue's amounts do.
func addClamped(a, b int64) int64 {
	sum := a + b
	if b > 0 && sum < a {
		return math.MaxInt64
	}
	if b < 0 && sum > a {
		return math.MinInt64
	}
	return sum
}

func subClamped(a, b int64) int64 {
	diff := a - b
	if b < 0 && diff < a {
		return math.MaxInt64
	}
	if b > 0 && diff > a {
		return math.MinInt64
	}
	return diff
}

// positive returns the indexes of the amounts above zero, in the order of their
// names.
func (r *Resources) positive(v Vector) []int {
	r.lock.RLock()
	defer r.lock.RUnlock()
	var result []int
	for i, amount := range v {
		if amount > 0 {
			result = append(result, i)
		}
	}
	slices.SortFunc(result, func(a, b int) int { return strings.Compare(r.names[a], r.names[b]) })
	return result
}
