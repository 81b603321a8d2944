// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/invariant"
)

var (
	requiredRack  = map[string]string{kueue.PodSetRequiredTopologyAnnotation: rackLevel}
	preferredRack = map[string]string{kueue.PodSetPreferredTopologyAnnotation: rackLevel}
	pairsInRacks  = map[string]string{kueue.PodSetSliceRequiredTopologyAnnotation: rackLevel, kueue.PodSetSliceSizeAnnotation: "2"}
)

var _ = ginkgo.Describe("A constrained elastic RayCluster", func() {
	ginkgo.It("is refused without the gate", func() {
		w := newWorld(false, 2)
		for _, annotations := range []map[string]string{requiredRack, preferredRack} {
			gomega.Expect(k8sClient.Create(w.ctx, w.cluster("eval", 1, 1, annotations))).
				To(gomega.MatchError(gomega.ContainSubstring("is not supported for an elastic job")))
		}
	})

	ginkgo.It("stays in its required rack, and waits with the reason when that is full", func() {
		w := newWorld(true, 2, 2, 1, 8)
		w.create(w.cluster("other", 1, 1, requiredRack))
		w.expectRunning("other", "n3=1")
		w.create(w.cluster("eval", 0, 1, requiredRack))
		w.expectRunning("eval", "")
		w.resize("eval", 3)
		w.expectRunning("eval", "n1=2 n2=1")
		w.resize("eval", 4)
		w.expectRunning("eval", "n1=2 n2=2")
		w.resize("eval", 6)
		w.expectWaiting("eval", `keeps the growth in domain "b1,r1" of level "fleet.test/rack", where the job runs: 2 pod(s) asked for, 0 fit`)
		w.resize("eval", 2)
		w.expectPods("eval", 2)
		w.resize("eval", 4)
		w.expectRunning("eval", "n1=2 n2=2")
		w.resize("eval", 0)
		w.expectRunning("eval", "")
		w.resize("eval", 8)
		w.expectRunning("eval", "n4=8")
	})

	ginkgo.It("fills its preferred rack before it spills", func() {
		w := newWorld(true, 2, 2, 1, 8)
		w.create(w.cluster("eval", 2, 1, preferredRack))
		w.expectRunning("eval", "n1=2")
		w.resize("eval", 3)
		w.expectRunning("eval", "n1=2 n2=1")
		w.resize("eval", 6)
		w.expectRunning("eval", "n1=2 n2=2 n3=1 n4=1")
	})

	ginkgo.It("gives way as a whole while it wants to grow, and comes back in its size", func() {
		w := newWorld(true, 2, 2)
		high := map[string]string{"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/priority-class": "high"}
		w.create(w.cluster("eval", 2, 1, requiredRack))
		w.expectRunning("eval", "n1=2")
		other := w.cluster("other", 1, 1, requiredRack)
		other.Labels = high
		w.create(other)
		w.expectRunning("other", "n2=1")
		w.resize("eval", 4)
		w.expectWaiting("eval", `2 pod(s) asked for, 1 fit`)

		urgent := w.cluster("urgent", 3, 1, requiredRack)
		urgent.Labels = high
		w.create(urgent)
		w.expectRunning("urgent", "n1=2 n2=1")
		w.resize("urgent", 0)
		w.expectRunning("urgent", "")
		w.resize("other", 0)
		w.expectRunning("eval", "n1=2 n2=2")
	})
})

var _ = ginkgo.Describe("An elastic RayCluster of two-host replicas", func() {
	ginkgo.It("is refused when a slice is not a replica", func() {
		w := newWorld(true, 2)
		gomega.Expect(k8sClient.Create(w.ctx, w.cluster("eval", 1, 4, pairsInRacks))).
			To(gomega.MatchError(gomega.ContainSubstring(`Invalid value: "2": must be 4, the number of hosts of a replica`)))
	})

	ginkgo.It("has every replica whole in a rack, from zero up and down", func() {
		w := newWorld(true, 2, 1, 2, 2)
		w.create(w.cluster("eval", 0, 2, pairsInRacks))
		w.expectRunning("eval", "")
		w.resize("eval", 1)
		w.expectUnits("eval", 1)
		w.resize("eval", 3)
		w.expectUnits("eval", 3)
		w.resize("eval", 4)
		w.expectWaiting("eval", "doesn't allow to fit any of 1 slice(s)")
		w.expectUnits("eval", 3)
		w.resize("eval", 1)
		w.expectUnits("eval", 1)
		w.resize("eval", 2)
		w.expectUnits("eval", 2)
		w.resize("eval", 0)
		w.expectUnits("eval", 0)
	})

	ginkgo.It("starts a replica as a whole after one of its hosts was lost", func() {
		w := newWorld(true, 2, 0, 2)
		w.create(w.cluster("eval", 2, 2, pairsInRacks))
		w.expectUnits("eval", 2)
		before := w.unitPods(gomega.Default, "eval")
		for _, pods := range before {
			gomega.Expect(k8sClient.Delete(w.ctx, &pods[0])).To(gomega.Succeed())
			break
		}
		gomega.Eventually(func(g gomega.Gomega) {
			kept := 0
			for replica := range w.unitPods(g, "eval") {
				if before[replica] != nil {
					kept++
				}
			}
			g.Expect(kept).To(gomega.Equal(1), "replicas that go on")
		}, patience, interval).Should(gomega.Succeed())
		w.expectUnits("eval", 2)
	})
})

// unitPods returns the workers of each replica.
func (w *world) unitPods(g gomega.Gomega, name string) map[string][]corev1.Pod {
	units := map[string][]corev1.Pod{}
	for _, pod := range w.state(g).Pods {
		if pod.Labels["ray.io/cluster"] == name && pod.Labels["ray.io/group"] == workers {
			replica := pod.Labels[rayutils.RayWorkerReplicaNameKey]
			units[replica] = append(units[replica], pod)
		}
	}
	return units
}

// expectUnits waits until that many replicas of two hosts run, each in one rack, and the
// assignment has as many pods where they run.
func (w *world) expectUnits(name string, want int) {
	ginkgo.GinkgoHelper()
	racks := map[string]string{"n1": "b1,r1", "n2": "b1,r1", "n3": "b1,r2", "n4": "b2,r1"}
	gomega.Eventually(func(g gomega.Gomega) {
		ran := 0
		for replica, pods := range w.unitPods(g, name) {
			if pods[0].Spec.NodeName == "" {
				for _, pod := range pods {
					g.Expect(pod.Spec.NodeName).To(gomega.BeEmpty(), "a part of replica %s runs", replica)
				}
				continue
			}
			g.Expect(pods).To(gomega.HaveLen(2), "replica %s", replica)
			g.Expect(racks[pods[0].Spec.NodeName]).To(gomega.Equal(racks[pods[1].Spec.NodeName]), "replica %s", replica)
			ran++
		}
		g.Expect(ran).To(gomega.Equal(want), "replicas that run")
		state := w.state(g)
		slice := holder(state.Workloads, name)
		g.Expect(slice).NotTo(gomega.BeNil(), "no slice holds quota")
		g.Expect(assigned(slice)).To(gomega.Equal(running(state.Pods, name)))
		g.Expect(invariant.Check(state)).To(gomega.BeEmpty())
	}, patience, interval).Should(gomega.Succeed())
}

// expectPods waits until that many workers run, wherever.
func (w *world) expectPods(name string, want int) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func(g gomega.Gomega) {
		ran := 0
		state := w.state(g)
		for _, pod := range state.Pods {
			if pod.Labels["ray.io/cluster"] == name && pod.Labels["ray.io/group"] == workers && pod.Spec.NodeName != "" {
				ran++
			}
		}
		g.Expect(ran).To(gomega.Equal(want))
		g.Expect(invariant.Check(state)).To(gomega.BeEmpty())
	}, patience, interval).Should(gomega.Succeed())
}
