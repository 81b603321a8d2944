// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

// owner is the identity of whoever may write to a page in place. A page of another
// owner is copied before it is written: forks share pages without locks.
type owner struct{ _ byte }

const (
	pageBits = 6
	pageSize = 1 << pageBits
	pageMask = pageSize - 1
)

func pagesFor(n int) int { return (n + pageSize - 1) >> pageBits }

// rows is a table of vectors of one width.
type rows struct {
	own   *owner
	width int
	pages []*rowPage
}

type rowPage struct {
	own    *owner
	values []int64
}

func newRows(own *owner, n, width int) rows {
	r := rows{own: own, width: width, pages: make([]*rowPage, pagesFor(n))}
	for i := range r.pages {
		r.pages[i] = &rowPage{own: own, values: make([]int64, pageSize*width)}
	}
	return r
}

func (r *rows) at(i int32) Vector {
	from := int(i&pageMask) * r.width
	return r.pages[i>>pageBits].values[from : from+r.width]
}

func (r *rows) forWrite(own *owner, i int32) Vector {
	if r.own != own {
		r.own, r.pages = own, append([]*rowPage(nil), r.pages...)
	}
	page := r.pages[i>>pageBits]
	if page.own != own {
		page = &rowPage{own: own, values: append([]int64(nil), page.values...)}
		r.pages[i>>pageBits] = page
	}
	from := int(i&pageMask) * r.width
	return page.values[from : from+r.width]
}
