// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"errors"
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// cause makes an event happen.
func (p *Player) cause(ctx context.Context, e *scenario.Event) error {
	job, text, err := p.act(ctx, e)
	if err != nil {
		return fmt.Errorf("failed to cause event %s: %w", e.Name, err)
	}
	p.recorder.Note(p.Clock.Now(), e.Name, job, text)
	return nil
}

// act does what an event says and returns the job it is about and what was
// done.
func (p *Player) act(ctx context.Context, e *scenario.Event) (job, text string, err error) {
	switch {
	case e.Scale != nil:
		text = fmt.Sprintf("scaled to %d", e.Scale.Replicas)
		return e.Scale.Job, text, p.Runtime.Resize(ctx, p.jobs[e.Scale.Job], e.Scale.Group, e.Scale.Replicas)
	case e.StallPods != nil:
		return p.forPods(ctx, e.StallPods, "stalled", isBound, p.stall)
	case e.RecoverPods != nil:
		return p.forPods(ctx, e.RecoverPods, "recovered", isBound, p.recover)
	case e.HoldPods != nil:
		return p.forPods(ctx, e.HoldPods, "held, should they be deleted", isBound, p.hold)
	case e.ReleasePods != nil:
		return p.forPods(ctx, e.ReleasePods, "let go", isThere, p.letGo)
	case e.DeletePods != nil:
		return p.forPods(ctx, e.DeletePods, "deleted", isBound, p.deletePod)
	case e.FailPods != nil:
		return p.forPods(ctx, e.FailPods, "failed", isBound, p.failPod)
	case e.LoseNode != nil:
		return p.forNode(ctx, e.LoseNode, "lost", p.loseNode)
	case e.RestoreNode != nil:
		return p.forNode(ctx, e.RestoreNode, "restored", p.restoreNode)
	case e.Cordon != nil:
		return p.forNode(ctx, e.Cordon, "cordoned", p.cordon(true))
	case e.Uncordon != nil:
		return p.forNode(ctx, e.Uncordon, "uncordoned", p.cordon(false))
	case e.RestartManager != nil:
		p.restartManager(ctx, e.RestartManager)
		return "", "the queue manager was killed", nil
	case e.SetQuota != nil:
		return "", fmt.Sprintf("quota of %s set to %d GPUs", e.SetQuota.Queue, e.SetQuota.GPUs), p.setQuota(ctx, e.SetQuota)
	case e.SetPriority != nil:
		return e.SetPriority.Job, "priority set to " + e.SetPriority.Priority, p.setPriority(ctx, e.SetPriority)
	case e.DeleteJob != nil:
		p.deleted[e.DeleteJob.Job] = true
		object := &rayv1.RayJob{ObjectMeta: p.meta(e.DeleteJob.Job)}
		return e.DeleteJob.Job, "deleted", p.Client.Delete(ctx, object)
	case e.FinishJob != nil:
		return e.FinishJob.Job, "its driver ended early", p.Runtime.Finish(p.jobs[e.FinishJob.Job])
	case e.CreateObject != nil:
		text, err = p.createObject(ctx, e.CreateObject)
		return "", text, err
	case e.DeleteObject != nil:
		return "", fmt.Sprintf("%s %s deleted", e.DeleteObject.Kind, e.DeleteObject.Name), p.deleteObject(ctx, e.DeleteObject)
	}
	return "", "", errors.New("it has no action")
}

func (p *Player) meta(job string) metav1.ObjectMeta {
	name := p.jobs[job]
	return metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}
}

// restartManager kills the manager now and lets it come back in the
// background.
func (p *Player) restartManager(ctx context.Context, r *scenario.Restart) {
	p.pending++
	go func() {
		select {
		case p.away <- p.RestartManager(ctx, p.real(r.DownFor.D())):
		case <-ctx.Done(): // Nobody listens any more.
		}
	}()
}

func (p *Player) setQuota(ctx context.Context, s *scenario.SetQuota) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var queue kueue.ClusterQueue
		if err := p.Client.Get(ctx, types.NamespacedName{Name: s.Queue}, &queue); err != nil {
			return err
		}
		for i := range queue.Spec.ResourceGroups {
			flavors := queue.Spec.ResourceGroups[i].Flavors
			for j := range flavors {
				if flavors[j].Name != fleet.GPUFlavor {
					continue
				}
				for k := range flavors[j].Resources {
					if flavors[j].Resources[k].Name == fleet.GPUResource {
						flavors[j].Resources[k].NominalQuota = *resource.NewQuantity(int64(s.GPUs), resource.DecimalSI)
					}
				}
			}
		}
		return p.Client.Update(ctx, &queue)
	})
}

func (p *Player) setPriority(ctx context.Context, s *scenario.SetPriority) error {
	patch := fmt.Sprintf(`{"metadata":{"labels":{"kueue.x-k8s.io/priority-class":%q}}}`, s.Priority)
	return p.Client.Patch(ctx, &rayv1.RayJob{ObjectMeta: p.meta(s.Job)}, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (p *Player) createObject(ctx context.Context, o *scenario.Object) (string, error) {
	objects, err := p.scenario.Read(*o)
	if err != nil {
		return "", err
	}
	var names []string
	for _, object := range objects {
		created, err := p.Applier.CreateRetrying(ctx, inNamespace(object))
		if err != nil {
			return "", err
		}
		names = append(names, created.GetKind()+" "+created.GetName())
	}
	return strings.Join(names, ", ") + " created", nil
}

func (p *Player) deleteObject(ctx context.Context, t *scenario.ObjectTarget) error {
	object := &unstructured.Unstructured{}
	switch t.Kind {
	case "Pod", "ConfigMap":
		object.SetAPIVersion("v1")
	case "Job":
		object.SetAPIVersion("batch/v1")
	case "RayCluster", "RayJob":
		object.SetAPIVersion("ray.io/v1")
	default:
		return fmt.Errorf("kind is %q, allowed are Pod, ConfigMap, Job, RayCluster and RayJob", t.Kind)
	}
	object.SetKind(t.Kind)
	object.SetName(t.Name)
	return p.Client.Delete(ctx, inNamespace(object), client.PropagationPolicy(metav1.DeletePropagationBackground))
}
