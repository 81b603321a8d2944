// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package kueueadapter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobs/rayjob"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	utiltestingapi "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	testingrayjob "sigs.k8s.io/kueue/pkg/util/testingjobs/rayjob"
	"sigs.k8s.io/kueue/pkg/workloadslicing"

	fleetfeatures "fleet.ai/kueue-fleet/pkg/features"
	"fleet.ai/kueue-fleet/pkg/readinessrecovery"
)

// jobFixture is a RayJob of one head and one worker with its Workload, and the policy
// that looks after it.
type jobFixture struct {
	policy   *jobPolicy
	recorder *utiltesting.EventRecorder
	clock    *testingclock.FakeClock
	job      *rayv1.RayJob
	now      time.Time
}

func newJobFixture(t *testing.T, objects ...client.Object) *jobFixture {
	t.Helper()
	setGates(t, fleetfeatures.FleetReadinessRecovery, fleetfeatures.FleetRayPodReadiness)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	job := testingrayjob.MakeJob("eval", "team").WithSubmissionMode(rayv1.HTTPMode).Obj()
	job.Status.RayClusterName = "cluster"
	cl := utiltesting.NewClientBuilder(rayv1.AddToScheme).
		WithObjects(objects...).
		WithStatusSubresource(&kueue.Workload{}).
		WithIndex(&corev1.Pod{}, clusterOfPod, func(obj client.Object) []string {
			return []string{obj.GetLabels()["ray.io/cluster"]}
		}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge}).
		Build()
	f := &jobFixture{recorder: &utiltesting.EventRecorder{}, clock: testingclock.NewFakeClock(now), job: job, now: now}
	f.policy = &jobPolicy{Adapter: &Adapter{
		client: cl, recorder: f.recorder, clock: f.clock, maxWindow: 2 * time.Hour,
		cluster: readinessrecovery.Settings{Start: 30 * time.Minute, Recovery: 5 * time.Minute},
	}}
	return f
}

func (f *jobFixture) ask(head, workers string) {
	spec := f.job.Spec.RayClusterSpec
	metav1.SetMetaDataAnnotation(&spec.HeadGroupSpec.Template.ObjectMeta, readinessrecovery.RecoveryTimeoutAnnotation, head)
	metav1.SetMetaDataAnnotation(&spec.WorkerGroupSpecs[0].Template.ObjectMeta, readinessrecovery.RecoveryTimeoutAnnotation, workers)
}

// reconcile runs the policy until it has nothing to write, and returns the Workload.
func (f *jobFixture) reconcile(t *testing.T, name string) (*kueue.Workload, metav1.Condition) {
	t.Helper()
	for range 10 {
		wl := f.get(t, name)
		byKueue := metav1.Condition{Type: kueue.WorkloadPodsReady, Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForStart}
		condition, written, err := f.policy.Reconcile(t.Context(), (*rayjob.RayJob)(f.job), wl, byKueue)
		if err != nil {
			t.Fatalf("Reconcile() error = %v", err)
		}
		if !written {
			return f.get(t, name), condition
		}
	}
	t.Fatal("The policy doesn't come to rest")
	return nil, metav1.Condition{}
}

func (f *jobFixture) get(t *testing.T, name string) *kueue.Workload {
	t.Helper()
	var wl kueue.Workload
	if err := f.policy.client.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, &wl); err != nil {
		t.Fatal(err)
	}
	return &wl
}

func rayWorkload(name string, workers int32) *utiltestingapi.WorkloadWrapper {
	return utiltestingapi.MakeWorkload(name, "team").PodSets(
		*utiltestingapi.MakePodSet("head", 1).Obj(),
		*utiltestingapi.MakePodSet("workers-group-0", int(workers)).Obj(),
	)
}

func admitAt(wl *utiltestingapi.WorkloadWrapper, at time.Time) *utiltestingapi.WorkloadWrapper {
	return wl.ReserveQuotaAt(utiltestingapi.MakeAdmission("cq", "head", "workers-group-0").Obj(), at).AdmittedAt(true, at)
}

func podsReadyCondition(status metav1.ConditionStatus, reason string, at time.Time) metav1.Condition {
	return metav1.Condition{Type: kueue.WorkloadPodsReady, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at)}
}

func TestPolicyFollowsTheJob(t *testing.T) {
	f := newJobFixture(t, rayWorkload("wl", 1).Obj())
	f.ask("15s", "15s")
	wl, _ := f.reconcile(t, "wl")
	if diff := cmp.Diff(`{"recovery":{"value":"15s","source":"PodTemplate"}}`, wl.Annotations[readinessrecovery.PolicyAnnotation]); diff != "" {
		t.Errorf("policy (-want,+got):\n%s", diff)
	}

	f.ask("30s", "30s")
	wl, _ = f.reconcile(t, "wl")
	if diff := cmp.Diff(`{"recovery":{"value":"30s","source":"PodTemplate"}}`, wl.Annotations[readinessrecovery.PolicyAnnotation]); diff != "" {
		t.Errorf("policy after a change (-want,+got):\n%s", diff)
	}
	if len(f.recorder.RecordedEvents) > 0 {
		t.Errorf("Unexpected events: %v", f.recorder.RecordedEvents)
	}
}

func TestPolicyStaysWhileAClockRuns(t *testing.T) {
	wl := rayWorkload("wl", 1)
	wl.Annotation(readinessrecovery.PolicyAnnotation, `{"recovery":{"value":"15s","source":"PodTemplate"}}`)
	f := newJobFixture(t)
	admitAt(wl, f.now.Add(-time.Hour)).Condition(podsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, f.now))
	if err := f.policy.client.Create(t.Context(), wl.Obj()); err != nil {
		t.Fatal(err)
	}
	f.ask("1s", "1s")
	got, _ := f.reconcile(t, "wl")
	if diff := cmp.Diff(`{"recovery":{"value":"15s","source":"PodTemplate"}}`, got.Annotations[readinessrecovery.PolicyAnnotation]); diff != "" {
		t.Errorf("policy (-want,+got):\n%s", diff)
	}
}

func TestIgnoredAnnotationIsToldOnce(t *testing.T) {
	f := newJobFixture(t, rayWorkload("wl", 1).Obj())
	f.ask("45s", "15s")
	f.reconcile(t, "wl")
	f.reconcile(t, "wl")
	want := []utiltesting.EventRecord{{
		Key:       client.ObjectKey{Namespace: "team", Name: "wl"},
		EventType: corev1.EventTypeWarning,
		Reason:    ReasonAnnotationIgnored,
		Message: "Annotation fleet.ai/readiness-recovery-timeout has no effect, the cluster's setting applies: " +
			`the PodSets differ: head has "45s", workers-group-0 has "15s"`,
	}}
	if diff := cmp.Diff(want, f.recorder.RecordedEvents); diff != "" {
		t.Errorf("events (-want,+got):\n%s", diff)
	}
}

func TestConditionOfRayJob(t *testing.T) {
	pods := func(readyWorker bool) []client.Object {
		head := worker(ready)
		head.Name, head.Labels["ray.io/node-type"] = "head", "head"
		w := worker(func(pod *corev1.Pod) { pod.Labels["ray.io/group"] = "workers-group-0" })
		if readyWorker {
			ready(w)
		}
		return []client.Object{head, w}
	}
	cases := map[string]struct {
		ready    bool
		previous *metav1.Condition
		evicted  bool
		want     metav1.Condition
	}{
		"all pods run": {
			ready: true,
			want:  metav1.Condition{Status: metav1.ConditionTrue, Reason: kueue.WorkloadStarted, Message: "All pods reached readiness and the workload is running"},
		},
		"a worker is lost": {
			previous: new(podsReadyCondition(metav1.ConditionTrue, kueue.WorkloadStarted, time.Time{})),
			want: metav1.Condition{
				Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForRecovery,
				Message: "At least one pod is not ready any more, waiting for recovery: recovery window 5m, the cluster default",
			},
		},
		"a worker starts": {
			want: metav1.Condition{
				Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForStart,
				Message: "Not all pods are ready or succeeded: start window 30m, the cluster default",
			},
		},
		"an evicted job is left to Kueue": {
			evicted:  true,
			previous: new(podsReadyCondition(metav1.ConditionTrue, kueue.WorkloadStarted, time.Time{})),
			want:     metav1.Condition{Status: metav1.ConditionFalse, Reason: kueue.WorkloadWaitForStart},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newJobFixture(t, pods(tc.ready)...)
			wl := admitAt(rayWorkload("wl", 1), f.now.Add(-time.Hour))
			if tc.previous != nil {
				wl.Condition(*tc.previous)
			}
			if tc.evicted {
				wl.Condition(metav1.Condition{Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: kueue.WorkloadPreempted})
			}
			if err := f.policy.client.Create(t.Context(), wl.Obj()); err != nil {
				t.Fatal(err)
			}
			_, got := f.reconcile(t, "wl")
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "Type", "LastTransitionTime", "ObservedGeneration")); diff != "" {
				t.Errorf("condition (-want,+got):\n%s", diff)
			}
		})
	}
}

func TestSliceInherits(t *testing.T) {
	f := newJobFixture(t)
	lostAt := f.now.Add(-9 * time.Second)
	old := admitAt(rayWorkload("old", 1), f.now.Add(-time.Hour)).
		RequeueState(new(int32(2)), nil).
		Condition(podsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, lostAt))
	growth := rayWorkload("new", 2).
		Annotation(workloadslicing.EnabledAnnotationKey, workloadslicing.EnabledAnnotationValue).
		Annotation(workloadslicing.WorkloadSliceReplacementFor, "team/old").
		Obj()
	if err := f.policy.client.Create(t.Context(), old.Obj()); err != nil {
		t.Fatal(err)
	}
	if err := f.policy.Prepare(t.Context(), (*rayjob.RayJob)(f.job), growth); err != nil {
		t.Fatalf("Prepare() error = %v", err)
	}
	want := `{"kept":{"head":1,"workers-group-0":1},"lostSince":"2026-11-30T11:59:51Z","requeueCount":2}`
	if diff := cmp.Diff(want, growth.Annotations[readinessrecovery.HistoryAnnotation]); diff != "" {
		t.Errorf("history (-want,+got):\n%s", diff)
	}

	growth = admitAt(&utiltestingapi.WorkloadWrapper{Workload: *growth}, f.now).Obj()
	if err := f.policy.client.Create(t.Context(), growth); err != nil {
		t.Fatal(err)
	}
	f.job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(2))
	got, _ := f.reconcile(t, "new")
	if diff := cmp.Diff(int32(2), readinessrecovery.RequeueCount(got)); diff != "" {
		t.Errorf("count of evictions (-want,+got):\n%s", diff)
	}
	condition := apimeta.FindStatusCondition(got.Status.Conditions, kueue.WorkloadPodsReady)
	if condition == nil {
		t.Fatal("There is no PodsReady condition")
	}
	wantCondition := podsReadyCondition(metav1.ConditionFalse, kueue.WorkloadWaitForRecovery, lostAt)
	if diff := cmp.Diff(wantCondition, *condition, cmpopts.IgnoreFields(metav1.Condition{}, "Message", "ObservedGeneration"),
		cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("condition (-want,+got):\n%s", diff)
	}
}

func TestGeneratedSubmitterIsRemembered(t *testing.T) {
	job := func(template *corev1.PodTemplateSpec, mode rayv1.JobSubmissionMode) *rayv1.RayJob {
		return &rayv1.RayJob{Spec: rayv1.RayJobSpec{SubmissionMode: mode, SubmitterPodTemplate: template}}
	}
	known := &readinessrecovery.Policy{Generated: []string{"submitter"}}
	cases := map[string]struct {
		job   client.Object
		known *readinessrecovery.Policy
		want  []string
	}{
		"KubeRay makes the template":                  {job: job(nil, rayv1.K8sJobMode), want: []string{"submitter"}},
		"Kueue has put the template into the job":     {job: job(&corev1.PodTemplateSpec{}, rayv1.K8sJobMode), known: known, want: []string{"submitter"}},
		"the user has written the template":           {job: job(&corev1.PodTemplateSpec{}, rayv1.K8sJobMode)},
		"there is no pod that submits":                {job: job(nil, rayv1.HTTPMode)},
		"a job of another kind has nothing generated": {job: &rayv1.RayCluster{}, known: known},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.known == nil {
				tc.known = &readinessrecovery.Policy{}
			}
			if diff := cmp.Diff(tc.want, generatedPodSets(tc.job, tc.known)); diff != "" {
				t.Errorf("generatedPodSets() (-want,+got):\n%s", diff)
			}
		})
	}
}
