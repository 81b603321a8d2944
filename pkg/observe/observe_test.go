// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/workload"
	"sigs.k8s.io/kueue/pkg/workloadslicing"

	"fleet.ai/kueue-fleet/pkg/metrics"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// world is what Kueue has in memory: two nodes of 8 GPUs in a rack.
type world struct {
	used    [2]int64
	pending []*workload.Info
	reads   int
}

func (w *world) TASDomainUsages() map[kueue.ResourceFlavorReference]schdcache.FlavorDomains {
	w.reads++
	node := func(i int) schdcache.DomainUsage {
		return schdcache.DomainUsage{
			LevelValues: []string{"r", fmt.Sprint("n", i)},
			Capacity:    map[corev1.ResourceName]int64{gpu: 8, corev1.ResourceCPU: 1000, "other.com/nic": 0},
			Usage:       map[corev1.ResourceName]int64{gpu: w.used[i], corev1.ResourceCPU: 10},
		}
	}
	return map[kueue.ResourceFlavorReference]schdcache.FlavorDomains{
		"b300": {Levels: []string{"rack", "host"}, Domains: []schdcache.DomainUsage{node(0), node(1)}},
	}
}

func (w *world) ClusterQueuesUsingFlavor(kueue.ResourceFlavorReference) []kueue.ClusterQueueReference {
	return []kueue.ClusterQueueReference{"training"}
}

func (w *world) PendingWorkloadsInfo(kueue.ClusterQueueReference) []*workload.Info { return w.pending }

func pending(replaces string, pods int32, each int64) *workload.Info {
	wl := &kueue.Workload{}
	if replaces != "" {
		wl.Annotations = map[string]string{workloadslicing.WorkloadSliceReplacementFor: replaces}
	}
	total := resources.NewRequestsFromMap(map[corev1.ResourceName]int64{gpu: each * int64(pods), corev1.ResourceCPU: int64(pods)})
	return &workload.Info{Obj: wl, TotalRequests: []workload.PodSetResources{{Name: "main", Count: pods, Requests: total}, {Name: "head", Count: 0}}}
}

func TestPackingIsMeasured(t *testing.T) {
	const always = `kueue_fleet_packing_allocated{flavor="b300",resource="nvidia.com/gpu"} 9
kueue_fleet_packing_free{flavor="b300",resource="nvidia.com/gpu"} 7
kueue_fleet_packing_largest_free{flavor="b300",level="host",resource="nvidia.com/gpu"} 4
kueue_fleet_packing_largest_free{flavor="b300",level="rack",resource="nvidia.com/gpu"} 7
`
	unusable := func(rack, host int) string {
		return always + fmt.Sprintf("kueue_fleet_packing_unusable{flavor=\"b300\",level=\"host\",resource=\"nvidia.com/gpu\"} %d\n"+
			"kueue_fleet_packing_unusable{flavor=\"b300\",level=\"rack\",resource=\"nvidia.com/gpu\"} %d\n", host, rack)
	}
	cases := map[string]struct {
		pending []*workload.Info
		follows bool
		want    string
	}{
		"nothing waits":                               {want: always},
		"a whole node is waited for":                  {pending: []*workload.Info{pending("", 1, 8)}, want: unusable(7, 7)},
		"the smallest counts":                         {pending: []*workload.Info{pending("", 1, 8), pending("", 1, 3)}, want: unusable(1, 1)},
		"a group that the rack is too small for":      {pending: []*workload.Info{pending("", 2, 4)}, want: unusable(7, 3)},
		"a growth counts with one of its pods":        {pending: []*workload.Info{pending("ns/old", 9, 2)}, want: unusable(1, 1)},
		"a manager that doesn't lead tells nothing":   {pending: []*workload.Info{pending("", 1, 8)}, follows: true},
		"what asks for no device doesn't count as so": {pending: []*workload.Info{pending("", 5, 0)}, want: always},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := &world{used: [2]int64{5, 4}, pending: tc.pending}
			collector := &packingCollector{usage: w, queues: w, leads: func() bool { return !tc.follows }, clock: testingclock.NewFakePassiveClock(time.Now())}
			if diff := cmp.Diff(tc.want, samples(t, collector)); diff != "" {
				t.Errorf("unexpected metrics (-want,+got):\n%s", diff)
			}
		})
	}
}

// samples is what a scrape shows, without the comments.
func samples(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	problems, err := testutil.CollectAndLint(c)
	if err != nil || len(problems) > 0 {
		t.Errorf("the metrics are not as Prometheus wants them: %v %v", err, problems)
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestMeasurementServesForAWhile(t *testing.T) {
	w := &world{}
	now := testingclock.NewFakePassiveClock(time.Now())
	collector := &packingCollector{usage: w, queues: w, leads: func() bool { return true }, clock: now}
	free := func() float64 { return float64(collector.measure()[0].packing.Free) }
	for _, step := range []struct {
		after time.Duration
		used  int64
		want  float64
	}{{0, 0, 16}, {keepFor - 1, 8, 16}, {keepFor, 8, 8}} {
		w.used[0] = step.used
		now.SetTime(now.Now().Add(step.after))
		if got := free(); got != step.want {
			t.Errorf("after %v: %v GPUs are free, want %v", step.after, got, step.want)
		}
	}
	if w.reads != 2 {
		t.Errorf("the cache was read %d times, want 2", w.reads)
	}
}

func TestGrowthWait(t *testing.T) {
	created := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	slice := func(replaces string, conditions ...metav1.Condition) *kueue.Workload {
		wl := pending(replaces, 1, 1).Obj
		wl.CreationTimestamp = metav1.NewTime(created)
		wl.Status.Admission = &kueue.Admission{ClusterQueue: "training"}
		wl.Status.Conditions = conditions
		return wl
	}
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(created.Add(90 * time.Second))}
	}
	admitted := condition(kueue.WorkloadAdmitted, metav1.ConditionTrue)
	cases := map[string]struct {
		old, wl *kueue.Workload
		want    time.Duration
		wantOK  bool
	}{
		"a growth is admitted":         {slice("ns/old"), slice("ns/old", admitted), 90 * time.Second, true},
		"a growth that was admitted":   {slice("ns/old", admitted), slice("ns/old", admitted), 0, false},
		"a growth still waits":         {slice("ns/old"), slice("ns/old"), 0, false},
		"a job starts":                 {slice(""), slice("", admitted), 0, false},
		"a grown job comes back":       {slice("ns/old", condition(kueue.WorkloadEvicted, metav1.ConditionTrue)), slice("ns/old", admitted), 0, false},
		"it was evicted some time ago": {slice("ns/old", condition(kueue.WorkloadEvicted, metav1.ConditionFalse)), slice("ns/old", admitted), 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := growthWait(tc.old, tc.wl)
			if got != tc.want || ok != tc.wantOK {
				t.Errorf("growthWait() = %v, %t, want %v, %t", got, ok, tc.want, tc.wantOK)
			}
			registry := prometheus.NewRegistry()
			resize, err := metrics.NewResize(registry)
			if err != nil {
				t.Fatal(err)
			}
			leads := false
			handler := resizeHandler(resize, func() bool { return leads })
			handler.OnUpdate(tc.old, tc.wl)
			if n := testutil.CollectAndCount(registry, metrics.ResizeAdmission().Name); n != 0 {
				t.Errorf("a manager that doesn't lead told of %d queues", n)
			}
			leads = true
			handler.OnUpdate(tc.old, tc.wl)
			if n := testutil.CollectAndCount(registry, metrics.ResizeAdmission().Name); (n == 1) != tc.wantOK {
				t.Errorf("the histogram has %d queues, want one: %t", n, tc.wantOK)
			}
		})
	}
}

func TestGroupsAreCounted(t *testing.T) {
	leads := true
	collector := newGroupCollector(func() bool { return leads })
	handler := collector.handler()
	job := func(uid types.UID, lines ...string) *rayv1.RayJob {
		return &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{UID: uid, Annotations: map[string]string{workgroup.StatusAnnotation: strings.Join(lines, "\n")}}}
	}
	want := func(want map[workgroup.State]int) {
		t.Helper()
		got := collector.count()
		for state, n := range got {
			if n == 0 {
				delete(got, state)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("unexpected groups (-want,+got):\n%s", diff)
		}
	}
	handler.OnAdd(job("a", "head: Running 1/1", "gpu: Waiting 0/2, no quota"), true)
	handler.OnAdd(job("b", "head: Running 1/1"), false)
	handler.OnAdd(job("c"), false)
	want(map[workgroup.State]int{workgroup.StateRunning: 2, workgroup.StateWaiting: 1})
	handler.OnUpdate(job("a"), job("a", "head: Running 1/1", "gpu: Growing 2/3"))
	want(map[workgroup.State]int{workgroup.StateRunning: 2, workgroup.StateGrowing: 1})
	handler.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: job("a")})
	handler.OnUpdate(job("b"), job("b"))
	want(map[workgroup.State]int{})
	if n := testutil.CollectAndCount(collector); n != len(workgroup.States()) {
		t.Errorf("%d states are told, want all of them", n)
	}
	leads = false
	if n := testutil.CollectAndCount(collector); n != 0 {
		t.Errorf("a manager that doesn't lead tells %d states", n)
	}
}
