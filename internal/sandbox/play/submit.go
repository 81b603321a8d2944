// Copyright The kueue-fleet Authors.
// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fleet.ai/kueue-fleet/internal/sandbox/fleet"
	"fleet.ai/kueue-fleet/internal/sandbox/recording"
	"fleet.ai/kueue-fleet/internal/sandbox/scenario"
)

// prepare makes what is there before the first job.
func (p *Player) prepare(ctx context.Context) error {
	for _, o := range p.scenario.Objects {
		objects, err := p.scenario.Read(o)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if _, err := p.Applier.CreateRetrying(ctx, inNamespace(object)); err != nil {
				return err
			}
		}
	}
	return nil
}

// inNamespace puts an object that names no namespace where the jobs are, if
// it is of a kind that lives in one.
func inNamespace(object *unstructured.Unstructured) *unstructured.Unstructured {
	clusterWide := []string{"Node", "PriorityClass", "Namespace", "PersistentVolume", "ResourceFlavor", "ClusterQueue", "Cohort", "Topology", "WorkloadPriorityClass"}
	if object.GetNamespace() == "" && !slices.Contains(clusterWide, object.GetKind()) {
		object.SetNamespace(fleet.Namespace)
	}
	return object
}

// submit creates a job and, before it, what its pods mount.
func (p *Player) submit(ctx context.Context, sub *scenario.Submission) error {
	if err := p.provide(ctx, sub.Object); err != nil {
		return err
	}
	_, err := p.Applier.CreateRetrying(ctx, sub.Object.DeepCopy())
	refused := apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
	if err == nil || !refused || sub.Job.Expect != scenario.Rejected {
		return err
	}
	labels := sub.Object.GetLabels()
	p.recorder.Reject(p.Clock.Now(), recording.Job{
		Name: sub.Object.GetName(), Namespace: sub.Object.GetNamespace(), Kind: sub.Object.GetKind(), Class: sub.Job.Class,
		Queue: labels["kueue.x-k8s.io/queue-name"], Priority: labels["kueue.x-k8s.io/priority-class"], ItemsTotal: sub.Work.Items(),
	}, err.Error())
	return nil
}

// mounts are the names of what the pods of an object mount.
type mounts struct {
	configMaps, secrets, claims map[string]bool
}

// findMounts looks for volumes in an object, however deep.
func findMounts(value any, found *mounts) {
	switch value := value.(type) {
	case map[string]any:
		if volumes, ok := value["volumes"].([]any); ok {
			for _, entry := range volumes {
				volume, _ := entry.(map[string]any)
				note := func(into map[string]bool, path ...string) {
					if name, ok, _ := unstructured.NestedString(volume, path...); ok {
						into[name] = true
					}
				}
				note(found.configMaps, "configMap", "name")
				note(found.secrets, "secret", "secretName")
				note(found.claims, "persistentVolumeClaim", "claimName")
			}
		}
		for _, inner := range value {
			findMounts(inner, found)
		}
	case []any:
		for _, inner := range value {
			findMounts(inner, found)
		}
	}
}

// provide makes the ConfigMaps, Secrets and bound claims that the pods of an
// object mount, unless they are there. What is in them is never read.
func (p *Player) provide(ctx context.Context, object *unstructured.Unstructured) error {
	found := &mounts{configMaps: map[string]bool{}, secrets: map[string]bool{}, claims: map[string]bool{}}
	findMounts(object.Object, found)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: name}
	}
	var objects []client.Object
	for _, name := range slices.Sorted(maps.Keys(found.configMaps)) {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: meta(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(found.secrets)) {
		objects = append(objects, &corev1.Secret{ObjectMeta: meta(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(found.claims)) {
		objects = append(objects, boundClaim(meta(name))...)
	}
	for _, o := range objects {
		if err := p.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("failed to make what %s mounts: %w", object.GetName(), err)
		}
	}
	return nil
}

// boundClaim is a volume and a claim that are bound to each other, as a
// provisioner would leave them. The scheduler asks for no more.
func boundClaim(meta metav1.ObjectMeta) []client.Object {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Ti")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	noClass := ""
	volume := strings.Join([]string{meta.Namespace, meta.Name}, "-")
	meta.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	return []client.Object{
		&corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: volume},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, AccessModes: modes,
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/simulated"}},
				ClaimRef:               &corev1.ObjectReference{Namespace: meta.Namespace, Name: meta.Name},
			},
		},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: meta,
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: modes, VolumeName: volume, StorageClassName: &noClass,
				Resources: corev1.VolumeResourceRequirements{Requests: size},
			},
		},
	}
}
