// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"cmp"
	"math/bits"
	"slices"
)

// countSet says which pod counts occur in a range of domains: bit c for a count of
// c, and the last bit for all counts from maxExact up, which are looked up one by
// one. Domains that hold so many pods are large, hence few.
type countSet [4]uint64

const maxExact = 255

func bucket(count int32) int32 { return min(count, maxExact) }

func (s *countSet) add(count int32) {
	b := bucket(count)
	s[b>>6] |= 1 << (b & 63)
}

func (s *countSet) has(b int32) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *countSet) merge(other *countSet) {
	for i := range s {
		s[i] |= other[i]
	}
}

// next returns the lowest bucket from b up, or -1.
func (s *countSet) next(b int32) int32 {
	for i := b >> 6; i < 4; i++ {
		word := s[i]
		if i == b>>6 {
			word &= ^uint64(0) << (b & 63)
		}
		if word != 0 {
			return i<<6 + int32(bits.TrailingZeros64(word))
		}
	}
	return -1
}

// counts is a table of how many pods of one size each domain of a level holds, with
// an index: per page, and per 64 pages, the set of counts that occur.
type counts struct {
	own   *owner
	n     int
	pages []*countPage
	sets  []countSet
	tops  []countSet
	// total is the sum of all counts.
	total int64
}

type countPage struct {
	own    *owner
	values [pageSize]int32
	// limits says what keeps a leaf from holding more: the index of a resource of
	// the request, or noLimit.
	limits [pageSize]uint8
}

const noLimit = 255

func newCounts(own *owner, n int) counts {
	c := counts{own: own, n: n, pages: make([]*countPage, pagesFor(n))}
	for i := range c.pages {
		c.pages[i] = &countPage{own: own}
		for j := range c.pages[i].limits {
			c.pages[i].limits[j] = noLimit
		}
	}
	c.sets = make([]countSet, len(c.pages))
	c.tops = make([]countSet, pagesFor(len(c.pages)))
	for i := range c.sets {
		c.sets[i].add(0)
		c.tops[i>>pageBits].add(0)
	}
	return c
}

func (c *counts) at(i int32) int32 { return c.pages[i>>pageBits].values[i&pageMask] }

func (c *counts) limit(i int32) uint8 { return c.pages[i>>pageBits].limits[i&pageMask] }

func (c *counts) page(own *owner, i int32) *countPage {
	if c.own != own {
		c.own = own
		c.pages, c.sets, c.tops = slices.Clone(c.pages), slices.Clone(c.sets), slices.Clone(c.tops)
	}
	page := c.pages[i>>pageBits]
	if page.own != own {
		clone := *page
		clone.own = own
		page = &clone
		c.pages[i>>pageBits] = page
	}
	return page
}

func (c *counts) setLimit(own *owner, i int32, limit uint8) {
	c.page(own, i).limits[i&pageMask] = limit
}

func (c *counts) set(own *owner, i, count int32) {
	page := c.page(own, i)
	old := page.values[i&pageMask]
	page.values[i&pageMask] = count
	c.total += int64(count) - int64(old)
	p := i >> pageBits
	if bucket(old) == bucket(count) {
		return
	}
	var set countSet
	for _, value := range page.values[:min(pageSize, c.n-int(p)<<pageBits)] {
		set.add(value)
	}
	if set == c.sets[p] {
		return
	}
	c.sets[p] = set
	top := p >> pageBits
	c.tops[top] = countSet{}
	for k := int(top) << pageBits; k < min(len(c.sets), int(top+1)<<pageBits); k++ {
		c.tops[top].merge(&c.sets[k])
	}
}

// rebuild makes the index anew after fill has set the values in place.
func (c *counts) rebuild() {
	clear(c.tops)
	c.total = 0
	for p, page := range c.pages {
		c.sets[p] = countSet{}
		for _, value := range page.values[:min(pageSize, c.n-p<<pageBits)] {
			c.sets[p].add(value)
			c.total += int64(value)
		}
		c.tops[p>>pageBits].merge(&c.sets[p])
	}
}

// entry is a domain of a level and the number of pods that it holds.
type entry struct {
	domain int32
	count  int32
}

func byCount(a, b entry) int {
	return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.domain, b.domain))
}

// ascending calls visit for the domains that hold at least from pods, by count and
// then by the domains' order, until it returns false.
func (c *counts) ascending(from int32, visit func(entry) bool) {
	var all countSet
	for i := range c.tops {
		all.merge(&c.tops[i])
	}
	for b := all.next(bucket(max(from, 0))); b >= 0; b = all.next(b + 1) {
		if b == maxExact {
			c.ascendingLarge(from, visit)
			return
		}
		if !c.inBucket(b, visit) {
			return
		}
	}
}

// inBucket visits the domains of one bucket in order.
func (c *counts) inBucket(b int32, visit func(entry) bool) bool {
	for t := range c.tops {
		if !c.tops[t].has(b) {
			continue
		}
		for p := t << pageBits; p < min(len(c.sets), (t+1)<<pageBits); p++ {
			if !c.sets[p].has(b) {
				continue
			}
			for j, value := range c.pages[p].values[:min(pageSize, c.n-p<<pageBits)] {
				if bucket(value) == b && !visit(entry{domain: int32(p<<pageBits + j), count: value}) {
					return false
				}
			}
		}
	}
	return true
}

// ascendingLarge is ascending for the counts that have no bucket of their own. The
// first domain is found without a sorted list.
func (c *counts) ascendingLarge(from int32, visit func(entry) bool) {
	last := entry{domain: -1, count: max(from, maxExact)}
	for {
		next := entry{domain: -1}
		c.inBucket(maxExact, func(e entry) bool {
			if byCount(e, last) > 0 && (next.domain < 0 || byCount(e, next) < 0) {
				next = e
			}
			return true
		})
		if next.domain < 0 || !visit(next) {
			return
		}
		last = next
	}
}

// largest returns the greatest count among the domains that skip doesn't hold.
func (c *counts) largest(skip func(int32) bool) int32 {
	var all countSet
	for i := range c.tops {
		all.merge(&c.tops[i])
	}
	for b := int32(maxExact); b > 0; b-- {
		if !all.has(b) {
			continue
		}
		best := int32(-1)
		c.inBucket(b, func(e entry) bool {
			if !skip(e.domain) {
				best = max(best, e.count)
				return b == maxExact
			}
			return true
		})
		if best >= 0 {
			return best
		}
	}
	return 0
}
