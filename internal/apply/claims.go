// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/step"
)

// units puts the steps of one pod and of its claims together, in their order. Every other step is a unit of
// its own.
func units(steps []step.Step) [][]step.Step {
	var units [][]step.Step
	at := map[string]int{}
	for _, s := range steps {
		pod := unitOf(s)
		if i, begun := at[pod]; begun && pod != "" {
			units[i] = append(units[i], s)
			continue
		}
		at[pod] = len(units)
		units = append(units, []step.Step{s})
	}
	return units
}

// unitOf names the pod whose unit a step belongs to; empty for steps without one.
func unitOf(s step.Step) string {
	switch s := s.(type) {
	case step.CreateClaim:
		return s.Pod
	case step.DeleteClaim:
		return s.Pod
	case step.GiveClaim:
		return s.Pod
	case step.ResizeClaim:
		return s.Pod
	case step.CreatePod, step.DeletePod, step.AdoptPod, step.ReleasePod, step.PatchPod, step.SetConditions, step.UpdateInPlace:
		return s.Subject()
	case step.CreateRevision, step.AdoptRevision, step.RenumberRevision, step.ForgetRevision, step.TrimPodsToDelete,
		step.CreateSet, step.Apply, step.ChangeSet, step.DeleteSet, step.Annotate, step.SetFinalizers:
		return ""
	}
	panic(fmt.Sprintf("apply: step %T has no unit", s))
}

type claimPatch struct {
	Metadata claimPatchMeta `json:"metadata"`
}

type claimPatchMeta struct {
	UID             types.UID               `json:"uid"`
	ResourceVersion string                  `json:"resourceVersion"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
}

func (a *Applier) giveClaim(ctx context.Context, owner types.UID, s step.GiveClaim) error {
	claim := claimAt(s.Target)
	return a.mergePatch(ctx, owner, "claim", claim, claimPatch{Metadata: claimPatchMeta{
		UID: s.UID, ResourceVersion: s.ResourceVersion, OwnerReferences: s.Owners,
	}})
}

type resizePatch struct {
	Metadata resizePatchMeta `json:"metadata"`
	Spec     struct {
		Resources corev1.VolumeResourceRequirements `json:"resources"`
	} `json:"spec"`
}

type resizePatchMeta struct {
	versionPatch `json:",inline"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

func (a *Applier) resizeClaim(ctx context.Context, owner types.UID, s step.ResizeClaim) error {
	body := resizePatch{Metadata: resizePatchMeta{
		versionPatch: versionPatch{UID: s.UID, ResourceVersion: s.ResourceVersion}, Annotations: s.Annotations,
	}}
	body.Spec.Resources = s.Resources
	return a.mergePatch(ctx, owner, "claim", claimAt(s.Target), body)
}

type podsToDeletePatch struct {
	Metadata versionPatch `json:"metadata"`
	Spec     struct {
		ScaleStrategy struct {
			PodsToDelete []string `json:"podsToDelete"` // null removes the list
		} `json:"scaleStrategy"`
	} `json:"spec"`
}

type versionPatch struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

func (a *Applier) trimPodsToDelete(ctx context.Context, owner types.UID, s step.TrimPodsToDelete) error {
	body := podsToDeletePatch{Metadata: versionPatch{UID: s.UID, ResourceVersion: s.ResourceVersion}}
	if len(s.Keep) > 0 {
		body.Spec.ScaleStrategy.PodsToDelete = s.Keep
	}
	return a.mergePatch(ctx, owner, "CloneSet", &kruisev1alpha1.CloneSet{ObjectMeta: metaAt(s.Target)}, body)
}

func (a *Applier) mergePatch(ctx context.Context, owner types.UID, what string, object client.Object, body any) error {
	name := object.GetName()
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding the patch of %s %s: %w", what, name, err)
	}
	if err := a.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, raw)); err != nil {
		a.doubt(owner, object, err)
		return fmt.Errorf("patching %s %s: %w", what, name, err)
	}
	a.writes.Patched(owner, object)
	return nil
}

func claimAt(t step.Target) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metaAt(t)}
}
