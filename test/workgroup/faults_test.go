// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package workgroup

import (
	"context"
	"strconv"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func retried(w *world) {
	job := w.job("flaky", groupShape{name: "workers", class: "q2", replicas: 2, lo: 2, hi: 2, gpus: 1})
	job.Spec.BackoffLimit = ptr.To[int32](1)
	w.create(job)
	w.waitStatus("flaky", "head Running 1/1, workers Running 2/2")
	first, pods := w.cluster("flaky"), w.running("flaky", "workers")
	w.finish("flaky", rayv1.JobStatusFailed)
	w.eventually("the second attempt", "another cluster", func() string {
		if name := w.getJob("flaky").Status.RayClusterName; name != "" && name != first.Name {
			return "another cluster"
		}
		return "the same cluster"
	})
	w.eventually("the pods of the second attempt", "2", func() string {
		if w.keepNoneQuiet("flaky", "workers", pods) {
			return strings.Repeat("2", len(w.running("flaky", "workers"))/2)
		}
		return "of the first"
	})
	w.waitStatus("flaky", "head Running 1/1, workers Running 2/2")
	w.finish("flaky", rayv1.JobStatusFailed)
	w.waitNothingLeft("flaky")

	late := w.job("late", groupShape{name: "workers", class: "q2", replicas: 1, lo: 1, hi: 1, gpus: 1})
	late.Spec.ActiveDeadlineSeconds = ptr.To[int32](5)
	late.Spec.TTLSecondsAfterFinished = 1
	w.create(late)
	w.eventually("the deadline", "DeadlineExceeded", func() string { return string(w.getJob("late").Status.Reason) })
	w.waitNothingLeft("late")
}

func (w *world) keepNoneQuiet(job, group string, before map[types.UID]string) bool {
	for uid := range w.running(job, group) {
		if _, found := before[uid]; found {
			return false
		}
	}
	return true
}

func deleted(w *world) {
	// While the head waits.
	w.holdQueue(true)
	w.create(w.job("held", groupShape{name: "workers", class: "q2", replicas: 1, lo: 0, hi: 1, gpus: 1}))
	w.waitStatus("held", "head Waiting 0/1, workers Held 0/1")
	w.must(w.client.Delete(w.t.Context(), w.getJob("held")))
	w.waitNothingLeft("held")
	w.holdQueue(false)

	// While a pod doesn't stop: its quota stays until it does.
	w.create(w.job("slow", groupShape{name: "workers", class: "q2", replicas: 2, lo: 0, hi: 8, gpus: 4}))
	w.waitStatus("slow", "head Running 1/1, workers Running 2/2")
	name := w.names("slow", "workers")[0]
	w.kubelet.hold(name)
	w.must(w.client.Delete(w.t.Context(), w.getJob("slow")))
	w.eventually("the job", "gone", func() string { return w.status("slow") })
	w.create(w.job("after", groupShape{name: "workers", class: "q2", replicas: 1, lo: 1, hi: 1, gpus: 8}))
	w.waitStatus("after", "head Running 1/1, workers Waiting 0/1")
	// A new job of the same name doesn't get into the way.
	w.create(w.job("slow", groupShape{name: "workers", class: "q2", hi: 1, gpus: 1}))
	w.waitStatus("slow", "head Running 1/1, workers Running 0/0")
	w.waitStatus("after", "head Running 1/1, workers Waiting 0/1")
	w.kubelet.letGo(name)
	w.waitStatus("after", "head Running 1/1, workers Running 1/1")

	// While a group is drained, and while its growth waits.
	w.create(w.job("victim", groupShape{name: "workers", class: "q2", hi: 4, gpus: 1}))
	w.waitStatus("victim", "head Running 1/1, workers Running 0/0")
	w.resize("victim", "workers", 2)
	w.eventually("a growth that waits", "head Running 1/1, workers Growing 0/2", func() string { return w.status("victim") })
	w.must(w.client.Delete(w.t.Context(), w.getJob("victim")))
	w.waitNothingLeft("victim")
	w.must(w.client.Delete(w.t.Context(), w.getJob("slow")))
	w.must(w.client.Delete(w.t.Context(), w.getJob("after")))
	w.waitNothingLeft("slow", "after")
}

func clusterDeleted(w *world) {
	w.create(w.job("robust", groupShape{name: "workers", class: "q2", replicas: 2, lo: 0, hi: 4, gpus: 2}))
	w.waitStatus("robust", "head Running 1/1, workers Running 2/2")
	w.resize("robust", "workers", 3)
	w.waitStatus("robust", "head Running 1/1, workers Running 3/3")
	before := w.running("robust", "workers")
	slow := w.names("robust", "workers")[0]
	w.kubelet.hold(slow)
	cluster := &rayv1.RayCluster{}
	w.must(w.client.Get(w.t.Context(), w.cluster("robust"), cluster))
	w.must(w.client.Delete(w.t.Context(), cluster))
	w.eventually("the pods of the new cluster", "all new", func() string {
		if now := w.running("robust", "workers"); len(now) > 0 && w.keepNoneQuiet("robust", "workers", before) {
			return "all new"
		}
		return "not all new"
	})
	w.kubelet.letGo(slow)
	w.waitStatus("robust", "head Running 1/1, workers Running 2/2")
	w.finish("robust", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("robust")
}

// evictedWhileGrowing takes a group that runs with four and wants eight. What it
// wanted is what it is queued with.
func evictedWhileGrowing(w *world) {
	w.create(w.job("eval", groupShape{name: "workers", class: "q2", replicas: 4, lo: 0, hi: 8, gpus: 1}))
	w.waitStatus("eval", "head Running 1/1, workers Running 4/4")
	w.create(w.job("other", groupShape{name: "workers", class: "q1", replicas: 2, lo: 2, hi: 2, gpus: 1}))
	w.waitStatus("other", "head Running 1/1, workers Running 2/2")
	w.resize("eval", "workers", 8)
	w.waitStatus("eval", "head Running 1/1, workers Growing 4/8")
	head, other, evicted := w.running("eval", "head"), w.running("other", "workers"), w.running("eval", "workers")
	slow := w.names("eval", "workers")[0]
	w.kubelet.hold(slow)

	w.create(w.job("gang", groupShape{name: "gang", class: "q1", replicas: 1, lo: 1, hi: 1, gpus: 4}))
	w.waitStatus("eval", "head Running 1/1, workers Draining 0/8")
	if held := w.held("eval", "workers"); held != "4" {
		w.t.Errorf("the group holds quota for %s pods, want 4 until its last pod stops", held)
	}
	w.waitStatus("gang", "head Running 1/1, gang Waiting 0/1")
	w.kubelet.letGo(slow)
	w.waitStatus("gang", "head Running 1/1, gang Running 1/1")
	w.waitStatus("eval", "head Running 1/1, workers Waiting 0/8")
	if n := len(w.group("eval", "workers")); n != 1 {
		w.t.Errorf("the group has %d Workloads that aren't finished, want one", n)
	}
	w.keep("eval", "head", head)
	w.keep("other", "workers", other)

	w.finish("gang", rayv1.JobStatusSucceeded)
	w.finish("other", rayv1.JobStatusSucceeded)
	w.waitStatus("eval", "head Running 1/1, workers Running 8/8")
	w.keep("eval", "head", head)
	w.keepNone("eval", "workers", evicted)
	w.finish("eval", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("eval", "other", "gang")
}

// managerKilled kills the manager before each step, so that it finds a change that it
// didn't see, and in the middle of some.
func managerKilled(w *world) {
	w.create(w.job("rl",
		groupShape{name: "trainer", class: "q1", replicas: 1, lo: 1, hi: 1, gpus: 4},
		groupShape{name: "rollout", class: "q2", hi: 4, gpus: 1}))
	w.restartManager(w.t, nil)
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 0/0")

	// Growth that happens without it.
	w.restartManager(w.t, func() {
		w.resizeWithoutWebhooks("rl", "rollout", 4)
	})
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 4/4")
	head, trainer := w.running("rl", "head"), w.running("rl", "trainer")

	// Pods that stop without it.
	slow := w.names("rl", "rollout")[0]
	w.kubelet.hold(slow)
	w.resize("rl", "rollout", 2, w.names("rl", "rollout")[:2]...)
	w.eventually("the quota while one pod stops", "3", func() string { return w.held("rl", "rollout") })
	w.restartManager(w.t, func() { w.kubelet.letGo(slow) })
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 2/2")

	// A group that is drained while it is away.
	slow = w.names("rl", "rollout")[0]
	w.kubelet.hold(slow)
	w.create(w.job("gang", groupShape{name: "gang", class: "q1", replicas: 1, lo: 1, hi: 1, gpus: 4}))
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Draining 0/2")
	w.restartManager(w.t, nil)
	w.waitStatus("gang", "head Running 1/1, gang Waiting 0/1")
	w.restartManager(w.t, func() { w.kubelet.letGo(slow) })
	w.waitStatus("gang", "head Running 1/1, gang Running 1/1")
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Waiting 0/2")
	w.keep("rl", "head", head)
	w.keep("rl", "trainer", trainer)

	// Jobs that end while it is away.
	w.restartManager(w.t, func() { w.finish("gang", rayv1.JobStatusSucceeded) })
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 2/2")
	w.waitNothingLeft("gang")
	w.restartManager(w.t, func() { w.must(w.client.Delete(w.t.Context(), w.getJob("rl"))) })
	w.waitNothingLeft("rl")
}

// resizeWithoutWebhooks asks for a size while the webhooks are away: it gets through
// when they are back, before the manager has looked at anything.
func (w *world) resizeWithoutWebhooks(job, group string, replicas int32) {
	name := w.cluster(job)
	go func() {
		for {
			cluster := &rayv1.RayCluster{}
			if w.client.Get(w.t.Context(), name, cluster) != nil {
				return
			}
			for i := range cluster.Spec.WorkerGroupSpecs {
				if cluster.Spec.WorkerGroupSpecs[i].GroupName == group {
					cluster.Spec.WorkerGroupSpecs[i].Replicas = &replicas
				}
			}
			if w.client.Update(w.t.Context(), cluster) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
}

// conflicts lets somebody else write to each object all the time, so that much of
// what the manager writes is refused.
func conflicts(w *world) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		meddle(ctx, w)
	}()
	defer func() { cancel(); <-done }()

	w.create(w.job("rl",
		groupShape{name: "trainer", class: "q1", replicas: 1, lo: 1, hi: 1, gpus: 4},
		groupShape{name: "rollout", class: "q2", hi: 4, gpus: 1}))
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 0/0")
	for _, size := range []int32{1, 3, 4} {
		w.resize("rl", "rollout", size)
		w.waitStatus("rl", strings.ReplaceAll("head Running 1/1, trainer Running 1/1, rollout Running N/N", "N", strconv.Itoa(int(size))))
	}
	trainer := w.running("rl", "trainer")
	w.create(w.job("gang", groupShape{name: "gang", class: "q1", replicas: 1, lo: 1, hi: 1, gpus: 4}))
	w.waitStatus("gang", "head Running 1/1, gang Running 1/1")
	// Two groups of the same job at once.
	w.create(w.job("all", groupShape{name: "whole", class: "q0", replicas: 1, lo: 1, hi: 1, gpus: 8}))
	w.waitStatus("all", "head Running 1/1, whole Running 1/1")
	w.waitStatus("rl", "head Running 1/1, trainer Waiting 0/1, rollout Waiting 0/4")
	w.keepNone("rl", "trainer", trainer)
	w.finish("all", rayv1.JobStatusSucceeded)
	w.waitStatus("gang", "head Running 1/1, gang Running 1/1")
	w.finish("gang", rayv1.JobStatusSucceeded)
	w.waitStatus("rl", "head Running 1/1, trainer Running 1/1, rollout Running 4/4")
	w.finish("rl", rayv1.JobStatusSucceeded)
	w.waitNothingLeft("rl", "gang", "all")
}

func meddle(ctx context.Context, w *world) {
	for ctx.Err() == nil {
		var objects []client.Object
		var workloads kueue.WorkloadList
		var pods corev1.PodList
		_ = w.client.List(ctx, &workloads, client.InNamespace(w.ns))
		_ = w.client.List(ctx, &pods, client.InNamespace(w.ns))
		for i := range workloads.Items {
			objects = append(objects, &workloads.Items[i])
		}
		for i := range pods.Items {
			objects = append(objects, &pods.Items[i])
		}
		for _, obj := range objects {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/meddled":"`+time.Now().Format(time.RFC3339Nano)+`"}}}`))
			_ = w.client.Patch(ctx, obj, patch)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}
