// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recorder"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
	"fleet.ai/kueue-fleet/internal/sandbox/simray"
	"fleet.ai/kueue-fleet/internal/sandbox/timeline"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newPlayer(t *testing.T, s *scenario.Scenario, objects ...client.Object) *Player {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}, &corev1.Node{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	clk := clocktesting.NewFakeClock(start)
	return &Player{
		Cluster: Cluster{Client: c, Clock: clk}, scenario: s, start: start, jobs: map[string]types.NamespacedName{}, deleted: map[string]bool{},
		recorder: recorder.New(recording.Recording{Started: start}, nil, simray.NewLedger(), fleet.GPUResource, func(timeline.Event) {}),
	}
}

func TestDueTime(t *testing.T) {
	p := newPlayer(t, &scenario.Scenario{TimeScale: 10})
	p.recorder.Note(start.Add(2*time.Second), "go", "", "off")
	seconds := func(s int) scenario.Duration { return scenario.Duration(time.Duration(s) * time.Second) }
	now := start.Add(5 * time.Second)
	cases := map[string]struct {
		trigger scenario.Trigger
		want    time.Duration // since the start; below 0 is not yet known
	}{
		"at the start":                  {scenario.Trigger{}, 0},
		"at a time of the story":        {scenario.Trigger{At: seconds(70)}, 7 * time.Second},
		"later than that":               {scenario.Trigger{At: seconds(70), Delay: seconds(10)}, 8 * time.Second},
		"when something has happened":   {scenario.Trigger{When: &scenario.Condition{Event: "go"}}, 5 * time.Second},
		"a while after it":              {scenario.Trigger{When: &scenario.Condition{Event: "go"}, Delay: seconds(20)}, 7 * time.Second},
		"when something has not so far": {scenario.Trigger{When: &scenario.Condition{Event: "stop"}}, -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := p.dueTime(tc.trigger, now)
			if tc.want < 0 != got.IsZero() || tc.want >= 0 && !got.Equal(start.Add(tc.want)) {
				t.Errorf("due at %v, want %v after %v", got, tc.want, start)
			}
		})
	}
}

func TestProvideMakesWhatIsMounted(t *testing.T) {
	p := newPlayer(t, &scenario.Scenario{})
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "job", "namespace": "ns"},
		"spec": map[string]any{"groups": []any{
			map[string]any{"template": map[string]any{"spec": map[string]any{"volumes": []any{
				map[string]any{"name": "a", "configMap": map[string]any{"name": "app"}},
				map[string]any{"name": "b", "persistentVolumeClaim": map[string]any{"claimName": "shared"}},
				map[string]any{"name": "c", "secret": map[string]any{"secretName": "token"}},
				map[string]any{"name": "d", "emptyDir": map[string]any{}},
			}}}},
		}},
	}}
	ctx := context.Background()
	for range 2 { // A second job may mount the same.
		if err := p.provide(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	var claim corev1.PersistentVolumeClaim
	var volume corev1.PersistentVolume
	for name, object := range map[types.NamespacedName]client.Object{
		key("app"): &corev1.ConfigMap{}, key("token"): &corev1.Secret{}, key("shared"): &claim, {Name: "ns-shared"}: &volume,
	} {
		if err := p.Client.Get(ctx, name, object); err != nil {
			t.Error(err)
		}
	}
	// What the scheduler looks at.
	if claim.Spec.VolumeName != volume.Name || claim.Annotations["pv.kubernetes.io/bind-completed"] == "" || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.Name != "shared" {
		t.Errorf("claim %+v and volume %+v are not bound", claim.Spec, volume.Spec)
	}
}

func TestExpectations(t *testing.T) {
	done := recording.Job{Name: "a", Result: "Succeeded", ItemsTotal: 3, ItemsDone: 3}
	cases := map[string]struct {
		expect  scenario.Expectation
		job     recording.Job
		want    bool
		wantGot string
	}{
		"all done":           {scenario.Succeeds, done, true, "Succeeded, 3 of 3 items done, 0 committed again"},
		"work is missing":    {scenario.Succeeds, recording.Job{Name: "a", Result: "Succeeded", ItemsTotal: 3, ItemsDone: 2}, false, "Succeeded, 2 of 3 items done, 0 committed again"},
		"committed again":    {scenario.Succeeds, recording.Job{Name: "a", Result: "Succeeded", ItemsTotal: 3, ItemsDone: 3, ItemsRepeated: 1}, false, "Succeeded, 3 of 3 items done, 1 committed again"},
		"not over":           {scenario.Succeeds, recording.Job{Name: "a", ItemsTotal: 3}, false, "not finished, 0 of 3 items done, 0 committed again"},
		"failed, as it must": {scenario.Fails, recording.Job{Name: "a", Result: "Failed"}, true, "Failed"},
		"done, but must not": {scenario.Fails, done, false, "Succeeded"},
		"refused":            {scenario.Rejected, recording.Job{Name: "a", Rejected: "no"}, true, "no"},
		"accepted":           {scenario.Rejected, done, false, "accepted"},
		"never submitted":    {scenario.Succeeds, recording.Job{Name: "b"}, false, "it was not submitted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, &scenario.Scenario{Jobs: []scenario.Job{{Name: "a", Expect: tc.expect}, {Name: "x", Expect: scenario.Whatever}}})
			got := p.expectations(&recording.Recording{Jobs: []recording.Job{tc.job}})
			if len(got) != 1 || got[0].Passed != tc.want || got[0].Got != tc.wantGot {
				t.Errorf("got %+v, want passed %v and %q", got, tc.want, tc.wantGot)
			}
		})
	}
}

func TestManyJobsOfAClassShareACheck(t *testing.T) {
	s, rec := &scenario.Scenario{}, &recording.Recording{}
	for i := range 12 {
		name := fmt.Sprintf("training-%d", i+1)
		s.Jobs = append(s.Jobs, scenario.Job{Name: name, Class: "training", Expect: scenario.Succeeds})
		rec.Jobs = append(rec.Jobs, recording.Job{Name: name, Result: "Succeeded"})
	}
	s.Jobs = append(s.Jobs, scenario.Job{Name: "other", Class: "evals", Expect: scenario.Succeeds}, scenario.Job{Name: "bad", Class: "training", Expect: scenario.Fails})
	rec.Jobs = append(rec.Jobs, recording.Job{Name: "other", Result: "Succeeded"}, recording.Job{Name: "bad", Result: "Failed"})
	rec.Jobs[3].Result = "Failed"
	var got []string
	for _, check := range newPlayer(t, s).expectations(rec) {
		got = append(got, fmt.Sprintf("%s: %v", check.Name, check.Passed))
	}
	want := []string{"all 12 jobs of training end as expected: false", "other succeeds: true", "bad fails: true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks (-want,+got):\n%s", diff)
	}
}

func TestManyJobsShareACheck(t *testing.T) {
	p := newPlayer(t, &scenario.Scenario{Jobs: []scenario.Job{{Name: "a", Copies: 20, Expect: scenario.Succeeds}}})
	rec := &recording.Recording{}
	for i := range 20 {
		rec.Jobs = append(rec.Jobs, recording.Job{Name: fmt.Sprintf("a-%d", i+1), Result: "Succeeded"})
	}
	rec.Jobs[4].Result = "Failed"
	got := p.expectations(rec)
	if len(got) != 1 || got[0].Passed || got[0].Got != "1 do not" || len(got[0].Evidence) != 1 || !strings.HasPrefix(got[0].Evidence[0], "a-5 succeeds: Failed") {
		t.Errorf("got %+v", got)
	}
}

func TestPassed(t *testing.T) {
	good := recording.Check{Passed: true}
	for name, tc := range map[string]struct {
		rec  recording.Recording
		want bool
	}{
		"all checks":   {recording.Recording{Checks: []recording.Check{good, good}}, true},
		"one does not": {recording.Recording{Checks: []recording.Check{good, {}}}, false},
		"an invariant": {recording.Recording{Checks: []recording.Check{good}, Violations: []recording.Violation{{}}}, false},
	} {
		if got := Passed(&tc.rec); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// see lets the recorder know of a pod of job a.
func see(p *Player, pod *corev1.Pod, at int) {
	p.recorder.Observe(timeline.Observation{At: start.Add(time.Duration(at) * time.Second), Object: pod})
}

func TestEventsOnPodsAndNodes(t *testing.T) {
	ctx := context.Background()
	conditions := func() []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	pod := func(name, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)},
			Spec:       corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: conditions()},
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	older, younger, other := pod("older", "n1"), pod("younger", "n1"), pod("other", "n2")
	p := newPlayer(t, &scenario.Scenario{TimeScale: 1}, older, younger, other, node)
	for i, object := range []*corev1.Pod{older, younger} {
		see(p, object, i)
	}
	p.recorder.Read(func(rec *recording.Recording) {
		for i := range rec.Pods {
			rec.Pods[i].Job = "a"
		}
	})
	get := func(name string) *corev1.Pod {
		t.Helper()
		got := &corev1.Pod{}
		if err := p.Client.Get(ctx, types.NamespacedName{Namespace: "ns", Name: name}, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	cause := func(e scenario.Event) {
		t.Helper()
		if err := p.cause(ctx, &e); err != nil {
			t.Fatal(err)
		}
	}

	cause(scenario.Event{Name: "stall", StallPods: &scenario.Target{Job: "a", Pods: 1}})
	if a, b := get("older").Status.Conditions[0].Status, get("younger").Status.Conditions[0].Status; a != corev1.ConditionTrue || b != corev1.ConditionFalse {
		t.Errorf("after a stall of one the older is %s and the younger %s", a, b)
	}
	cause(scenario.Event{Name: "recover", RecoverPods: &scenario.Target{Job: "a", Pods: 1}})
	if status := get("younger").Status.Conditions[0].Status; status != corev1.ConditionTrue {
		t.Errorf("after the recovery it is %s", status)
	}
	cause(scenario.Event{Name: "hold", HoldPods: &scenario.Target{Job: "a"}})
	if got := get("older").Finalizers; len(got) != 1 || got[0] != fleet.HoldFinalizer {
		t.Errorf("a held pod has finalizers %v", got)
	}
	cause(scenario.Event{Name: "release", ReleasePods: &scenario.Target{Job: "a"}})
	if got := get("older").Finalizers; len(got) != 0 {
		t.Errorf("a pod that was let go has finalizers %v", got)
	}
	cause(scenario.Event{Name: "lose", LoseNode: &scenario.NodeTarget{NodeOf: "a"}})
	lost := &corev1.Node{}
	if err := p.Client.Get(ctx, types.NamespacedName{Name: "n1"}, lost); err != nil {
		t.Fatal(err)
	}
	if lost.Labels[fleet.LostLabel] == "" || lost.Status.Conditions[0].Status != corev1.ConditionUnknown || get("older").Labels[fleet.LostLabel] == "" || get("other").Labels[fleet.LostLabel] != "" {
		t.Errorf("after its loss the node is %+v with pod %v", lost.Status.Conditions, get("older").Labels)
	}
	if a, b := get("older").Status.Conditions[0].Status, get("other").Status.Conditions[0].Status; a != corev1.ConditionFalse || b != corev1.ConditionTrue {
		t.Errorf("after its loss its pod is %s, one of another node %s", a, b)
	}
	cause(scenario.Event{Name: "restore", RestoreNode: &scenario.NodeTarget{NodeOf: "a"}})
	if got := get("older"); got.Status.Phase != corev1.PodFailed || got.Labels[fleet.LostLabel] != "" {
		t.Errorf("after the node's restart its pod is %s with %v", got.Status.Phase, got.Labels)
	}
	cause(scenario.Event{Name: "cordon", Cordon: &scenario.NodeTarget{Node: "n1"}})
	if err := p.Client.Get(ctx, types.NamespacedName{Name: "n1"}, lost); err != nil || !lost.Spec.Unschedulable || lost.Labels[fleet.LostLabel] != "" {
		t.Errorf("the cordoned node is %+v, %v", lost.Spec, err)
	}
	if err := p.cause(ctx, &scenario.Event{Name: "too-many", StallPods: &scenario.Target{Job: "a", Pods: 3}}); err == nil ||
		!strings.Contains(err.Error(), "failed to cause event too-many: job a has 2 such pods, 3 are asked for") {
		t.Errorf("too many pods gave %v", err)
	}
	names := []string{}
	for _, e := range p.recorder.Snapshot().Events {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"stall", "recover", "hold", "release", "lose", "restore", "cordon"}, names); diff != "" {
		t.Errorf("events (-want,+got):\n%s", diff)
	}
	if ptr.Deref(p.recorder.Snapshot().Pods[0].Ready, -1) < 0 {
		t.Error("the recorder does not know that the pods were ready")
	}
}
