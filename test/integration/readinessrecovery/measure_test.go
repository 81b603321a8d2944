// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package readinessrecovery

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"

	"fleet.ai/kueue-fleet/pkg/features"
)

// The measurement of what the readiness of pods costs while nothing happens. It is
// not one of the tests: make measure-readiness runs it.
const (
	measuredJobs    = 200
	measuredWorkers = 19
	measuredTime    = time.Minute
)

var _ = ginkgo.Describe("Steady Ray jobs", ginkgo.Label("measure"), func() {
	ginkgo.It("cost no reconciles and no API calls more", func() {
		f := newMeasureFixture()
		off := f.measure("gates off", false)
		on := f.measure("gates on", true)
		for _, m := range []measurement{off, on} {
			fmt.Printf("MEASURED %s: %d RayJobs of %d pods, %s, every pod's status written once: %.0f reconciles, %d API calls\n",
				m.name, measuredJobs, measuredWorkers+1, measuredTime, m.reconciles, m.calls)
		}
		gomega.Expect(on.reconciles).To(gomega.BeNumerically("<=", off.reconciles*1.01))
		gomega.Expect(on.calls).To(gomega.BeNumerically("<=", float64(off.calls)*1.01))
	})
})

type measurement struct {
	name       string
	reconciles float64
	calls      int64
}

type measureFixture struct {
	*fixture
	rays []*fakeRay
}

func newMeasureFixture() *measureFixture {
	stop := startManager()
	defer stop()
	f := &measureFixture{fixture: newFixture()}
	gomega.Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(f.cq), f.cq)).To(gomega.Succeed())
	f.cq.Spec.ResourceGroups[0].Flavors[0] = *utiltestingapi.MakeFlavorQuotas(f.flavor.Name).Resource(corev1.ResourceCPU, "100k").Obj()
	gomega.Expect(k8sClient.Update(ctx, f.cq)).To(gomega.Succeed())
	for i := range measuredJobs {
		job := f.rayJob(fmt.Sprintf("eval-%d", i), recovery, "15s")
		group := &job.Spec.RayClusterSpec.WorkerGroupSpecs[0]
		group.Replicas, group.MaxReplicas = new(int32(measuredWorkers)), new(int32(measuredWorkers))
		f.rays = append(f.rays, f.create(job))
	}
	f.each(func(r *fakeRay) { r.start() })
	f.awaitReady()
	return f
}

// each calls do for all jobs, eight at a time.
func (f *measureFixture) each(do func(*fakeRay)) {
	var wg sync.WaitGroup
	rays := make(chan *fakeRay)
	for range 8 {
		wg.Go(func() {
			defer ginkgo.GinkgoRecover()
			for r := range rays {
				do(r)
			}
		})
	}
	for _, r := range f.rays {
		rays <- r
	}
	close(rays)
	wg.Wait()
}

func (f *measureFixture) awaitReady() {
	gomega.Eventually(func(g gomega.Gomega) {
		var list kueue.WorkloadList
		g.Expect(k8sClient.List(ctx, &list, client.InNamespace(f.ns.Name))).To(gomega.Succeed())
		ready := 0
		for i := range list.Items {
			if apimeta.IsStatusConditionTrue(list.Items[i].Status.Conditions, kueue.WorkloadPodsReady) {
				ready++
			}
		}
		g.Expect(ready).To(gomega.Equal(measuredJobs))
	}, 3*time.Minute, time.Second).Should(gomega.Succeed())
}

// measure counts what a manager does in a minute in which every pod reports something
// that doesn't matter.
func (f *measureFixture) measure(name string, on bool) measurement {
	gomega.Expect(utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.FleetReadinessRecovery): on,
		string(features.FleetRayPodReadiness):   on,
	})).To(gomega.Succeed())
	calls := &atomic.Int64{}
	counted := rest.CopyConfig(cfg)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return countingTransport{next, calls} })
	original := cfg
	cfg = counted
	stop := startManager()
	cfg = original
	defer stop()
	f.awaitReady()
	awaitQuiet(calls)

	before, callsBefore, start := reconciles(), calls.Load(), time.Now()
	f.each(func(r *fakeRay) {
		for _, pod := range r.pods() {
			r.setPodStatus(pod.Name, func(status *corev1.PodStatus) { status.Message = name })
		}
	})
	gomega.Eventually(time.Now, 2*measuredTime, time.Second).Should(gomega.BeTemporally(">=", start.Add(measuredTime)))
	return measurement{name: name, reconciles: reconciles() - before, calls: calls.Load() - callsBefore}
}

// awaitQuiet waits until the manager has made no call for five seconds.
func awaitQuiet(calls *atomic.Int64) {
	last, since := calls.Load(), time.Now()
	gomega.Eventually(func() time.Duration {
		if now := calls.Load(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since)
	}, 2*time.Minute, 100*time.Millisecond).Should(gomega.BeNumerically(">", 5*time.Second))
}

// reconciles returns how many reconciles the controllers of this process have done.
func reconciles() float64 {
	families, err := ctrlmetrics.Registry.Gather()
	gomega.Expect(err).ToNot(gomega.HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() == "controller_runtime_reconcile_total" {
			for _, metric := range family.GetMetric() {
				total += metric.GetCounter().GetValue()
			}
		}
	}
	return total
}

// countingTransport counts requests, apart from those that keep a watch open.
type countingTransport struct {
	http.RoundTripper
	calls *atomic.Int64
}

func (t countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.Contains(req.URL.RawQuery, "watch=true") {
		t.calls.Add(1)
	}
	return t.RoundTripper.RoundTrip(req)
}
