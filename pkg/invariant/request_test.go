// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestCheckRequests(t *testing.T) {
	rack := func(name string) func(*corev1.Node) bool {
		return func(n *corev1.Node) bool {
			n.Labels["rack"] = name
			return true
		}
	}
	// Two nodes in rack r1, one in r2.
	racks := func(s *State) {
		s.Topologies[0].Spec.Levels = []kueue.TopologyLevel{{NodeLabel: "rack"}, {NodeLabel: corev1.LabelHostname}}
		for name, in := range map[string]string{"n1": "r1", "n2": "r1", "n3": "r2"} {
			node(name, rack(in))(s)
		}
	}
	asks := func(request kueue.PodSetTopologyRequest) option {
		return onJob(func(wl *kueue.Workload) {
			wl.Spec.PodSets[0].TopologyRequest = &request
		})
	}
	required := asks(kueue.PodSetTopologyRequest{Required: new("rack")})
	pairs := asks(kueue.PodSetTopologyRequest{
		PodSetSliceRequiredTopology: new("rack"), PodSetSliceSize: new(int32(2)), SubGroupIndexLabel: new("unit"),
	})
	// ofUnit names the unit of the pods that were added last.
	ofUnit := func(name string, pods int) part {
		return func(s *State) {
			for i := len(s.Pods) - pods; i < len(s.Pods); i++ {
				s.Pods[i].Labels["unit"] = name
			}
		}
	}
	cases := map[string]struct {
		state State
		want  []Rule
	}{
		"RequiredDomain: two nodes of one rack": {
			state: cluster(racks, job("a", grant{"g", 2, on{"n1": 1, "n2": 1}}, required)),
		},
		"RequiredDomain: two racks": {
			state: cluster(racks, job("a", grant{"g", 2, on{"n1": 1, "n3": 1}}, required)),
			want:  []Rule{RequiredDomain},
		},
		"RequiredDomain: nobody knows where a lost node was": {
			state: cluster(racks, node("n3", gone), job("a", grant{"g", 2, on{"n1": 1, "n3": 1}}, required)),
			want:  []Rule{DomainCapacity, DomainPodSlots},
		},
		"UnitSplit: units fill racks": {
			state: cluster(racks, job("a", grant{"g", 4, on{"n1": 1, "n2": 1, "n3": 2}}, pairs),
				runs("a", "g", "n1", 1), ofUnit("u1", 1), runs("a", "g", "n2", 1), ofUnit("u1", 1), runs("a", "g", "n3", 2), ofUnit("u2", 2)),
		},
		"UnitSplit: an assignment has half a unit in each rack": {
			state: cluster(racks, job("a", grant{"g", 2, on{"n1": 1, "n3": 1}}, pairs)),
			want:  []Rule{UnitSplit},
		},
		"UnitSplit: two units exchanged a pod": {
			state: cluster(racks, job("a", grant{"g", 4, on{"n1": 1, "n2": 1, "n3": 2}}, pairs),
				runs("a", "g", "n1", 1), ofUnit("u1", 1), runs("a", "g", "n2", 1), ofUnit("u2", 1),
				runs("a", "g", "n3", 1), ofUnit("u1", 1), runs("a", "g", "n3", 1), ofUnit("u2", 1)),
			want: []Rule{UnitSplit},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := Check(tc.state)
			if diff := cmp.Diff(tc.want, rules(found)); diff != "" {
				t.Errorf("broken rules (-want,+got):\n%s\n%v", diff, found)
			}
		})
	}
}
