// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/step"
)

// podPatch is the shape of a strategic merge patch of a pod. With the UID and the resourceVersion in it
// the server refuses the patch when the pod is no longer the version that was judged.
type podPatch struct {
	Metadata podPatchMeta    `json:"metadata"`
	Spec     *podPatchSpec   `json:"spec,omitempty"`
	Status   *podPatchStatus `json:"status,omitempty"`
}

type podPatchMeta struct {
	UID               types.UID          `json:"uid"`
	ResourceVersion   string             `json:"resourceVersion"`
	Labels            map[string]*string `json:"labels,omitempty"`
	Annotations       map[string]*string `json:"annotations,omitempty"`
	Finalizers        []string           `json:"finalizers,omitempty"`
	RemovedFinalizers []string           `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
	OwnerReferences   []ownerPatch       `json:"ownerReferences,omitempty"`
}

type ownerPatch struct {
	Directive string    `json:"$patch"`
	UID       types.UID `json:"uid"`
}

type podPatchSpec struct {
	Containers []containerPatch `json:"containers"`
}

type containerPatch struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}

type podPatchStatus struct {
	Conditions []corev1.PodCondition `json:"conditions"`
}

func (a *Applier) patchPod(ctx context.Context, owner types.UID, t step.Target, p step.Patch) error {
	body := podPatch{Metadata: podPatchMeta{
		UID: t.UID, ResourceVersion: t.ResourceVersion,
		Labels: p.Labels, Annotations: p.Annotations, Finalizers: p.AddFinalizers, RemovedFinalizers: p.RemoveFinalizers,
	}}
	if len(p.Images) > 0 {
		body.Spec = &podPatchSpec{}
		for _, name := range slices.Sorted(maps.Keys(p.Images)) {
			body.Spec.Containers = append(body.Spec.Containers, containerPatch{Name: name, Image: p.Images[name]})
		}
	}
	return a.sendPodPatch(ctx, owner, t, body)
}

func (a *Applier) releasePod(ctx context.Context, owner types.UID, s step.ReleasePod) error {
	return a.sendPodPatch(ctx, owner, s.Target, podPatch{Metadata: podPatchMeta{
		UID: s.UID, ResourceVersion: s.ResourceVersion,
		OwnerReferences: []ownerPatch{{Directive: "delete", UID: s.Owner}},
	}})
}

func (a *Applier) sendPodPatch(ctx context.Context, owner types.UID, t step.Target, body podPatch) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding the patch of pod %s: %w", t.Name, err)
	}
	pod := podAt(t)
	if err := a.client.Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		a.doubt(owner, pod, err)
		return fmt.Errorf("patching pod %s: %w", t.Name, err)
	}
	a.writes.Wrote(owner, pod)
	return nil
}

// patchConditions returns the version that the pod has after the write.
func (a *Applier) patchConditions(ctx context.Context, owner types.UID, t step.Target, conditions []corev1.PodCondition) (step.Target, error) {
	raw, err := json.Marshal(podPatch{
		Metadata: podPatchMeta{UID: t.UID, ResourceVersion: t.ResourceVersion},
		Status:   &podPatchStatus{Conditions: conditions},
	})
	if err != nil {
		return t, fmt.Errorf("encoding the conditions of pod %s: %w", t.Name, err)
	}
	pod := podAt(t)
	if err := a.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		a.doubt(owner, pod, err)
		return t, fmt.Errorf("writing the conditions of pod %s: %w", t.Name, err)
	}
	a.writes.Wrote(owner, pod)
	return step.On(pod), nil
}

// changePod writes conditions and then patches. The patch is conditional on the very version that the
// conditions led to, so containers never change unless the server has taken the pod out of service before.
func (a *Applier) changePod(ctx context.Context, owner types.UID, at step.Target, conditions []corev1.PodCondition, patch step.Patch) error {
	if len(conditions) > 0 {
		changed, err := a.patchConditions(ctx, owner, at, conditions)
		if err != nil {
			return err
		}
		at = changed
	}
	return a.patchPod(ctx, owner, at, patch)
}

func podAt(t step.Target) *corev1.Pod { return &corev1.Pod{ObjectMeta: metaAt(t)} }
