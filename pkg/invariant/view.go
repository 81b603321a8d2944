// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// The annotations and labels by which slices and pods are told apart. They are part
// of Kueue's interface; the checker has its own copy so that it needs none of
// Kueue's code.
const (
	elasticAnnotation     = "kueue.x-k8s.io/elastic-job"
	replacementAnnotation = "kueue.x-k8s.io/workload-slice-replacement-for"
	podSetLabel           = "kueue.x-k8s.io/podset"
)

// amount is something that is counted against a limit.
type amount struct {
	key         string
	used, limit int64
}

// finding is a violation, with the amount or the ended Workload that it is about when
// there is one.
type finding struct {
	Violation
	amount *amount
	ended  *kueue.Workload
}

// view is a State in the shape that the rules need.
type view struct {
	State
	flavors  map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor
	nodes    map[string]*corev1.Node
	chains   []*chain
	pods     map[podKey][]*corev1.Pod
	foreign  []*corev1.Pod // pods of no chain
	amounts  []amount
	findings []finding
}

// podKey is a group of a job: the chain and the PodSet.
type podKey struct {
	chain string
	group kueue.PodSetReference
}

// chain is all unfinished slices of one job, oldest first.
type chain struct {
	name    string
	holding []*slice
	pending []*slice
}

// slice is a Workload with its groups.
type slice struct {
	*kueue.Workload
	groups []group
}

// group is what a slice that holds quota was granted for one PodSet.
type group struct {
	name       kueue.PodSetReference
	count      int64
	flavors    map[corev1.ResourceName]kueue.ResourceFlavorReference
	quotaUse   map[corev1.ResourceName]int64 // per pod
	podRequest map[corev1.ResourceName]int64 // per pod
	levels     []string
	domains    map[string]int64 // pods by domain
	assigned   bool
	request    *kueue.PodSetTopologyRequest
}

func newView(s State) *view {
	v := &view{
		State:   s,
		flavors: make(map[kueue.ResourceFlavorReference]*kueue.ResourceFlavor, len(s.Flavors)),
		nodes:   make(map[string]*corev1.Node, len(s.Nodes)),
		pods:    map[podKey][]*corev1.Pod{},
	}
	for i := range s.Flavors {
		v.flavors[kueue.ResourceFlavorReference(s.Flavors[i].Name)] = &s.Flavors[i]
	}
	for i := range s.Nodes {
		v.nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	v.groupSlices()
	v.groupPods()
	return v
}

func (v *view) violations() []finding {
	v.checkChains()
	v.checkAssignments()
	v.checkRequests()
	v.checkCapacity()
	v.checkBoundPods()
	v.checkQuota()
	v.checkPods()
	slices.SortStableFunc(v.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	return v.findings
}

func (v *view) report(rule Rule, subject, format string, args ...any) {
	v.findings = append(v.findings, finding{Violation: Violation{Rule: rule, Subject: subject, Evidence: fmt.Sprintf(format, args...)}})
}

// count records an amount and reports it when it is above the limit.
func (v *view) count(rule Rule, subject, key string, used, limit int64, parts map[string]int64) {
	a := amount{key: string(rule) + "/" + key, used: used, limit: limit}
	v.amounts = append(v.amounts, a)
	if used <= limit {
		return
	}
	v.report(rule, subject, "%d of %d in use: %s", used, limit, join(parts))
	v.findings[len(v.findings)-1].amount = &a
}

func join(parts map[string]int64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if parts[name] != 0 {
			out = append(out, fmt.Sprintf("%s=%d", name, parts[name]))
		}
	}
	return strings.Join(out, " ")
}

func isFinished(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
}

func isEvicted(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted)
}

func holdsQuota(wl *kueue.Workload) bool {
	return wl.Status.Admission != nil && apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
}

func isElastic(wl *kueue.Workload) bool { return wl.Annotations[elasticAnnotation] == "true" }

// chainName is what slices and pods of one job have in common.
func chainName(wl *kueue.Workload) string {
	if isElastic(wl) {
		if name := wl.Annotations[kueue.WorkloadSliceNameAnnotation]; name != "" {
			return wl.Namespace + "/" + name
		}
	}
	return wl.Namespace + "/" + wl.Name
}

func ownerOf(wl *kueue.Workload) string {
	if owner := metav1.GetControllerOfNoCopy(wl); owner != nil {
		return string(owner.UID)
	}
	return ""
}

func (v *view) groupSlices() {
	type jobKey struct{ chain, owner string }
	byJob := map[jobKey]*chain{}
	for i := range v.Workloads {
		wl := &v.Workloads[i]
		if isFinished(wl) {
			continue
		}
		key := jobKey{chainName(wl), ownerOf(wl)}
		c := byJob[key]
		if c == nil {
			c = &chain{name: key.chain}
			byJob[key] = c
			v.chains = append(v.chains, c)
		}
		if holdsQuota(wl) {
			c.holding = append(c.holding, v.newSlice(wl))
		} else {
			c.pending = append(c.pending, &slice{Workload: wl})
		}
	}
	slices.SortFunc(v.chains, func(a, b *chain) int { return cmp.Compare(a.name, b.name) })
	for _, c := range v.chains {
		slices.SortFunc(c.holding, func(a, b *slice) int {
			if replaces(b, a) {
				return -1
			}
			if replaces(a, b) {
				return 1
			}
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
	}
}

func replaces(newer, older *slice) bool {
	return newer.Annotations[replacementAnnotation] == older.Namespace+"/"+older.Name
}

func (v *view) newSlice(wl *kueue.Workload) *slice {
	s := &slice{Workload: wl}
	podSets := make(map[kueue.PodSetReference]*kueue.PodSet, len(wl.Spec.PodSets))
	for i := range wl.Spec.PodSets {
		podSets[wl.Spec.PodSets[i].Name] = &wl.Spec.PodSets[i]
	}
	reclaimed := map[kueue.PodSetReference]int64{}
	for _, r := range wl.Status.ReclaimablePods {
		reclaimed[r.Name] = int64(r.Count)
	}
	for i := range wl.Status.Admission.PodSetAssignments {
		granted := &wl.Status.Admission.PodSetAssignments[i]
		podSet := podSets[granted.Name]
		if podSet == nil {
			v.report(UndecodableObject, "workload "+wl.Name, "the admission has PodSet %q, the spec has not", granted.Name)
			continue
		}
		g := group{
			name: granted.Name, flavors: granted.Flavors, podRequest: podRequests(&podSet.Template.Spec), request: podSet.TopologyRequest,
			count: int64(podSet.Count), quotaUse: map[corev1.ResourceName]int64{},
		}
		if granted.Count != nil {
			// The spec is the truth, also after a shrink. A partial admission is less.
			g.count = min(g.count, int64(*granted.Count))
			for name, quantity := range granted.ResourceUsage {
				if *granted.Count > 0 {
					g.quotaUse[name] = units(name, quantity) / int64(*granted.Count)
				}
			}
		}
		g.count = max(0, g.count-reclaimed[granted.Name])
		if granted.TopologyAssignment != nil {
			g.assigned, g.levels = true, granted.TopologyAssignment.Levels
			g.domains = domainsOf(granted.TopologyAssignment)
		}
		s.groups = append(s.groups, g)
	}
	return s
}

func podRequests(spec *corev1.PodSpec) map[corev1.ResourceName]int64 {
	requests := resourcehelper.PodRequests(&corev1.Pod{Spec: *spec}, resourcehelper.PodResourcesOptions{})
	out := make(map[corev1.ResourceName]int64, len(requests))
	for name, quantity := range requests {
		out[name] = units(name, quantity)
	}
	return out
}

// groupPods files the pods that hold or may hold a node under their group.
func (v *view) groupPods() {
	for i := range v.Pods {
		pod := &v.Pods[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		name := pod.Annotations[kueue.WorkloadSliceNameAnnotation]
		if name == "" {
			name = pod.Annotations[kueue.WorkloadAnnotation]
		}
		if name == "" {
			v.foreign = append(v.foreign, pod)
			continue
		}
		key := podKey{pod.Namespace + "/" + name, kueue.PodSetReference(pod.Labels[podSetLabel])}
		v.pods[key] = append(v.pods[key], pod)
	}
}
