// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Reason is why something doesn't start, in one word.
type Reason string

// The reasons why a group of pods doesn't get a flavor, the furthest from starting
// first.
const (
	ReasonResourceNotCovered   Reason = "ResourceNotCovered"
	ReasonFlavorNotFound       Reason = "FlavorNotFound"
	ReasonNoQuota              Reason = "NoQuota"
	ReasonNoTopology           Reason = "FlavorHasNoTopology"
	ReasonNodeSelectorMismatch Reason = "NodeSelectorMismatch"
	ReasonTopologyOnly         Reason = "FlavorNeedsTopologyRequest"
	ReasonTaintNotTolerated    Reason = "TaintNotTolerated"
	ReasonLevelNotFound        Reason = "TopologyLevelNotFound"
	ReasonQuotaTooSmall        Reason = "QuotaTooSmall"
	ReasonQuotaInUse           Reason = "QuotaInUse"
	ReasonNoRoom               Reason = "NoRoomOnNodes"
)

var byDistance = []Reason{
	ReasonResourceNotCovered, ReasonFlavorNotFound, ReasonNoQuota, ReasonNoTopology, ReasonNodeSelectorMismatch,
	ReasonTopologyOnly, ReasonTaintNotTolerated, ReasonLevelNotFound, ReasonQuotaTooSmall, ReasonQuotaInUse, ReasonNoRoom,
}

// Verdict is what a flavor has to say to a group of pods.
type Verdict struct {
	PodSet  kueue.PodSetReference         `json:"podSet"`
	Flavor  kueue.ResourceFlavorReference `json:"flavor,omitempty"`
	Fits    bool                          `json:"fits"`
	Reason  Reason                        `json:"reason,omitempty"`
	Message string                        `json:"message,omitempty"`
}

// ask is what a PodSet wants: count pods, of which running have their place.
type ask struct {
	podSet         *kueue.PodSet
	each           Amounts
	count, running int64
}

func (a ask) wanted() int64 { return a.count - a.running }

// trial gives places and quota to one PodSet after the other.
type trial struct {
	*State
	queue *kueue.ClusterQueue
	quota map[kueue.ResourceFlavorReference]Amounts
	taken map[string]Amounts
}

func (s *State) newTrial(queue *kueue.ClusterQueue) *trial {
	return &trial{State: s, queue: queue, quota: map[kueue.ResourceFlavorReference]Amounts{}, taken: map[string]Amounts{}}
}

// all tries every PodSet and returns the index of the first that doesn't fit, or -1.
func (t *trial) all(asks []ask) (verdicts []Verdict, stuck int) {
	stuck = -1
	for i, a := range asks {
		found, fits := t.podSet(a)
		verdicts = append(verdicts, found...)
		if !fits && stuck < 0 {
			stuck = i
		}
	}
	return verdicts, stuck
}

// podSet looks for a flavor in each group of resources that the PodSet asks for.
func (t *trial) podSet(a ask) ([]Verdict, bool) {
	covered := map[corev1.ResourceName]bool{corev1.ResourcePods: true}
	for _, group := range t.queue.Spec.ResourceGroups {
		for _, name := range group.CoveredResources {
			covered[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.each)) {
		if !covered[name] && a.each[name] > 0 {
			// No flavor can help.
			return []Verdict{t.no(a, "", ReasonResourceNotCovered, "the ClusterQueue %s has no quota for %s", t.queue.Name, name)}, false
		}
	}
	var out []Verdict
	fits := true
	for i := range t.queue.Spec.ResourceGroups {
		group := &t.queue.Spec.ResourceGroups[i]
		want := Amounts{}
		for _, name := range group.CoveredResources {
			if a.each[name] > 0 {
				want[name] = a.each[name]
			}
		}
		if len(want) == 0 {
			continue
		}
		got := false
		for j := range group.Flavors {
			v := t.flavorFor(a, want, group, group.Flavors[j].Name)
			out = append(out, v)
			if got = v.Fits; got {
				break
			}
		}
		fits = fits && got
	}
	return out, fits
}

func (t *trial) no(a ask, flavor kueue.ResourceFlavorReference, reason Reason, format string, args ...any) Verdict {
	return Verdict{PodSet: a.podSet.Name, Flavor: flavor, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func (t *trial) flavorFor(a ask, want Amounts, group *kueue.ResourceGroup, name kueue.ResourceFlavorReference) Verdict {
	flavor := t.flavor(name)
	spec := &a.podSet.Template.Spec
	switch {
	case flavor == nil:
		return t.no(a, name, ReasonFlavorNotFound, "there is no ResourceFlavor %s", name)
	case t.without(want, name) != "":
		return t.no(a, name, ReasonNoQuota, "the ClusterQueue %s has no quota of %s in the flavor, nor a cohort to borrow it from", t.queue.Name, t.without(want, name))
	case !selects(spec, flavor, t.labelKeys(group)):
		return t.no(a, name, ReasonNodeSelectorMismatch, "the pods' node selector or affinity doesn't agree with the flavor's labels (%s)", labels(flavor.Spec.NodeLabels))
	}
	if taint := untolerated(flavor.Spec.NodeTaints, slices.Concat(spec.Tolerations, flavor.Spec.Tolerations)); taint != nil {
		return t.no(a, name, ReasonTaintNotTolerated, "the pods don't tolerate the flavor's taint %s", taint.ToString())
	}
	levels := t.levels(flavor)
	asksTopology := topologyOf(a.podSet) != "none"
	switch {
	case asksTopology && levels == nil:
		return t.no(a, name, ReasonNoTopology, "the pods ask for a topology, and the flavor has none")
	case !asksTopology && levels != nil && !t.topologyOnly():
		return t.no(a, name, ReasonTopologyOnly, "the flavor has a topology, and the pods ask for none")
	}
	if v := t.checkQuota(a, want, name); !v.Fits {
		return v
	}
	if levels != nil && a.wanted() > 0 {
		if v := t.checkPlaces(a, flavor, levels); !v.Fits {
			return v
		}
	}
	if t.quota[name] == nil {
		t.quota[name] = Amounts{}
	}
	t.quota[name].add(want, a.wanted())
	return Verdict{PodSet: a.podSet.Name, Flavor: name, Fits: true}
}

// without is a resource of which the queue can never have any in a flavor.
func (t *trial) without(want Amounts, flavor kueue.ResourceFlavorReference) corev1.ResourceName {
	for _, res := range slices.Sorted(maps.Keys(want)) {
		if t.queue.Spec.CohortName == "" && t.headroom(t.queue, flavor, res).Nominal == 0 {
			return res
		}
	}
	return ""
}

// topologyOnly says whether all flavors of the queue have a topology; pods that ask
// for none are placed all the same then.
func (t *trial) topologyOnly() bool {
	for _, group := range t.queue.Spec.ResourceGroups {
		for _, f := range group.Flavors {
			if t.levels(t.flavor(f.Name)) == nil {
				return false
			}
		}
	}
	return true
}

func (t *trial) checkQuota(a ask, want Amounts, name kueue.ResourceFlavorReference) Verdict {
	for _, res := range slices.Sorted(maps.Keys(want)) {
		need := want[res] * a.wanted()
		q := t.headroom(t.queue, name, res)
		free := max(0, q.Free-t.quota[name][res])
		if need <= free {
			continue
		}
		if t.queue.Spec.CohortName == "" && want[res]*a.count > q.Nominal {
			return t.no(a, name, ReasonQuotaTooSmall, "%s asked for, and the queue's whole quota is %s", amount(res, want[res]*a.count), amount(res, q.Nominal))
		}
		return t.no(a, name, ReasonQuotaInUse, "%s asked for, and %s free in the quota of %s", amount(res, need), isOrAre(res, free), amount(res, q.Nominal))
	}
	return Verdict{Fits: true}
}

// checkPlaces looks for room on the nodes, and takes it.
func (t *trial) checkPlaces(a ask, flavor *kueue.ResourceFlavor, levels []string) Verdict {
	name := kueue.ResourceFlavorReference(flavor.Name)
	spec := &a.podSet.Template.Spec
	places := t.places(flavor, func(node *corev1.Node) bool { return goesTo(spec, flavor, node) })
	for _, p := range places {
		p.free.add(t.taken[p.key()], -1)
	}
	group := places
	inside := ""
	if level := required(a.podSet); level != "" {
		at := slices.Index(levels, level)
		if at < 0 {
			return t.no(a, name, ReasonLevelNotFound, "the topology has no level %s; it has %s", level, strings.Join(levels, ", "))
		}
		var domain string
		group, domain = bestDomain(places, at, a)
		inside = fmt.Sprintf(" inside one %s (most are in %s)", level, domain)
	}
	if fitting(group, a) < a.wanted() {
		res := a.each.key()
		return t.no(a, name, ReasonNoRoom, "%s of %s asked for, room for %d%s: %s", plural(a.wanted(), "pod"), amount(res, a.each[res]), fitting(group, a), inside, free(places, res))
	}
	slices.SortStableFunc(group, func(x, y *place) int {
		return cmp.Compare(y.free.pods(a.each, a.wanted()), x.free.pods(a.each, a.wanted()))
	})
	left := a.wanted()
	for _, p := range group {
		n := p.free.pods(a.each, left)
		if t.taken[p.key()] == nil {
			t.taken[p.key()] = Amounts{}
		}
		t.taken[p.key()].add(a.each, n)
		left -= n
	}
	return Verdict{Fits: true}
}

func fitting(places []*place, a ask) int64 {
	var n int64
	for _, p := range places {
		n += p.free.pods(a.each, a.wanted())
	}
	return n
}

// bestDomain is the domain at a level that holds the most of the wanted pods; of
// those that hold all, the first.
func bestDomain(places []*place, level int, a ask) ([]*place, string) {
	domains := map[string][]*place{}
	for _, p := range places {
		key := strings.Join(p.values[:level+1], "/")
		domains[key] = append(domains[key], p)
	}
	var best []*place
	name, most := "none", int64(-1)
	for _, key := range slices.Sorted(maps.Keys(domains)) {
		if n := min(fitting(domains[key], a), a.wanted()); n > most {
			best, name, most = domains[key], key, n
		}
	}
	return best, name
}

// free says how much of a resource is free, and how it is spread: 8 GPUs are free
// on 2 nodes, 4 + 4.
func free(places []*place, res corev1.ResourceName) string {
	if len(places) == 0 {
		return "none of the flavor's nodes is ready and open to the pods"
	}
	var parts []int64
	var total int64
	for _, p := range places {
		if n := p.free[res]; n > 0 {
			parts = append(parts, n)
			total += n
		}
	}
	if total == 0 {
		return fmt.Sprintf("%s free on the %s that the pods may go to", isOrAre(res, 0), plural(int64(len(places)), "node"))
	}
	slices.SortFunc(parts, func(a, b int64) int { return cmp.Compare(b, a) })
	var texts []string
	for i, n := range parts {
		if i == 8 {
			texts = append(texts, "…")
			break
		}
		texts = append(texts, strings.SplitN(amount(res, n), " ", 2)[0])
	}
	return fmt.Sprintf("%s free on %s, %s", isOrAre(res, total), plural(int64(len(parts)), "node"), strings.Join(texts, " + "))
}

func isOrAre(res corev1.ResourceName, n int64) string {
	if n == 0 {
		return strings.Replace(amount(res, 0), "0", "no", 1) + " are"
	}
	if n == 1 {
		return amount(res, n) + " is"
	}
	return amount(res, n) + " are"
}

func required(podSet *kueue.PodSet) string {
	if r := podSet.TopologyRequest; r != nil && r.Required != nil {
		return *r.Required
	}
	return ""
}

// topologyOf says in words what a PodSet asks of the topology.
func topologyOf(podSet *kueue.PodSet) string {
	r := podSet.TopologyRequest
	switch {
	case r == nil:
		return "none"
	case r.Required != nil:
		return "required " + *r.Required
	case r.Preferred != nil:
		return "preferred " + *r.Preferred
	case r.Unconstrained != nil && *r.Unconstrained:
		return "unconstrained"
	}
	return "none"
}

func labels(of map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, key+"="+of[key])
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func objectMeta(flavor *kueue.ResourceFlavor) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: flavor.Name, Labels: flavor.Spec.NodeLabels}
}
