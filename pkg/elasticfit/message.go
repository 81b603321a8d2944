// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elasticfit

import (
	"fmt"
	"slices"
	"strings"
)

// The texts below are part of what users see and of what Kueue's own algorithm
// says in the same case.

func (v *solver) noDomains() error {
	return &NoFitError{message: "no topology domains at level: " + v.s.levels[v.req.Level]}
}

// noFit says that of want slices no more than fit have room on a level.
func (v *solver) noFit(level int, fit, want int32) error {
	var text strings.Builder
	fmt.Fprintf(&text, "topology %q ", v.s.topology)
	switch {
	case len(v.req.Inner) > 0:
		text.WriteString("doesn't allow to fit")
		v.writeLayers(&text, level)
	case fit == 0:
		fmt.Fprintf(&text, "doesn't allow to fit any of %d %s", want, v.unit())
	default:
		fmt.Fprintf(&text, "allows to fit only %d out of %d %s", fit, want, v.unit())
	}
	if causes := v.causes(); len(causes) > 0 {
		slices.Sort(causes)
		fmt.Fprintf(&text, ". Total nodes: %d; excluded: %s", v.s.liveLeaves, strings.Join(causes, ", "))
	}
	return &NoFitError{message: text.String()}
}

func (v *solver) unit() string {
	if v.req.SliceSize == 1 {
		return "pod(s)"
	}
	return "slice(s)"
}

// writeLayers says, for the domain that holds most, how much of each layer fits.
func (v *solver) writeLayers(text *strings.Builder, level int) {
	lay := v.s.lay
	best := int32(-1)
	for d := range int32(lay.size(level)) {
		if v.s.exists(level, d) && (best < 0 || v.rooms[level][d].slices > v.rooms[level][best].slices) {
			best = d
		}
	}
	if best < 0 {
		return
	}
	for _, layer := range v.req.Layers {
		from, to := best, best+1
		for l := level; l < layer.Level; l++ {
			from, to = lay.levels[l].first[from], lay.levels[l].first[to]
		}
		var fit int32
		for d := from; d < to; d++ {
			fit += v.rooms[layer.Level][d].pods / layer.Size
		}
		fmt.Fprintf(text, "; %d/%d slice(s) fit on level %s", fit, v.req.Pods/layer.Size, layer.Name)
	}
}

// causes lists why leaves hold no pod, with how many there are of each.
func (v *solver) causes() []string {
	var causes []string
	add := func(name string, count int) {
		if count > 0 {
			causes = append(causes, fmt.Sprintf("%s: %d", name, count))
		}
	}
	if f := v.sh.filter; f != nil {
		for i := 1; i < len(f.causes); i++ {
			add(f.causes[i], f.count[i])
		}
	}
	full := slices.Clone(v.sh.full)
	lowest := v.s.lay.lowest()
	leaves := &v.sh.levels[lowest]
	// count adds n for what limits a leaf, as the state has it or with Assumed.
	count := func(n int, pods int32, limit uint8) {
		if pods == 0 && limit != noLimit {
			full[limit] += n
		}
	}
	for i, e := range v.changed[lowest] {
		count(-1, leaves.at(e.domain), leaves.limit(e.domain))
		count(1, e.count, v.limits[i])
	}
	if within, bounded := v.within(); bounded {
		outside := 0
		for leaf := range int32(leaves.n) {
			if leaf >= within.from && leaf < within.to || !v.sh.takes(v.s, leaf) {
				continue
			}
			outside++
			if i, changed := v.find(lowest, leaf); changed {
				count(-1, v.changed[lowest][i].count, v.limits[i])
			} else {
				count(-1, leaves.at(leaf), leaves.limit(leaf))
			}
		}
		add("topologyDomain", outside)
	}
	for i, n := range full {
		add(fmt.Sprintf("resource %q", v.s.res.Name(v.sh.resources[i])), n)
	}
	return causes
}
