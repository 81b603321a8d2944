// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/util/taints"

	"fleet.ai/kueue-fleet/pkg/elasticfit"
)

// maxFilters is how many filters a flavor remembers, lest it grows without bounds.
// With more than that in use, they are made again now and then.
const maxFilters = 256

// nodeFilter says which nodes pods with some tolerations, node labels and required
// node affinity may run on. It never changes.
type nodeFilter struct {
	key         string
	tolerations []corev1.Toleration
	selector    labels.Selector
	affinity    *nodeaffinity.NodeSelector
}

var _ elasticfit.Filter = (*nodeFilter)(nil)

// Key implements elasticfit.Filter.
func (f *nodeFilter) Key() string { return f.key }

// Exclusion implements elasticfit.Filter. The order of the checks decides which
// cause is counted, and is Kueue's.
func (f *nodeFilter) Exclusion(node any) string {
	n, ok := node.(*corev1.Node)
	if !ok || n == nil {
		return ""
	}
	taint, found := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, f.tolerations, taints.IsSchedulingTaint, true)
	switch {
	case found:
		return fmt.Sprintf("taint %q", taint.ToString())
	case !f.selector.Matches(labels.Set(n.Labels)):
		return "nodeSelector"
	case f.affinity != nil && !f.affinity.Match(n):
		return "affinity"
	}
	return ""
}

// filter returns the filter of a request, or nil if every leaf may take its pods. An
// error means that Kueue's algorithm has something to say about the request.
func (f *flavor) filter(r *schdcache.FitRequest) (*nodeFilter, error) {
	var required *corev1.NodeSelector
	if r.NodeAffinity != nil {
		required = r.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if !f.nodes && required == nil {
		return nil, nil
	}
	key := filterKey(r, required)
	f.lock.Lock()
	defer f.lock.Unlock()
	known, found := f.filters[key]
	if !found {
		var err error
		if known, err = f.newFilter(key, r, required); err != nil {
			return nil, err
		}
		if len(f.filters) >= maxFilters || f.filters == nil {
			f.filters = make(map[string]*nodeFilter)
		}
		f.filters[key] = known
	}
	if !f.nodes {
		return nil, nil
	}
	return known, nil
}

func (f *flavor) newFilter(key string, r *schdcache.FitRequest, required *corev1.NodeSelector) (*nodeFilter, error) {
	filter := &nodeFilter{key: key, tolerations: slices.Concat(r.Tolerations, f.tolerations), selector: labels.Everything()}
	if f.nodes {
		selector, err := labels.ValidatedSelectorFromSet(r.NodeSelector)
		if err != nil {
			return nil, &elasticfit.UnsupportedError{Reason: elasticfit.Reason(InvalidSelector)}
		}
		filter.selector = selector
	}
	if required != nil {
		affinity, err := nodeaffinity.NewNodeSelector(required)
		if err != nil {
			return nil, &elasticfit.UnsupportedError{Reason: elasticfit.Reason(InvalidSelector)}
		}
		filter.affinity = affinity
	}
	return filter, nil
}

// filterKey returns a text that differs for requests whose filters differ. No part
// of it can hold the separators.
func filterKey(r *schdcache.FitRequest, required *corev1.NodeSelector) string {
	var key strings.Builder
	for i := range r.Tolerations {
		t := &r.Tolerations[i]
		for _, part := range [...]string{t.Key, string(t.Operator), t.Value, string(t.Effect)} {
			key.WriteString(part)
			key.WriteByte(1)
		}
	}
	key.WriteByte(2)
	for _, label := range slices.Sorted(maps.Keys(r.NodeSelector)) {
		key.WriteString(label)
		key.WriteByte(1)
		key.WriteString(r.NodeSelector[label])
		key.WriteByte(1)
	}
	key.WriteByte(2)
	if required != nil {
		key.WriteString(required.String())
	}
	return key.String()
}
