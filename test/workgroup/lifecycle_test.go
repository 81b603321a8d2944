// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/pkg/workgroup"
)

func TestWorkgroup(t *testing.T) {
	p := startPlane(t)
	for _, tc := range []struct {
		name string
		run  func(*world)
	}{
		{name: "the manager is killed at every step", run: managerKilled},
		{name: "jobs are judged", run: judged},
		{name: "only the group of lowest priority is taken", run: preempted},
		{name: "a group that is never admitted keeps nobody waiting", run: neverAdmitted},
		{name: "a shrink holds quota until the pods are gone", run: shrunk},
		{name: "a group is switched off and on, moved and stopped", run: administered},
		{name: "a group is evicted by its own window", run: ownWindow},
		{name: "a job waits for its head without losing time", run: headWaits},
		{name: "a job fails and is tried again", run: retried},
		{name: "jobs are deleted in every state", run: deleted},
		{name: "a cluster is deleted by hand", run: clusterDeleted},
		{name: "a group is evicted while its growth waits", run: evictedWhileGrowing},
		{name: "everybody writes to everything", run: conflicts},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ns := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(tc.name, ",", "")), "-"))
			tc.run(newWorld(t, p, strings.Trim(ns[:min(len(ns), 30)], "-")))
		})
	}
}

// asUser returns a client of somebody who may do everything, and is not the manager.
func (w *world) asUser() client.Client {
	w.t.Helper()
	config := rest.CopyConfig(w.admin)
	config.Impersonate = rest.ImpersonationConfig{UserName: "alice", Groups: []string{"system:masters"}}
	c, err := client.New(config, client.Options{Scheme: w.client.Scheme()})
	w.must(err)
	return c
}

func judged(w *world) {
	user := w.asUser()
	refuse := func(what string, err error, words ...string) {
		w.t.Helper()
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			w.t.Errorf("%s: error %v, want a rejection", what, err)
			return
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				w.t.Errorf("%s: the rejection doesn't say %q: %v", what, word, err)
			}
		}
	}
	rollout := groupShape{name: "rollout", class: "q2", hi: 4, gpus: 1}
	for what, tc := range map[string]struct {
		change func(*rayv1.RayJob)
		words  []string
	}{
		"suspended":         {func(j *rayv1.RayJob) { j.Spec.Suspend = true }, []string{"spec.suspend", "true"}},
		"submitter":         {func(j *rayv1.RayJob) { j.Spec.SubmissionMode = rayv1.K8sJobMode }, []string{"spec.submissionMode", "K8sJobMode", "HTTPMode"}},
		"default submitter": {func(j *rayv1.RayJob) { j.Spec.SubmissionMode = "" }, []string{"spec.submissionMode", "HTTPMode"}},
		"priority on job":   {func(j *rayv1.RayJob) { j.Labels["kueue.x-k8s.io/priority-class"] = "q0" }, []string{"metadata.labels[kueue.x-k8s.io/priority-class]"}},
		"unknown priority": {func(j *rayv1.RayJob) {
			j.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Annotations[workgroup.PriorityClassAnnotation] = "q7"
		}, []string{"ray/kueue-priority-class", "q7"}},
		"too many replicas":   {func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = ptr.To[int32](5) }, []string{"workerGroupSpecs[0].replicas", "5", "4"}},
		"no autoscaler":       {func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.EnableInTreeAutoscaling = nil }, []string{"spec.rayClusterSpec.enableInTreeAutoscaling"}},
		"an unknown scope":    {func(j *rayv1.RayJob) { j.Annotations[workgroup.ScopeAnnotation] = "pods" }, []string{"ray/kueue-admission-scope", "pods", "worker-group"}},
		"the cluster is kept": {func(j *rayv1.RayJob) { j.Spec.ShutdownAfterJobFinishes = false }, []string{"spec.shutdownAfterJobFinishes"}},
	} {
		job := w.job("wrong", rollout)
		tc.change(job)
		refuse(what, user.Create(w.t.Context(), job), tc.words...)
	}

	// A job that doesn't opt in is Kueue's own. It is too large to be admitted.
	native := w.job("native", groupShape{name: "workers", class: "q2", replicas: 1, lo: 1, hi: 1, gpus: 9})
	native.Annotations, native.Spec.RayClusterSpec.EnableInTreeAutoscaling = nil, nil
	w.must(user.Create(w.t.Context(), native))
	if native = w.getJob("native"); native.Annotations[workgroup.ManagedAnnotation] != "" ||
		len(native.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec.SchedulingGates) > 0 {
		w.t.Errorf("a job that didn't opt in was changed: %v", native.ObjectMeta)
	}
	w.eventually("the Workloads of a job that doesn't opt in", "1", func() string {
		var list kueue.WorkloadList
		w.must(w.client.List(w.t.Context(), &list, client.InNamespace(w.ns)))
		return strings.Repeat("1", len(list.Items))
	})
	update := func(name string, change func(*rayv1.RayJob)) error {
		var err error
		w.retry("update "+name, func() error {
			job := w.getJob(name)
			change(job)
			if err = user.Update(w.t.Context(), job); apierrors.IsConflict(err) {
				return err
			}
			return nil
		})
		return err
	}
	refuse("opting in later", update("native", func(j *rayv1.RayJob) {
		j.Annotations = map[string]string{workgroup.ScopeAnnotation: workgroup.ScopeWorkerGroup, workgroup.ManagedAnnotation: "managed"}
	}), "ray/kueue-admission-scope", "created")
	w.must(user.Delete(w.t.Context(), native))

	w.must(user.Create(w.t.Context(), w.job("right", rollout)))
	w.waitStatus("right", "head Running 1/1, rollout Running 0/0")
	refuse("suspending", update("right", func(j *rayv1.RayJob) { j.Spec.Suspend = true }), "spec.suspend", "manager")
	refuse("another queue", update("right", func(j *rayv1.RayJob) { j.Labels[queueLabel] = "other" }), "metadata.labels[kueue.x-k8s.io/queue-name]")
	refuse("out again", update("right", func(j *rayv1.RayJob) { delete(j.Annotations, workgroup.ScopeAnnotation) }), "ray/kueue-admission-scope")
	refuse("other replicas", update("right", func(j *rayv1.RayJob) { j.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = ptr.To[int32](2) }), "spec.rayClusterSpec")
	w.must(update("right", func(j *rayv1.RayJob) { j.Labels["team"] = "a" }))

	var err error
	w.retry("change the cluster", func() error {
		cluster := &rayv1.RayCluster{}
		w.must(w.client.Get(w.t.Context(), w.cluster("right"), cluster))
		cluster.Spec.WorkerGroupSpecs[0].Template.Spec.SchedulingGates = nil
		if err = user.Update(w.t.Context(), cluster); apierrors.IsConflict(err) {
			return err
		}
		return nil
	})
	refuse("a cluster without gates", err, "schedulingGates", workgroup.SchedulingGate)

	w.must(user.Delete(w.t.Context(), w.getJob("right")))
	w.waitNothingLeft("right")
}

// preempted is the life of a decoupled training job beside a gang.
func preempted(w *world) {
	w.create(w.job("rl",
		groupShape{name: "trainer", class: "q1", replicas: 1, lo: 1, hi: 1, gpus: 4},
		groupShape{name: "rollout", class: "q2", hi: 4, gpus: 1}))
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 0/0")
	w.resize("rl", "rollout", 1)
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 1/1")
	first := w.running("rl", "rollout")
	// Growth by more than one.
	w.resize("rl", "rollout", 4)
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 4/4")
	w.keep("rl", "rollout", first)
	w.keepPlaces("rl")

	head, trainer := w.running("rl", "head"), w.running("rl", "trainer")
	w.create(w.job("gang", groupShape{name: "gang", class: "q1", replicas: 2, lo: 2, hi: 2, gpus: 2}))
	w.waitStatus("gang", "head Running 1/1, gang Running 2/2")
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Waiting 0/4")
	w.keep("rl", "head", head)
	w.keep("rl", "trainer", trainer)
	if n := len(w.running("rl", "rollout")); n > 0 {
		w.t.Errorf("%d rollouts run without quota", n)
	}

	w.finish("gang", rayv1.JobStatusSucceeded)
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 4/4")
	w.waitNothingLeft("gang")
	w.keep("rl", "head", head)
	w.keep("rl", "trainer", trainer)
	w.told("rl", "GroupDraining", "GroupWaiting", "GroupRunning")

	w.finish("rl", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("rl")
	// The cluster's last size went with it.
	w.waitStatus("rl", "head Ended 0/1, trainer Ended 0/1, rollout Ended 0/0")
}

// keepPlaces fails unless each worker is where its flavor and its assignment say.
func (w *world) keepPlaces(job string) {
	w.t.Helper()
	var pods corev1.PodList
	w.must(w.client.List(w.t.Context(), &pods, client.InNamespace(w.ns), client.MatchingLabels{workgroup.JobLabel: job}))
	for _, pod := range pods.Items {
		pool := "gpu-" + w.ns
		if pod.Labels["kueue.x-k8s.io/podset"] == "head" {
			pool = "cpu-" + w.ns
		} else if pod.Spec.NodeSelector[corev1.LabelHostname] != pool {
			w.t.Errorf("pod %s has node selector %v, want host %s", pod.Name, pod.Spec.NodeSelector, pool)
		}
		if pod.Spec.NodeSelector[poolLabel] != pool || pod.Spec.NodeName != pool {
			w.t.Errorf("pod %s is on %q with node selector %v, want pool %s", pod.Name, pod.Spec.NodeName, pod.Spec.NodeSelector, pool)
		}
		tolerates := false
		for _, toleration := range pod.Spec.Tolerations {
			tolerates = tolerates || toleration.Key == "fleet"
		}
		if !tolerates {
			w.t.Errorf("pod %s doesn't have the toleration of its flavor: %v", pod.Name, pod.Spec.Tolerations)
		}
	}
}

// told waits for events on the job.
func (w *world) told(job string, reasons ...string) {
	w.t.Helper()
	w.eventually("the events of "+job, "", func() string {
		var list eventsv1.EventList
		w.must(w.client.List(w.t.Context(), &list, client.InNamespace(w.ns)))
		var missing []string
		for _, reason := range reasons {
			found := false
			for _, event := range list.Items {
				found = found || event.Regarding.Kind == "RayJob" && event.Regarding.Name == job && event.Reason == reason
			}
			if !found {
				missing = append(missing, reason)
			}
		}
		return strings.Join(missing, " ")
	})
}

func neverAdmitted(w *world) {
	w.create(w.job("greedy",
		groupShape{name: "huge", class: "q1", replicas: 2, lo: 2, hi: 2, gpus: 8},
		groupShape{name: "small", class: "q2", replicas: 2, lo: 0, hi: 2, gpus: 1}))
	w.waitStatus("greedy", "head Running 1/1, huge Waiting 0/2, small Running 2/2")
	if line := w.getJob("greedy").Annotations[workgroup.StatusAnnotation]; !strings.Contains(line, "quota") {
		w.t.Errorf("the job doesn't say why a group waits:\n%s", line)
	}
	// The program starts all the same.
	w.finish("greedy", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("greedy")
}

func shrunk(w *world) {
	w.create(w.job("eval", groupShape{name: "workers", class: "q2", replicas: 6, lo: 0, hi: 8, gpus: 1}))
	w.waitStatus("eval", "head Running 1/1, workers Running 6/6")
	names := w.names("eval", "workers")
	slow, removed := names[0], names[:4]
	w.kubelet.hold(slow)
	w.resize("eval", "workers", 2, removed...)
	w.eventually("the quota while one pod stops", "3", func() string { return w.held("eval", "workers") })
	// A job that would fit if the pod that stops were free, and doesn't.
	w.create(w.job("next", groupShape{name: "big", class: "q2", replicas: 1, lo: 1, hi: 1, gpus: 6}))
	w.waitStatus("next", "head Running 1/1, big Waiting 0/1")
	if held := w.held("eval", "workers"); held != "3" {
		w.t.Errorf("the group holds quota for %s pods, want 3 while one stops", held)
	}
	w.kubelet.letGo(slow)
	w.waitStatus("eval", "head Running 1/1, workers Running 2/2")
	w.waitStatus("next", "head Running 1/1, big Running 1/1")

	// Growth waits, is given up, and the group goes down to nothing.
	w.resize("eval", "workers", 4)
	w.eventually("the growth", "head Running 1/1, workers Growing 2/4", func() string { return w.status("eval") })
	w.resize("eval", "workers", 0, w.names("eval", "workers")...)
	w.waitStatus("eval", "head Running 1/1, workers Running 0/0")
	w.eventually("the quota of an empty group", "0", func() string { return w.held("eval", "workers") })
	w.resize("eval", "workers", 2)
	w.waitStatus("eval", "head Running 1/1, workers Running 2/2")
	w.finish("next", rayv1.JobStatusSucceeded)
	w.finish("eval", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("eval", "next")
}

func administered(w *world) {
	w.create(w.job("serve", groupShape{name: "replica", class: "q2", replicas: 2, lo: 0, hi: 6, gpus: 1}))
	w.waitStatus("serve", "head Running 1/1, replica Running 2/2")
	head := w.running("serve", "head")

	setActive := func(active bool) {
		w.retry("set spec.active", func() error {
			wl := w.group("serve", "replica")[0]
			wl.Spec.Active = &active
			return w.client.Update(w.t.Context(), &wl)
		})
	}
	setActive(false)
	w.waitStatus("serve", "head Running 1/1, replica Deactivated 0/2")
	setActive(true)
	w.waitStatus("serve", "head Running 1/1, replica Running 2/2")

	w.retry("change the priority", func() error {
		job := w.getJob("serve")
		job.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Annotations[workgroup.PriorityClassAnnotation] = "q1"
		return w.client.Update(w.t.Context(), job)
	})
	w.eventually("the priority of the group", "q1 200", func() string {
		wl := w.group("serve", "replica")[0]
		return wl.Spec.PriorityClassRef.Name + " " + map[int32]string{100: "100", 200: "200"}[*wl.Spec.Priority]
	})
	w.waitStatus("serve", "head Running 1/1, replica Running 2/2")

	w.retry("stop the LocalQueue", func() error {
		lq := &kueue.LocalQueue{}
		if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.ns, Name: queueName}, lq); err != nil {
			return err
		}
		lq.Spec.StopPolicy = ptr.To(kueue.HoldAndDrain)
		return w.client.Update(w.t.Context(), lq)
	})
	w.waitStatus("serve", "head Waiting 0/1, replica Waiting 0/2")
	w.keepNone("serve", "head", head)
	w.retry("open the LocalQueue", func() error {
		lq := &kueue.LocalQueue{}
		if err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: w.ns, Name: queueName}, lq); err != nil {
			return err
		}
		lq.Spec.StopPolicy = ptr.To(kueue.None)
		return w.client.Update(w.t.Context(), lq)
	})
	w.waitStatus("serve", "head Running 1/1, replica Running 2/2")

	w.holdQueue(true)
	running := w.running("serve", "replica")
	w.resize("serve", "replica", 3)
	w.eventually("growth while the queue is held", "head Running 1/1, replica Growing 2/3", func() string { return w.status("serve") })
	w.keep("serve", "replica", running)
	w.must(w.client.Delete(w.t.Context(), w.getJob("serve")))
	w.waitNothingLeft("serve")
}

func (w *world) keepNone(job, group string, before map[types.UID]string) {
	w.t.Helper()
	for uid := range w.running(job, group) {
		if name, found := before[uid]; found {
			w.t.Errorf("pod %s of group %s of %s still runs", name, group, job)
		}
	}
}

func headWaits(w *world) {
	w.holdQueue(true)
	job := w.job("patient", groupShape{name: "workers", class: "q2", replicas: 1, lo: 0, hi: 1, gpus: 1})
	job.Spec.ActiveDeadlineSeconds = ptr.To[int32](120)
	w.create(job)
	w.waitStatus("patient", "head Waiting 0/1, workers Held 0/1")
	if job = w.getJob("patient"); !job.Spec.Suspend {
		w.t.Error("the job isn't suspended while its head waits")
	}
	waiting := job.CreationTimestamp
	// The API server's times are whole seconds.
	w.eventually("the time", "later", func() string {
		if time.Since(waiting.Time) > 2*time.Second {
			return "later"
		}
		return "the same"
	})
	w.holdQueue(false)
	w.waitStatus("patient", "head Running 1/1, workers Running 1/1")
	if started := w.getJob("patient").Status.StartTime; started == nil || !started.After(waiting.Add(time.Second)) {
		w.t.Errorf("the job's time began at %v, and it was created at %v: the wait for the head is counted", started, waiting)
	}
	w.finish("patient", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("patient")
}

// holdQueue stops admissions, or lets them go on, and waits until the manager has
// taken note.
func (w *world) holdQueue(hold bool) {
	w.t.Helper()
	policy, want := kueue.None, "True"
	if hold {
		policy, want = kueue.Hold, "False"
	}
	get := func() (*kueue.ClusterQueue, error) {
		cq := &kueue.ClusterQueue{}
		return cq, w.client.Get(w.t.Context(), types.NamespacedName{Name: w.ns}, cq)
	}
	w.retry("set the stop policy", func() error {
		cq, err := get()
		if err != nil {
			return err
		}
		cq.Spec.StopPolicy = &policy
		return w.client.Update(w.t.Context(), cq)
	})
	w.eventually("the queue is active", want, func() string {
		cq, err := get()
		w.must(err)
		for _, condition := range cq.Status.Conditions {
			if condition.Type == kueue.ClusterQueueActive {
				return string(condition.Status)
			}
		}
		return ""
	})
}
