// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recorder"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// forNode does something to a node.
func (p *Player) forNode(ctx context.Context, t *scenario.NodeTarget, done string, do func(context.Context, *corev1.Node) error) (job, text string, err error) {
	name := t.Node
	if t.NodeOf != "" {
		if name = p.nodeOf(t.NodeOf); name == "" {
			return "", "", fmt.Errorf("job %s has had no worker on a node", t.NodeOf)
		}
	}
	var node corev1.Node
	if err := p.Client.Get(ctx, types.NamespacedName{Name: name}, &node); err != nil {
		return "", "", err
	}
	return "", fmt.Sprintf("node %s %s", name, done), do(ctx, &node)
}

// nodeOf is the node of the first worker that a job had on one. It stays the
// same when that worker is gone, so that a lost node can be restored.
func (p *Player) nodeOf(job string) string {
	name, bound := "", 0.0
	p.recorder.Read(func(rec *recording.Recording) {
		for i := range rec.Pods {
			pod := &rec.Pods[i]
			if pod.Job == job && pod.Group != recorder.HeadGroup && pod.Bound != nil && (name == "" || *pod.Bound < bound) {
				name, bound = pod.Node, *pod.Bound
			}
		}
	})
	return name
}

func (p *Player) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	var all corev1.PodList
	if err := p.Client.List(ctx, &all, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return nil, fmt.Errorf("failed to list the pods on %s: %w", node, err)
	}
	return all.Items, nil
}

// loseNode cuts a machine off: nobody reports for it any more, and nothing on
// it moves or is ready.
func (p *Player) loseNode(ctx context.Context, node *corev1.Node) error {
	pods, err := p.podsOn(ctx, node.Name)
	if err != nil {
		return err
	}
	for i := range pods {
		if err := p.setLost(ctx, &pods[i], true); err != nil {
			return err
		}
	}
	if err := p.setLost(ctx, node, true); err != nil {
		return err
	}
	old := node.DeepCopy()
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			// What the node controller writes when it misses the heartbeat.
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = metav1.NewTime(p.Clock.Now())
		}
	}
	if err := p.Client.Status().Patch(ctx, node, client.MergeFrom(old)); err != nil {
		return err
	}
	// The node controller does that too, but only to the nodes that it has found
	// silent by itself.
	for i := range pods {
		if err := p.setReady(ctx, &pods[i], corev1.ConditionFalse, "NodeNotReady"); err != nil {
			return err
		}
	}
	return nil
}

// restoreNode lets a machine come back after a restart: its containers are
// gone.
func (p *Player) restoreNode(ctx context.Context, node *corev1.Node) error {
	pods, err := p.podsOn(ctx, node.Name)
	if err != nil {
		return err
	}
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp.IsZero() {
			if err := p.failPod(ctx, pod); err != nil {
				return err
			}
		}
		if err := p.setLost(ctx, pod, false); err != nil {
			return err
		}
	}
	return p.setLost(ctx, node, false)
}

func (p *Player) setLost(ctx context.Context, object client.Object, lost bool) error {
	value := "null"
	if lost {
		value = `"true"`
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, fleet.LostLabel, value)
	return p.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (p *Player) cordon(on bool) func(context.Context, *corev1.Node) error {
	return func(ctx context.Context, node *corev1.Node) error {
		patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, on)
		return p.Client.Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(patch)))
	}
}
