// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestHeadroom(t *testing.T) {
	member := func(name string, nominal, used int64, lending, borrowing *int64) kueue.ClusterQueue {
		q := kueue.ResourceQuota{Name: gpu, NominalQuota: *resource.NewQuantity(nominal, resource.DecimalSI)}
		if lending != nil {
			q.LendingLimit = resource.NewQuantity(*lending, resource.DecimalSI)
		}
		if borrowing != nil {
			q.BorrowingLimit = resource.NewQuantity(*borrowing, resource.DecimalSI)
		}
		return kueue.ClusterQueue{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: kueue.ClusterQueueSpec{CohortName: "all", ResourceGroups: []kueue.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{gpu}, Flavors: []kueue.FlavorQuotas{{Name: "b300", Resources: []kueue.ResourceQuota{q}}},
			}}},
			Status: kueue.ClusterQueueStatus{FlavorsReservation: []kueue.FlavorUsage{{Name: "b300", Resources: []kueue.ResourceUsage{
				{Name: gpu, Total: *resource.NewQuantity(used, resource.DecimalSI)},
			}}}},
		}
	}
	cases := map[string]struct {
		queues  []kueue.ClusterQueue
		cohorts []kueue.Cohort
		want    int64
	}{
		"what others leave can be borrowed":             {[]kueue.ClusterQueue{member("a", 8, 6, nil, nil), member("b", 8, 3, nil, nil)}, nil, 7},
		"what others borrowed is gone":                  {[]kueue.ClusterQueue{member("a", 8, 0, nil, nil), member("b", 8, 12, nil, nil)}, nil, 4},
		"a borrowing limit holds":                       {[]kueue.ClusterQueue{member("a", 8, 6, nil, ptr.To[int64](1)), member("b", 8, 0, nil, nil)}, nil, 3},
		"what a member doesn't lend stays with it":      {[]kueue.ClusterQueue{member("a", 8, 8, nil, nil), member("b", 8, 0, ptr.To[int64](2), nil)}, nil, 2},
		"what a member keeps is used first":             {[]kueue.ClusterQueue{member("a", 8, 8, nil, nil), member("b", 8, 6, ptr.To[int64](2), nil)}, nil, 2},
		"a queue alone in its cohort has its own quota": {[]kueue.ClusterQueue{member("a", 8, 5, nil, nil)}, nil, 3},
		"the parent's quota counts": {
			[]kueue.ClusterQueue{member("a", 8, 8, nil, nil)},
			[]kueue.Cohort{
				{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: kueue.CohortSpec{ParentName: "root"}},
				{ObjectMeta: metav1.ObjectMeta{Name: "root"}, Spec: kueue.CohortSpec{ResourceGroups: member("", 4, 0, nil, nil).Spec.ResourceGroups}},
			},
			4,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &State{ClusterQueues: tc.queues, Cohorts: tc.cohorts}
			if got := s.headroom(&s.ClusterQueues[0], "b300", gpu).Free; got != tc.want {
				t.Errorf("%d free, want %d", got, tc.want)
			}
		})
	}
}
