// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"fmt"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

const (
	clusterLabel = "ray.io/cluster"
	groupLabel   = "ray.io/group"
	// slowAnnotation marks pods that terminate until the drain operation.
	slowAnnotation = "model/slow"
)

// fakeRuntime imitates what runs the jobs: KubeRay, which makes and removes pods,
// Kueue's ungaters, the kube-scheduler and the kubelets.
type fakeRuntime struct {
	w       *world
	counter int
}

// step does everything that there is to do, and tells whether that was anything.
func (r *fakeRuntime) step() bool {
	before := r.w.api.version
	r.endPods(false)
	for _, job := range all[*rayv1.RayCluster](r.w.api) {
		r.runJob(job)
	}
	r.release()
	return r.w.api.version != before
}

func podsOf(api *fakeAPI, job string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range all[*corev1.Pod](api) {
		if pod.Labels[clusterLabel] == job {
			out = append(out, pod)
		}
	}
	return out
}

// endPods takes the pods away that have terminated; all of them when slow is set.
func (r *fakeRuntime) endPods(slow bool) {
	nodes := map[string]bool{"": true}
	for _, node := range all[*corev1.Node](r.w.api) {
		nodes[node.Name] = true
	}
	for _, pod := range all[*corev1.Pod](r.w.api) {
		gone := !nodes[pod.Spec.NodeName]
		stopped := pod.DeletionTimestamp != nil && (slow || pod.Annotations[slowAnnotation] == "" || pod.Spec.NodeName == "")
		if gone || stopped {
			r.w.api.remove(keyOf(pod))
		}
	}
}

func (r *fakeRuntime) terminate(pod *corev1.Pod) {
	change(r.w.api, pod.Namespace, pod.Name, func(p *corev1.Pod) {
		p.DeletionTimestamp = &metav1.Time{Time: r.w.clk.Now()}
	})
}

// runJob is KubeRay's part: as many pods as each group wants, none when suspended.
func (r *fakeRuntime) runJob(job *rayv1.RayCluster) {
	pods := podsOf(r.w.api, job.Name)
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		for _, pod := range pods {
			if pod.DeletionTimestamp == nil {
				r.terminate(pod)
			}
		}
		if len(pods) == 0 && job.Status.State != rayv1.Suspended {
			r.setState(job, rayv1.Suspended)
		}
		return
	}
	r.scaleGroup(job, pods, "head", &job.Spec.HeadGroupSpec.Template, 1)
	for i := range job.Spec.WorkerGroupSpecs {
		g := &job.Spec.WorkerGroupSpecs[i]
		r.scaleGroup(job, pods, g.GroupName, &g.Template, int(*g.Replicas))
	}
	// Kueue takes a job that isn't ready for one without pods. That an eviction in the
	// first moments of a fixed job gives its quota back too early is known; elastic
	// jobs are looked at pod by pod.
	elastic := job.Annotations[workloadslicing.EnabledAnnotationKey] != ""
	running := !elastic || slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName != "" && p.DeletionTimestamp == nil })
	if running && job.Status.State != rayv1.Ready {
		r.setState(job, rayv1.Ready)
	}
}

func (r *fakeRuntime) setState(job *rayv1.RayCluster, state rayv1.ClusterState) {
	change(r.w.api, job.Namespace, job.Name, func(j *rayv1.RayCluster) { j.Status.State = state })
}

func (r *fakeRuntime) scaleGroup(job *rayv1.RayCluster, pods []*corev1.Pod, group string, template *corev1.PodTemplateSpec, want int) {
	var live []*corev1.Pod
	for _, pod := range pods {
		if pod.Labels[groupLabel] == group && pod.DeletionTimestamp == nil {
			live = append(live, pod)
		}
	}
	for range want - len(live) {
		r.create(job, group, template)
	}
	// Pods that wait go first, then whichever the application is done with.
	slices.SortStableFunc(live, func(a, b *corev1.Pod) int {
		return cmp.Compare(cmp.Compare(b.Spec.NodeName, ""), cmp.Compare(a.Spec.NodeName, ""))
	})
	for len(live) > want {
		i := len(live) - 1
		if live[i].Spec.NodeName != "" {
			i = r.w.rand.IntN(len(live))
		}
		r.terminate(live[i])
		live = slices.Delete(live, i, i+1)
	}
}

func (r *fakeRuntime) create(job *rayv1.RayCluster, group string, template *corev1.PodTemplateSpec) {
	r.counter++
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = job.Namespace, fmt.Sprintf("%s-%s-%03d", job.Name, group, r.counter)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Labels[clusterLabel], pod.Labels[groupLabel] = job.Name, group
	if r.w.rand.IntN(100) < r.w.setup.slow {
		pod.Annotations[slowAnnotation] = "true"
	}
	if err := r.w.api.Create(r.w.ctx, pod); err != nil {
		panic(err)
	}
}

// release is the part of the ungaters and of the kube-scheduler: the pods of an
// admitted slice go to the domains of its assignment while there is room in them.
func (r *fakeRuntime) release() {
	live := map[string]*kueue.Workload{}
	for _, wl := range all[*kueue.Workload](r.w.api) {
		if !apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted) ||
			apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) {
			continue
		}
		name := cmp.Or(wl.Annotations[kueue.WorkloadSliceNameAnnotation], wl.Name)
		if old := live[name]; old == nil || wl.Annotations[replacementAnnotation] == namespace+"/"+old.Name {
			live[name] = wl
		}
	}
	byGroup := map[string][]*corev1.Pod{}
	for _, pod := range all[*corev1.Pod](r.w.api) {
		name := cmp.Or(pod.Annotations[kueue.WorkloadSliceNameAnnotation], pod.Annotations[kueue.WorkloadAnnotation])
		byGroup[name+"/"+pod.Labels[constants.PodSetLabel]] = append(byGroup[name+"/"+pod.Labels[constants.PodSetLabel]], pod)
	}
	for name, wl := range live {
		if apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted) {
			continue
		}
		for i := range wl.Status.Admission.PodSetAssignments {
			psa := &wl.Status.Admission.PodSetAssignments[i]
			r.releaseGroup(wl, psa, int(wl.Spec.PodSets[i].Count), byGroup[name+"/"+string(psa.Name)])
		}
	}
}

const replacementAnnotation = "kueue.x-k8s.io/workload-slice-replacement-for"

func (r *fakeRuntime) releaseGroup(wl *kueue.Workload, psa *kueue.PodSetAssignment, count int, pods []*corev1.Pod) {
	on := map[string]int{}
	var waiting []*corev1.Pod
	held := 0
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			on[pod.Spec.NodeName]++
			held++
		} else if pod.DeletionTimestamp == nil {
			waiting = append(waiting, pod)
		}
	}
	room := count - held
	if psa.TopologyAssignment == nil {
		for i := range min(room, len(waiting)) {
			r.bind(waiting[i], plainNode, nil, nil)
		}
		return
	}
	for domain := range tas.InternalSeqFrom(psa.TopologyAssignment) {
		node := domain.Values[len(domain.Values)-1]
		if slices.ContainsFunc(wl.Status.UnhealthyNodes, func(n kueue.UnhealthyNode) bool { return n.Name == node }) || !r.ready(node) {
			continue
		}
		for range int(domain.Count) - on[node] {
			if room <= 0 || len(waiting) == 0 {
				return
			}
			r.bind(waiting[0], node, psa.TopologyAssignment.Levels, domain.Values)
			waiting, room = waiting[1:], room-1
		}
	}
}

func (r *fakeRuntime) ready(name string) bool {
	for _, node := range all[*corev1.Node](r.w.api) {
		if node.Name == name {
			return node.Status.Conditions[0].Status == corev1.ConditionTrue
		}
	}
	return false
}

func (r *fakeRuntime) bind(pod *corev1.Pod, node string, levels, values []string) {
	change(r.w.api, pod.Namespace, pod.Name, func(p *corev1.Pod) {
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		for i, level := range levels {
			p.Spec.NodeSelector[level] = values[i]
		}
		p.Spec.SchedulingGates, p.Spec.NodeName, p.Status.Phase = nil, node, corev1.PodRunning
	})
}

// recordUnhealthy imitates Kueue's node controller: it writes a node that is gone or
// not ready into the Workloads that use it, and takes a healthy one out again. A
// second bad node evicts.
func recordUnhealthy(api *fakeAPI, name string) {
	healthy := false
	for _, node := range all[*corev1.Node](api) {
		healthy = healthy || node.Name == name && node.Status.Conditions[0].Status == corev1.ConditionTrue
	}
	for _, wl := range all[*kueue.Workload](api) {
		if apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadFinished) ||
			apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted) || wl.Status.Admission == nil {
			continue
		}
		recorded := slices.Contains(wl.Status.UnhealthyNodes, kueue.UnhealthyNode{Name: name})
		if !usesNode(wl, name) || recorded != healthy {
			continue
		}
		change(api, wl.Namespace, wl.Name, func(w *kueue.Workload) {
			switch {
			case healthy:
				w.Status.UnhealthyNodes = slices.DeleteFunc(w.Status.UnhealthyNodes, func(n kueue.UnhealthyNode) bool { return n.Name == name })
			case len(w.Status.UnhealthyNodes) > 0:
				apimeta.SetStatusCondition(&w.Status.Conditions, metav1.Condition{
					Type: kueue.WorkloadEvicted, Status: metav1.ConditionTrue, Reason: kueue.WorkloadEvictedDueToNodeFailures,
					Message: "Workload eviction triggered due to multiple node failures",
				})
				w.Status.UnhealthyNodes = nil
			default:
				w.Status.UnhealthyNodes = append(w.Status.UnhealthyNodes, kueue.UnhealthyNode{Name: name})
			}
		})
	}
}

func usesNode(wl *kueue.Workload, name string) bool {
	for i := range wl.Status.Admission.PodSetAssignments {
		if ta := wl.Status.Admission.PodSetAssignments[i].TopologyAssignment; ta != nil {
			for domain := range tas.InternalSeqFrom(ta) {
				if domain.Values[len(domain.Values)-1] == name {
					return true
				}
			}
		}
	}
	return false
}
