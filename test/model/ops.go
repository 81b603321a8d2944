// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/constants"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

// opKind is something that a user, an administrator or fate does.
type opKind string

const (
	opSubmit       opKind = "submit"
	opResize       opKind = "resize"
	opFinish       opKind = "finish"
	opPriority     opKind = "priority"
	opNodeLost     opKind = "node-lost"
	opNodeNotReady opKind = "node-not-ready"
	opNodeBack     opKind = "node-back"
	opCordon       opKind = "cordon"
	opUncordon     opKind = "uncordon"
	opQuota        opKind = "quota"
	opRestart      opKind = "restart"
	opDrain        opKind = "drain"
	opBadSnapshot  opKind = "bad-snapshot"
	opBadWrite     opKind = "bad-write"
	opImpostor     opKind = "impostor"
	opEditPriority opKind = "edit-priority"
	opTwin         opKind = "twin"
	opDeactivate   opKind = "deactivate"
	opActivate     opKind = "activate"
	opStop         opKind = "stop-queue"
	opResume       opKind = "resume-queues"
)

// op is one step. Its numbers are taken modulo what there is when it runs, so that a
// sequence stays meaningful when steps before it are left out.
type op struct {
	kind opKind
	// target picks the job, node or queue.
	target int
	groups []groupSpec
	// value is a size, a priority or a quota.
	value int
	group int
	fixed bool
	// rounds is how much the controllers get done before the next step; -1 is all.
	rounds int
	// salt feeds the random choices of the step.
	salt uint64
}

type groupSpec struct{ gpus, count int }

func (o op) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s", o.kind)
	switch o.kind {
	case opSubmit:
		kind := "elastic"
		if o.fixed {
			kind = "fixed"
		}
		fmt.Fprintf(&s, " %s queue=%d priority=%d groups=%v", kind, o.target, o.value, o.groups)
	case opResize:
		fmt.Fprintf(&s, " job=%d group=%d to=%d", o.target, o.group, o.value)
	case opPriority, opQuota, opEditPriority:
		fmt.Fprintf(&s, " target=%d group=%d value=%d", o.target, o.group, o.value)
	case opImpostor:
		fmt.Fprintf(&s, " victim=%d elastic=%t", o.group, !o.fixed)
	default:
		fmt.Fprintf(&s, " target=%d", o.target)
	}
	if o.rounds >= 0 {
		fmt.Fprintf(&s, " (then %d rounds only)", o.rounds)
	}
	return s.String()
}

func newOps(r *rand.Rand) []op {
	count := 4 + r.IntN(14)
	ops := make([]op, 0, count)
	// In some sequences few jobs are resized often, in others many jobs compete.
	resizes := pick(r, 20, 40, 80)
	for i := range count {
		o := op{
			target: r.IntN(1 << 16), value: r.IntN(1 << 16), group: r.IntN(1 << 16),
			rounds: -1, salt: r.Uint64(), fixed: r.IntN(4) == 0,
		}
		if r.IntN(3) == 0 {
			o.rounds = r.IntN(6)
		}
		for range pick(r, 1, 1, 1, 2, 2, 3) {
			o.groups = append(o.groups, groupSpec{gpus: pick(r, 1, 1, 1, 1, 2), count: r.IntN(5)})
		}
		o.kind = opSubmit
		if i > 0 {
			o.kind = weighted(r, resizes)
		}
		ops = append(ops, o)
	}
	return ops
}

func weighted(r *rand.Rand, resizes int) opKind {
	table := []struct {
		kind   opKind
		weight int
	}{
		{opSubmit, 28}, {opResize, resizes}, {opFinish, 6}, {opPriority, 4}, {opNodeLost, 3}, {opNodeNotReady, 2},
		{opNodeBack, 4}, {opCordon, 3}, {opUncordon, 3}, {opQuota, 4}, {opRestart, 3}, {opDrain, 6},
		{opBadSnapshot, 2}, {opBadWrite, 2}, {opImpostor, 2}, {opEditPriority, 3}, {opTwin, 6}, {opDeactivate, 3}, {opActivate, 3},
		{opStop, 3}, {opResume, 6},
	}
	total := 0
	for _, e := range table {
		total += e.weight
	}
	n := r.IntN(total)
	for _, e := range table {
		if n -= e.weight; n < 0 {
			return e.kind
		}
	}
	return opSubmit
}

// apply does the step on the API objects.
func (w *world) apply(o op) {
	switch o.kind {
	case opNodeLost, opNodeNotReady, opCordon, opQuota:
		// What was decided before, and is written after, can't know.
		write(w.manager.late)
		w.manager.late = nil
		w.check(false)
	}
	switch o.kind {
	case opSubmit:
		w.submit(o)
		for i := 1; w.setup.bursts && i < len(w.setup.queues); i++ {
			w.submit(o.next(i))
		}
	case opResize:
		w.withJob(o, func(job *rayv1.RayCluster) {
			g := &job.Spec.WorkerGroupSpecs[o.group%len(job.Spec.WorkerGroupSpecs)]
			if job.Annotations[workloadslicing.EnabledAnnotationKey] != "" {
				g.Replicas = ptr.To(int32(o.value % 7))
			}
		})
	case opFinish:
		w.withJob(o, func(job *rayv1.RayCluster) { w.finish(job) })
	case opPriority:
		w.withJob(o, func(job *rayv1.RayCluster) { job.Labels[constants.WorkloadPriorityClassLabel] = priorityClass(o.value) })
	case opNodeLost:
		node := w.setup.nodes[o.target%len(w.setup.nodes)]
		w.api.remove(objectKey{"Node", "", node.name})
	case opNodeBack:
		w.nodeBack(w.setup.nodes[o.target%len(w.setup.nodes)])
	case opNodeNotReady:
		w.changeNode(o, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
		w.evictPodsOfBadNodes()
	case opCordon:
		w.changeNode(o, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	case opUncordon:
		w.changeNode(o, func(n *corev1.Node) { n.Spec.Unschedulable = false })
	case opQuota:
		queue := w.setup.queues[o.target%len(w.setup.queues)]
		change(w.api, "", queue.name, func(cq *kueue.ClusterQueue) {
			flavors := cq.Spec.ResourceGroups[0].Flavors
			f := &flavors[o.group%len(flavors)]
			f.Resources[0].NominalQuota = *resource.NewQuantity(int64(o.value%12), resource.DecimalSI)
		})
	case opRestart:
		w.restart()
	case opDrain:
		w.runtime.endPods(true)
	case opBadSnapshot:
		w.manager.snapshots.failures++
	case opBadWrite:
		w.api.failAfter = o.value % 5
	case opImpostor:
		w.impostor(o)
	case opEditPriority:
		w.editPriority(o)
	case opTwin:
		w.twin(o)
	case opStop, opResume:
		for i, q := range w.setup.queues {
			policy := kueue.None
			if o.kind == opStop && i == o.target%len(w.setup.queues) {
				policy = kueue.HoldAndDrain
			} else if o.kind == opStop {
				continue
			}
			change(w.api, "", q.name, func(cq *kueue.ClusterQueue) { cq.Spec.StopPolicy = &policy })
		}
	case opDeactivate:
		w.editWorkload(o, func(wl *kueue.Workload) { wl.Spec.Active = ptr.To(wl.Status.Admission == nil) })
	case opActivate:
		for _, wl := range all[*kueue.Workload](w.api) {
			change(w.api, wl.Namespace, wl.Name, func(x *kueue.Workload) { x.Spec.Active = ptr.To(true) })
		}
	}
}

// editWorkload edits one of the Workloads that aren't finished.
func (w *world) editWorkload(o op, edit func(*kueue.Workload)) {
	live := slices.DeleteFunc(all[*kueue.Workload](w.api), func(wl *kueue.Workload) bool { return condition(wl, kueue.WorkloadFinished) })
	if len(live) > 0 {
		wl := live[o.target%len(live)]
		change(w.api, wl.Namespace, wl.Name, edit)
	}
}

// twin grows a job and submits another one that asks for the same.
func (w *world) twin(o op) {
	w.withJob(o, func(job *rayv1.RayCluster) {
		if job.Annotations[workloadslicing.EnabledAnnotationKey] == "" {
			return
		}
		g := &job.Spec.WorkerGroupSpecs[o.group%len(job.Spec.WorkerGroupSpecs)]
		g.Replicas = ptr.To(*g.Replicas + 1 + int32(o.value%2))
		other := job.DeepCopy()
		w.jobs++
		other.ObjectMeta = metav1.ObjectMeta{Namespace: job.Namespace, Name: fmt.Sprintf("job%02d", w.jobs), Labels: job.Labels, Annotations: job.Annotations}
		other.Spec.Suspend, other.Status = ptr.To(true), rayv1.RayClusterStatus{}
		for i := range other.Spec.WorkerGroupSpecs {
			clean(&other.Spec.WorkerGroupSpecs[i].Template)
		}
		clean(&other.Spec.HeadGroupSpec.Template)
		if err := w.api.Create(w.ctx, other); err != nil {
			panic(err)
		}
	})
}

// clean takes out of a template what Kueue has put into it.
func clean(t *corev1.PodTemplateSpec) {
	size, plain := t.Spec.Containers[0].Resources.Requests[gpu], t.Annotations[kueue.PodSetUnconstrainedTopologyAnnotation] == ""
	if plain {
		*t = template(corev1.ResourceCPU, 1, false, true)
		return
	}
	*t = template(gpu, size.Value(), true, true)
}

// withJob edits one of the jobs.
func (w *world) withJob(o op, edit func(*rayv1.RayCluster)) {
	jobs := all[*rayv1.RayCluster](w.api)
	if len(jobs) == 0 {
		return
	}
	job := jobs[o.target%len(jobs)]
	if job.DeletionTimestamp != nil {
		return
	}
	next := job.DeepCopy()
	edit(next)
	if _, gone := w.finished[job.Name]; gone {
		return
	}
	change(w.api, job.Namespace, job.Name, func(j *rayv1.RayCluster) { j.Spec, j.Labels = next.Spec, next.Labels })
}

// finish ends a job whose pods have ended, and lets the garbage collector follow.
func (w *world) finish(job *rayv1.RayCluster) {
	w.finished[job.Name] = true
	for _, pod := range podsOf(w.api, job.Name) {
		w.api.remove(keyOf(pod))
	}
	w.api.remove(keyOf(job))
	for _, wl := range all[*kueue.Workload](w.api) {
		if owner := metav1.GetControllerOfNoCopy(wl); owner != nil && owner.UID == job.UID {
			change(w.api, wl.Namespace, wl.Name, func(x *kueue.Workload) { x.DeletionTimestamp = &metav1.Time{Time: w.clk.Now()} })
		}
	}
}

func (w *world) changeNode(o op, edit func(*corev1.Node)) {
	change(w.api, "", w.setup.nodes[o.target%len(w.setup.nodes)].name, edit)
}

func (w *world) nodeBack(n nodeSetup) {
	// The kubelet that comes back ends the pods that were given up meanwhile.
	for _, pod := range all[*corev1.Pod](w.api) {
		if pod.Spec.NodeName == n.name && pod.DeletionTimestamp != nil {
			w.api.remove(keyOf(pod))
		}
	}
	for _, node := range all[*corev1.Node](w.api) {
		if node.Name == n.name {
			change(w.api, "", n.name, func(x *corev1.Node) { x.Status.Conditions[0].Status = corev1.ConditionTrue })
			return
		}
	}
	if err := w.api.Create(w.ctx, n.object()); err != nil {
		panic(err)
	}
}

// evictPodsOfBadNodes is what the node lifecycle controller does after a while.
func (w *world) evictPodsOfBadNodes() {
	bad := map[string]bool{}
	for _, node := range all[*corev1.Node](w.api) {
		bad[node.Name] = node.Status.Conditions[0].Status != corev1.ConditionTrue
	}
	for _, pod := range all[*corev1.Pod](w.api) {
		if bad[pod.Spec.NodeName] && pod.DeletionTimestamp == nil {
			w.runtime.terminate(pod)
		}
	}
}

// submit creates a job as the webhook would leave it.
func (w *world) submit(o op) {
	w.jobs++
	queue := w.setup.queues[o.target%len(w.setup.queues)]
	job := &rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("job%02d", w.jobs),
			Labels:      map[string]string{queueLabel: queue.name, constants.WorkloadPriorityClassLabel: priorityClass(o.value)},
			Annotations: map[string]string{},
		},
		Spec: rayv1.RayClusterSpec{Suspend: ptr.To(true)},
	}
	if !o.fixed {
		job.Annotations[workloadslicing.EnabledAnnotationKey] = workloadslicing.EnabledAnnotationValue
	}
	if w.setup.headsPlain {
		job.Spec.HeadGroupSpec.Template = template(corev1.ResourceCPU, 1, false, !o.fixed)
	} else {
		job.Spec.HeadGroupSpec.Template = template(gpu, 1, true, !o.fixed)
	}
	for i, g := range o.groups {
		count := int32(g.count)
		if o.fixed {
			count = max(1, count)
		}
		job.Spec.WorkerGroupSpecs = append(job.Spec.WorkerGroupSpecs, rayv1.WorkerGroupSpec{
			GroupName: fmt.Sprintf("g%d", i+1), Replicas: ptr.To(count), Template: template(gpu, int64(g.gpus), true, !o.fixed),
		})
	}
	w.constrain(job, w.jobs)
	if err := w.api.Create(w.ctx, job); err != nil {
		panic(err)
	}
}

// next is the submission to the queue that is i further on, by a job of another size and
// priority.
func (o op) next(i int) op {
	o.target, o.value, o.groups = o.target+i, o.value+i, slices.Clone(o.groups)
	for g := range o.groups {
		o.groups[g].count = (o.groups[g].count + i) % 5
	}
	return o
}

func template(name corev1.ResourceName, amount int64, topologyRequest, gated bool) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}, Labels: map[string]string{}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name:      "ray",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{name: *resource.NewQuantity(amount, resource.DecimalSI)}},
		}}},
	}
	if topologyRequest {
		t.Annotations[kueue.PodSetUnconstrainedTopologyAnnotation] = "true"
	}
	if gated {
		t.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kueue.ElasticJobSchedulingGate}}
	}
	return t
}

// editPriority changes the priority of one Workload by hand, a growth that waits if
// there is one. The job reconciler doesn't know of it.
func (w *world) editPriority(o op) {
	var candidates []*kueue.Workload
	for _, wl := range all[*kueue.Workload](w.api) {
		if pending(wl) && wl.Annotations[replacementAnnotation] != "" {
			candidates = append(candidates, wl)
		}
	}
	if len(candidates) == 0 {
		candidates = all[*kueue.Workload](w.api)
	}
	if len(candidates) == 0 {
		return
	}
	wl := candidates[o.target%len(candidates)]
	change(w.api, wl.Namespace, wl.Name, func(x *kueue.Workload) { x.Spec.Priority = ptr.To(priorities[o.value%len(priorities)]) })
}

// impostor submits a Workload of nobody's job that claims to replace a slice.
func (w *world) impostor(o op) {
	var victims []*kueue.Workload
	for _, wl := range all[*kueue.Workload](w.api) {
		if wl.Status.Admission != nil {
			victims = append(victims, wl)
		}
	}
	if len(victims) == 0 {
		return
	}
	victim := victims[o.group%len(victims)]
	w.jobs++
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("impostor%02d", w.jobs),
			Annotations: map[string]string{workloadslicing.WorkloadSliceReplacementFor: victim.Namespace + "/" + victim.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: "impostor", UID: types.UID(fmt.Sprintf("impostor-%d", w.jobs)), Controller: ptr.To(true),
			}},
		},
		Spec: kueue.WorkloadSpec{
			QueueName: victim.Spec.QueueName, Priority: ptr.To(priorities[o.value%len(priorities)]), Active: ptr.To(true),
			PodSets: []kueue.PodSet{{Name: "g1", Count: int32(1 + o.value%4), Template: template(gpu, 1, true, false), TopologyRequest: &kueue.PodSetTopologyRequest{Unconstrained: ptr.To(true)}}},
		},
	}
	if !o.fixed {
		wl.Annotations[workloadslicing.EnabledAnnotationKey] = workloadslicing.EnabledAnnotationValue
		wl.Annotations[kueue.WorkloadSliceNameAnnotation] = wl.Name
	}
	if err := w.api.Create(w.ctx, wl); err != nil {
		panic(err)
	}
}
