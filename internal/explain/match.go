// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// untolerated returns a taint that keeps pods away; nil if there is none.
func untolerated(taints []corev1.Taint, tolerations []corev1.Toleration) *corev1.Taint {
	hard := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	taint, found := schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), taints, tolerations, hard, false)
	if !found {
		return nil
	}
	return &taint
}

// goesTo says whether pods with the spec may go to the node when they were given
// the flavor.
func goesTo(spec *corev1.PodSpec, flavor *kueue.ResourceFlavor, node *corev1.Node) bool {
	if untolerated(node.Spec.Taints, slices.Concat(spec.Tolerations, flavor.Spec.Tolerations)) != nil {
		return false
	}
	match, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}).Match(node)
	return err == nil && match
}

// labelKeys are the labels by which the flavors of a group are told apart. As for
// the scheduler, what pods say of other labels has no say in the choice of a flavor.
func (s *State) labelKeys(group *kueue.ResourceGroup) map[string]bool {
	out := map[string]bool{}
	for i := range group.Flavors {
		if flavor := s.flavor(group.Flavors[i].Name); flavor != nil {
			for key := range flavor.Spec.NodeLabels {
				out[key] = true
			}
		}
	}
	return out
}

// selects says whether the pods' node selector and affinity agree with a flavor, as
// far as the labels in keys go.
func selects(spec *corev1.PodSpec, flavor *kueue.ResourceFlavor, keys map[string]bool) bool {
	pod := corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{}}}
	maps.Copy(pod.Spec.NodeSelector, spec.NodeSelector)
	maps.DeleteFunc(pod.Spec.NodeSelector, func(key, _ string) bool { return !keys[key] })
	if affinity := spec.Affinity; affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		var terms []corev1.NodeSelectorTerm
		for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			var kept corev1.NodeSelectorTerm
			for _, expression := range term.MatchExpressions {
				if keys[expression.Key] {
					kept.MatchExpressions = append(kept.MatchExpressions, expression)
				}
			}
			if len(kept.MatchExpressions) == 0 {
				// One of the terms is enough, and this one asks nothing of flavors.
				terms = nil
				break
			}
			terms = append(terms, kept)
		}
		if terms != nil {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
			}}
		}
	}
	match, err := nodeaffinity.GetRequiredNodeAffinity(&pod).Match(&corev1.Node{ObjectMeta: objectMeta(flavor)})
	return err == nil && match
}
