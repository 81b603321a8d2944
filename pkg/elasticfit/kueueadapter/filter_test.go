// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
)

func TestFilterExclusion(t *testing.T) {
	node := func(taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"kind": "a"}},
			Spec:       corev1.NodeSpec{Taints: taints},
		}
	}
	taint := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	inKind := func(value string) *corev1.NodeAffinity {
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kind", Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
	}
	cases := map[string]struct {
		request schdcache.FitRequest
		flavor  []corev1.Toleration
		node    any
		want    string
	}{
		"a plain node takes a plain pod":              {node: node()},
		"a leaf that is no node takes any pod":        {request: schdcache.FitRequest{NodeSelector: map[string]string{"kind": "b"}}},
		"a taint keeps pods away":                     {node: node(taint), want: `taint "gpu=yes:NoSchedule"`},
		"a toleration of the pod lets it in":          {request: schdcache.FitRequest{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}}, node: node(taint)},
		"a toleration of the flavor lets it in":       {flavor: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, node: node(taint)},
		"another label is wanted":                     {request: schdcache.FitRequest{NodeSelector: map[string]string{"kind": "b"}}, node: node(), want: "nodeSelector"},
		"the wanted label is there":                   {request: schdcache.FitRequest{NodeSelector: map[string]string{"kind": "a"}}, node: node()},
		"an affinity to other nodes":                  {request: schdcache.FitRequest{NodeAffinity: inKind("b")}, node: node(), want: "affinity"},
		"an affinity to the node":                     {request: schdcache.FitRequest{NodeAffinity: inKind("a")}, node: node()},
		"the taint is named before the label is seen": {request: schdcache.FitRequest{NodeSelector: map[string]string{"kind": "b"}}, node: node(taint), want: `taint "gpu=yes:NoSchedule"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &flavor{nodes: true, tolerations: tc.flavor}
			filter, err := f.filter(&tc.request)
			if err != nil {
				t.Fatalf("Unexpected error: %v", err)
			}
			if got := filter.Exclusion(tc.node); got != tc.want {
				t.Errorf("Unexpected exclusion %q, want %q", got, tc.want)
			}
			again, err := f.filter(&tc.request)
			if err != nil || again != filter {
				t.Errorf("The filter was made twice, error %v", err)
			}
		})
	}
}

func TestFilterKeysTellRequestsApart(t *testing.T) {
	requests := map[string]schdcache.FitRequest{
		"nothing":            {},
		"a label":            {NodeSelector: map[string]string{"a": "b"}},
		"another value":      {NodeSelector: map[string]string{"a": "c"}},
		"two labels":         {NodeSelector: map[string]string{"a": "b", "c": "d"}},
		"a toleration":       {Tolerations: []corev1.Toleration{{Key: "a", Value: "b"}}},
		"a toleration's key": {Tolerations: []corev1.Toleration{{Key: "ab"}}},
		"two tolerations":    {Tolerations: []corev1.Toleration{{Key: "a"}, {Key: "b"}}},
	}
	seen := map[string]string{}
	for name, request := range requests {
		key := filterKey(&request, nil)
		if other, found := seen[key]; found {
			t.Errorf("%q and %q have the same key", name, other)
		}
		seen[key] = name
	}
}
