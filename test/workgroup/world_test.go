// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/invariant"
	"fleet.ai/kueue-fleet/pkg/workgroup"
)

const (
	gpu = corev1.ResourceName("example.com/gpu")

	poolLabel  = "pool"
	queueLabel = "kueue.x-k8s.io/queue-name"
	queueName  = "lq"
)

var errNoCluster = errors.New("it has no cluster yet")

// world is a namespace with a queue of its own over one node of eight GPUs and one
// of CPUs, and an eye on it that never closes.
type world struct {
	*plane
	t  *testing.T
	ns string

	watcherDone chan struct{}
	violations  chan string
}

// newWorld makes the objects of one test. All names but those of the node groups are
// the test's own, so nothing is left for the next one to trip over.
func newWorld(t *testing.T, p *plane, ns string) *world {
	t.Helper()
	w := &world{plane: p, t: t, ns: ns, watcherDone: make(chan struct{}), violations: make(chan string, 1)}
	topology := "hosts-" + ns
	node := func(name, pool string, resources corev1.ResourceList) *corev1.Node {
		resources[corev1.ResourcePods] = resource.MustParse("50")
		resources[corev1.ResourceMemory] = resource.MustParse("1Ti") // The autoscaler in the head asks for some.
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, poolLabel: pool}},
			Status: corev1.NodeStatus{
				Capacity: resources, Allocatable: resources,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Fake"}},
			},
		}
	}
	flavor := func(name, pool string, topology *kueue.TopologyReference) *kueue.ResourceFlavor {
		return &kueue.ResourceFlavor{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: kueue.ResourceFlavorSpec{
				NodeLabels: map[string]string{poolLabel: pool}, TopologyName: topology,
				Tolerations: []corev1.Toleration{{Key: "fleet", Operator: corev1.TolerationOpExists}},
			},
		}
	}
	quota := func(name, cpus, gpus string) kueue.FlavorQuotas {
		return kueue.FlavorQuotas{Name: kueue.ResourceFlavorReference(name), Resources: []kueue.ResourceQuota{
			{Name: corev1.ResourceCPU, NominalQuota: resource.MustParse(cpus)},
			{Name: corev1.ResourceMemory, NominalQuota: resource.MustParse("1Ti")},
			{Name: gpu, NominalQuota: resource.MustParse(gpus)},
		}}
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
		node("gpu-"+ns, "gpu-"+ns, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), gpu: resource.MustParse("8")}),
		node("cpu-"+ns, "cpu-"+ns, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}),
		&kueue.Topology{
			ObjectMeta: metav1.ObjectMeta{Name: topology},
			Spec:       kueue.TopologySpec{Levels: []kueue.TopologyLevel{{NodeLabel: corev1.LabelHostname}}},
		},
		flavor("gpu-"+ns, "gpu-"+ns, ptr.To(kueue.TopologyReference(topology))),
		flavor("cpu-"+ns, "cpu-"+ns, nil),
		&kueue.ClusterQueue{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec: kueue.ClusterQueueSpec{
				NamespaceSelector: &metav1.LabelSelector{}, QueueingStrategy: kueue.BestEffortFIFO,
				Preemption: &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority},
				ResourceGroups: []kueue.ResourceGroup{{
					CoveredResources: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, gpu},
					Flavors:          []kueue.FlavorQuotas{quota("gpu-"+ns, "100", "8"), quota("cpu-"+ns, "100", "0")},
				}},
			},
		},
		&kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Name: queueName, Namespace: ns}, Spec: kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(ns)}},
	}
	for name, value := range map[string]int32{"q0": 300, "q1": 200, "q2": 100} {
		objects = append(objects, &kueue.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value})
	}
	for _, obj := range objects {
		fresh, isNode := obj.DeepCopyObject().(*corev1.Node)
		w.must(client.IgnoreAlreadyExists(p.client.Create(t.Context(), obj)))
		if isNode {
			// The API server taints new nodes, and no controller is there to untaint them.
			made := obj.(*corev1.Node)
			made.Spec.Taints = nil
			w.must(p.client.Update(t.Context(), made))
			made.Status = fresh.Status
			w.must(p.client.Status().Update(t.Context(), made))
		}
	}
	go w.watch(t.Context())
	t.Cleanup(func() {
		<-w.watcherDone
		select {
		case found := <-w.violations:
			t.Errorf("an invariant was broken:\n%s", found)
		default:
		}
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// watch judges every consistent state that it can get hold of until the test ends.
func (w *world) watch(ctx context.Context) {
	defer close(w.watcherDone)
	checker := invariant.NewChecker()
	for ctx.Err() == nil {
		state, ok := w.state(ctx)
		if !ok {
			continue
		}
		if found := checker.Check(state); len(found) > 0 {
			var lines []string
			for _, violation := range found {
				lines = append(lines, violation.String())
			}
			select {
			case w.violations <- strings.Join(lines, "\n"):
			default:
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// state reads everything, and the Workloads twice: when they changed meanwhile, what
// was read belongs to no one moment.
func (w *world) state(ctx context.Context) (invariant.State, bool) {
	var before, after kueue.WorkloadList
	var pods corev1.PodList
	var nodes corev1.NodeList
	var topologies kueue.TopologyList
	var flavors kueue.ResourceFlavorList
	var queues kueue.ClusterQueueList
	for _, list := range []client.ObjectList{&before, &pods, &nodes, &topologies, &flavors, &queues, &after} {
		if w.client.List(ctx, list) != nil {
			return invariant.State{}, false
		}
	}
	if !maps.Equal(versions(&before), versions(&after)) {
		return invariant.State{}, false
	}
	s := invariant.State{Nodes: nodes.Items, Topologies: topologies.Items, Flavors: flavors.Items}
	for _, wl := range after.Items {
		if wl.Namespace == w.ns {
			s.Workloads = append(s.Workloads, wl)
		}
	}
	for _, pod := range pods.Items {
		if pod.Namespace == w.ns {
			s.Pods = append(s.Pods, pod)
		}
	}
	for _, queue := range queues.Items {
		if queue.Name == w.ns {
			s.ClusterQueues = append(s.ClusterQueues, queue)
		}
	}
	return s, true
}

func versions(list *kueue.WorkloadList) map[types.UID]string {
	out := map[types.UID]string{}
	for i := range list.Items {
		out[list.Items[i].UID] = list.Items[i].ResourceVersion
	}
	return out
}

// eventually waits for a state that is described in words.
func (w *world) eventually(what, want string, get func() string) {
	w.t.Helper()
	got := ""
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, hung, true, func(context.Context) (bool, error) {
		got = get()
		return got == want, nil
	})
	if err != nil {
		w.t.Fatalf("%s:\n got %s\nwant %s\n%s", what, got, want, w.describe())
	}
	select {
	case found := <-w.violations:
		w.t.Fatalf("%s, but an invariant was broken:\n%s\n%s", what, found, w.describe())
	default:
	}
}

// describe is the whole state, for a failed test.
func (w *world) describe() string {
	ctx := context.Background()
	var b strings.Builder
	var jobs rayv1.RayJobList
	_ = w.client.List(ctx, &jobs, client.InNamespace(w.ns))
	for _, job := range jobs.Items {
		fmt.Fprintf(&b, "job %s suspended=%v %s %s\n%s\n", job.Name, job.Spec.Suspend, job.Status.JobDeploymentStatus, job.Status.JobStatus, job.Annotations[workgroup.StatusAnnotation])
	}
	var workloads kueue.WorkloadList
	_ = w.client.List(ctx, &workloads, client.InNamespace(w.ns))
	for _, wl := range workloads.Items {
		fmt.Fprintf(&b, "workload %s count=%d deleted=%v", wl.Name, wl.Spec.PodSets[0].Count, wl.DeletionTimestamp != nil)
		for _, c := range wl.Status.Conditions {
			fmt.Fprintf(&b, " %s=%s(%s: %s)", c.Type, c.Status, c.Reason, c.Message)
		}
		b.WriteString("\n")
	}
	var pods corev1.PodList
	_ = w.client.List(ctx, &pods, client.InNamespace(w.ns))
	for _, pod := range pods.Items {
		fmt.Fprintf(&b, "pod %s gates=%v node=%s phase=%s ready=%v deleted=%v\n", pod.Name, pod.Spec.SchedulingGates, pod.Spec.NodeName, pod.Status.Phase, isReady(&pod), pod.DeletionTimestamp != nil)
	}
	return b.String()
}

// groupShape is a worker group of a test's job.
type groupShape struct {
	name             string
	class            string
	replicas, lo, hi int32
	gpus             int64
}

// job makes a RayJob as a user would write it.
func (w *world) job(name string, groups ...groupShape) *rayv1.RayJob {
	template := func(class string, cpus, gpus int64) corev1.PodTemplateSpec {
		requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI)}
		t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{workgroup.PriorityClassAnnotation: class}}}
		if gpus > 0 {
			requests[gpu] = *resource.NewQuantity(gpus, resource.DecimalSI)
			t.Annotations[kueue.PodSetUnconstrainedTopologyAnnotation] = "true"
		}
		t.Spec = corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers:                    []corev1.Container{{Name: "ray", Image: "ray", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}},
		}
		return t
	}
	spec := &rayv1.RayClusterSpec{
		RayVersion:              "2.49.2",
		EnableInTreeAutoscaling: ptr.To(true),
		HeadGroupSpec:           rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template("q0", 1, 0)},
	}
	for _, g := range groups {
		spec.WorkerGroupSpecs = append(spec.WorkerGroupSpecs, rayv1.WorkerGroupSpec{
			GroupName: g.name, Replicas: &g.replicas, MinReplicas: &g.lo, MaxReplicas: &g.hi, NumOfHosts: 1,
			RayStartParams: map[string]string{}, Template: template(g.class, 1, g.gpus),
		})
	}
	return &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.ns, Labels: map[string]string{queueLabel: queueName},
			Annotations: map[string]string{workgroup.ScopeAnnotation: workgroup.ScopeWorkerGroup},
		},
		Spec: rayv1.RayJobSpec{
			Entrypoint: "python train.py", SubmissionMode: rayv1.HTTPMode, ShutdownAfterJobFinishes: true,
			RayClusterSpec: spec,
		},
	}
}

func (w *world) create(job *rayv1.RayJob) *rayv1.RayJob {
	w.t.Helper()
	w.must(w.client.Create(w.t.Context(), job))
	return job
}

func (w *world) getJob(name string) *rayv1.RayJob {
	job := &rayv1.RayJob{}
	if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.ns, Name: name}, job); err != nil {
		return nil
	}
	return job
}

// status is the state that the job tells of its groups, without the reasons:
// "head Running 1/1, rollout Waiting 0/4".
func (w *world) status(name string) string {
	job := w.getJob(name)
	if job == nil {
		return "gone"
	}
	var lines []string
	for line := range strings.Lines(job.Annotations[workgroup.StatusAnnotation]) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ",")
		lines = append(lines, strings.Replace(line, ":", "", 1))
	}
	return strings.Join(lines, ", ")
}

func (w *world) waitStatus(name, want string) {
	w.t.Helper()
	w.eventually("the groups of "+name, want, func() string { return w.status(name) })
}

// running are the released pods of a job's group that nobody stops, by UID.
func (w *world) running(job, group string) map[types.UID]string {
	var pods corev1.PodList
	w.must(w.client.List(w.t.Context(), &pods, client.InNamespace(w.ns), client.MatchingLabels{workgroup.JobLabel: job}))
	out := map[types.UID]string{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Labels["kueue.x-k8s.io/podset"] == group && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			out[pod.UID] = pod.Name
		}
	}
	return out
}

func (w *world) names(job, group string) []string {
	return slices.Sorted(maps.Values(w.running(job, group)))
}

// keep fails unless all those pods still run.
func (w *world) keep(job, group string, before map[types.UID]string) {
	w.t.Helper()
	now := w.running(job, group)
	for uid, name := range before {
		if _, found := now[uid]; !found {
			w.t.Errorf("pod %s of group %s of %s doesn't run any more", name, group, job)
		}
	}
	if len(before) == 0 {
		w.t.Errorf("group %s of %s had no pods to keep", group, job)
	}
}

// resize does what the autoscaler does: it sets the size of a group and names the
// workers to delete.
func (w *world) resize(job, group string, replicas int32, remove ...string) {
	w.t.Helper()
	w.retry("resize "+group, func() error {
		cluster := &rayv1.RayCluster{}
		if err := w.client.Get(w.t.Context(), w.cluster(job), cluster); err != nil {
			return err
		}
		for i := range cluster.Spec.WorkerGroupSpecs {
			if spec := &cluster.Spec.WorkerGroupSpecs[i]; spec.GroupName == group {
				spec.Replicas = &replicas
				spec.ScaleStrategy.WorkersToDelete = remove
			}
		}
		return w.client.Update(w.t.Context(), cluster)
	})
}

// retry does what a client does about conflicts and a manager that is away.
func (w *world) retry(what string, f func() error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.t.Context(), 50*time.Millisecond, hung, true, func(context.Context) (bool, error) {
		last = f()
		if last == nil || apierrors.IsConflict(last) || apierrors.IsInternalError(last) || apierrors.IsNotFound(last) {
			return last == nil, nil
		}
		return false, last
	})
	if err != nil {
		w.t.Fatalf("failed to %s: %v: %v", what, err, last)
	}
}

func (w *world) cluster(job string) types.NamespacedName {
	w.t.Helper()
	name := ""
	w.retry("find the cluster of "+job, func() error {
		found := &rayv1.RayJob{}
		if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.ns, Name: job}, found); err != nil {
			return err
		}
		if name = found.Status.RayClusterName; name == "" {
			return apierrors.NewConflict(rayv1.Resource("rayclusters"), job, errNoCluster)
		}
		return nil
	})
	return types.NamespacedName{Namespace: w.ns, Name: name}
}

// finish ends the job's program, when it runs.
func (w *world) finish(job string, status rayv1.JobStatus) {
	w.t.Helper()
	w.eventually("the program of "+job, "ended", func() string {
		if w.ray.end(w.cluster(job), status) {
			return "ended"
		}
		return "not submitted"
	})
}

// group returns the unfinished Workloads of a group, the holder of quota first.
func (w *world) group(job, group string) []kueue.Workload {
	w.t.Helper()
	var list kueue.WorkloadList
	w.must(w.client.List(w.t.Context(), &list, client.InNamespace(w.ns), client.MatchingLabels{workgroup.JobLabel: job, workgroup.GroupLabel: group}))
	unfinished := slices.DeleteFunc(list.Items, func(wl kueue.Workload) bool {
		return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished)
	})
	slices.SortFunc(unfinished, func(a, b kueue.Workload) int { return holds(&b) - holds(&a) })
	return unfinished
}

func holds(wl *kueue.Workload) int {
	if apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadQuotaReserved) {
		return 1
	}
	return 0
}

// held is how many pods the group's Workload holds quota for.
func (w *world) held(job, group string) string {
	var total int32
	for _, wl := range w.group(job, group) {
		if holds(&wl) == 1 {
			total += wl.Spec.PodSets[0].Count
		}
	}
	return strconv.Itoa(int(total))
}

// waitNothingLeft waits until no Workload of the job is unfinished, no quota is used
// by it and no pod is there.
func (w *world) waitNothingLeft(jobs ...string) {
	w.t.Helper()
	w.eventually("what is left", "", func() string {
		var left []string
		for _, job := range jobs {
			var workloads kueue.WorkloadList
			w.must(w.client.List(w.t.Context(), &workloads, client.InNamespace(w.ns), client.MatchingLabels{workgroup.JobLabel: job}))
			for _, wl := range workloads.Items {
				if !apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) || len(wl.Finalizers) > 0 {
					left = append(left, "workload "+wl.Name)
				}
			}
			var pods corev1.PodList
			w.must(w.client.List(w.t.Context(), &pods, client.InNamespace(w.ns), client.MatchingLabels{workgroup.JobLabel: job}))
			for _, pod := range pods.Items {
				left = append(left, "pod "+pod.Name)
			}
		}
		return strings.Join(left, " ")
	})
}
