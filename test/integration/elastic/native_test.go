// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

var unconstrained = map[string]string{kueue.PodSetUnconstrainedTopologyAnnotation: "true"}

var _ = ginkgo.Describe("An elastic RayCluster", func() {
	for constrained, three := range map[bool]string{
		false: "n1=1 n2=2", // upstream's choice for two new pods: the fullest node that takes both
		true:  "n1=2 n2=1",
	} {
		with := map[bool]string{false: "without", true: "with"}[constrained]

		ginkgo.It("starts from zero, grows where its assignment says, shrinks to zero and comes back, "+with+" the gate of constraints", func() {
			w := newWorld(constrained, 2, 2)
			w.create(w.cluster("eval", 0, 1, unconstrained))
			w.expectRunning("eval", "")
			gomega.Eventually(func(g gomega.Gomega) {
				g.Expect(w.state(g).Pods).To(gomega.HaveEach(gomega.HaveField("Spec.NodeName", gomega.Not(gomega.BeEmpty()))), "the head runs")
			}, patience, interval).Should(gomega.Succeed())

			w.resize("eval", 1)
			w.expectRunning("eval", "n1=1")
			w.resize("eval", 3)
			w.expectRunning("eval", three)
			w.resize("eval", 0)
			w.expectRunning("eval", "")
			w.resize("eval", 4)
			w.expectRunning("eval", "n1=2 n2=2")
		})
	}

	ginkgo.It("runs what it was granted while a third size waits", func() {
		w := newWorld(false, 3)
		w.create(w.cluster("eval", 1, 1, unconstrained))
		w.expectRunning("eval", "n1=1")
		for _, size := range []int32{2, 3, 5} {
			w.resize("eval", size)
		}
		w.expectWaiting("eval", `topology "racks"`)
		w.resize("eval", 3)
		w.expectRunning("eval", "n1=3")
	})

	ginkgo.It("shrinks at once while a growth waits, and holds the places of pods that stop", func() {
		w := newWorld(false, 4)
		w.create(w.cluster("eval", 3, 1, unconstrained))
		w.expectRunning("eval", "n1=3")
		w.resize("eval", 6)
		w.expectWaiting("eval", "allows to fit only 1 out of 3")

		w.create(w.cluster("next", 3, 1, unconstrained))
		w.expectWaiting("next", "allows to fit only 1 out of 3")
		w.nodes.holds.Store(true)
		w.resize("eval", 1)
		gomega.Consistently(func(g gomega.Gomega) {
			g.Expect(running(w.state(g).Pods, "next")).To(gomega.BeEmpty())
		}, "2s", interval).Should(gomega.Succeed())
		w.nodes.holds.Store(false)
		w.expectRunning("eval", "n1=1")
		w.expectRunning("next", "n1=3")
	})
})
