// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	ResourceVersion   string             `json:"resourceVersion,omitempty"`
	Labels            map[string]*string `json:"labels,omitempty"`
	Annotations       map[string]*string `json:"annotations,omitempty"`
	Finalizers        []string           `json:"finalizers,omitempty"`
	RemovedFinalizers []string           `json:"$deleteFromPrimitiveList/finalizers,omitempty"`
	OwnerReferences   []any              `json:"ownerReferences,omitempty"` // references to add, and deletions
	ManagedFields     []struct{}         `json:"managedFields,omitempty"`   // nil, or forgetManagers
}

// forgetManagers has the server drop its record of who set which field, and keep none until somebody applies the object
// on the server's side: https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields.
// It is heeded in a patch of the object itself, not in one of a subresource.
var forgetManagers = []struct{}{{}}

// ownerDeletion deletes the owner reference with its UID.
type ownerDeletion struct {
	Directive string    `json:"$patch"`
	UID       types.UID `json:"uid"`
}

type podPatchSpec struct {
	// Order names all containers. A merge without it moves those that are named to the front of the rest, and
	// the server refuses a pod whose containers have moved.
	Order      []containerPatch `json:"$setElementOrder/containers"`
	Containers []containerPatch `json:"containers"`
}

// specPatch patches those containers for which patch has something to say.
func specPatch(t step.Target, patch func(name string) (containerPatch, bool)) *podPatchSpec {
	spec := &podPatchSpec{}
	for _, name := range t.Containers {
		spec.Order = append(spec.Order, containerPatch{Name: name})
		if change, some := patch(name); some {
			spec.Containers = append(spec.Containers, change)
		}
	}
	return spec
}

type containerPatch struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

type podPatchStatus struct {
	Conditions []conditionPatch `json:"conditions"`
}

// conditionPatch is a whole condition. What a merge patch does not name stays as it was, so a reason and a message
// are sent also when they are empty.
type conditionPatch struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	Reason             string                  `json:"reason"`
	Message            string                  `json:"message"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
}

func (a *Applier) patchPod(ctx context.Context, owner types.UID, t step.Target, p step.Patch) error {
	body := podPatch{Metadata: podPatchMeta{
		UID: t.UID, ResourceVersion: t.ResourceVersion,
		Labels: p.Labels, Annotations: p.Annotations, Finalizers: p.AddFinalizers, RemovedFinalizers: p.RemoveFinalizers,
	}}
	if len(p.Images) > 0 {
		body.Spec = specPatch(t, func(name string) (containerPatch, bool) {
			image, some := p.Images[name]
			return containerPatch{Name: name, Image: image}, some
		})
		if !t.Applied && !a.options.KeepFieldManagers {
			body.Metadata.ManagedFields = forgetManagers
		}
	}
	return a.sendPodPatch(ctx, owner, t, body)
}

func (a *Applier) adoptPod(ctx context.Context, owner types.UID, s step.AdoptPod) error {
	return a.sendPodPatch(ctx, owner, s.Target, podPatch{Metadata: podPatchMeta{
		UID: s.UID, ResourceVersion: s.ResourceVersion, OwnerReferences: []any{s.Owner},
	}})
}

func (a *Applier) releasePod(ctx context.Context, owner types.UID, s step.ReleasePod) error {
	return a.sendPodPatch(ctx, owner, s.Target, podPatch{Metadata: podPatchMeta{
		UID: s.UID, ResourceVersion: s.ResourceVersion,
		OwnerReferences: []any{ownerDeletion{Directive: "delete", UID: s.Owner}},
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
	a.writes.Patched(owner, pod)
	return nil
}

// createPod writes the conditions to whatever version the new pod has by then: its scheduler and its node write to it in
// its first moments, and nothing that they do bears on them. When that fails, the next look finds them missing.
func (a *Applier) createPod(ctx context.Context, owner types.UID, p *corev1.Pod) error {
	created := *p // the answer overwrites the whole of it, and nothing that it shares with others
	created.Status = corev1.PodStatus{}
	if err := a.create(ctx, owner, "pod", &created); err != nil || len(p.Status.Conditions) == 0 {
		return err
	}
	_, err := a.patchConditions(ctx, owner, step.Target{Namespace: created.Namespace, Name: created.Name, UID: created.UID}, p.Status.Conditions)
	return err
}

// patchConditions returns the version that the pod has after the write.
func (a *Applier) patchConditions(ctx context.Context, owner types.UID, t step.Target, conditions []corev1.PodCondition) (step.Target, error) {
	status := &podPatchStatus{}
	for _, c := range conditions {
		status.Conditions = append(status.Conditions, conditionPatch{c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime})
	}
	raw, err := json.Marshal(podPatch{Metadata: podPatchMeta{UID: t.UID, ResourceVersion: t.ResourceVersion}, Status: status})
	if err != nil {
		return t, fmt.Errorf("encoding the conditions of pod %s: %w", t.Name, err)
	}
	pod := podAt(t)
	if err := a.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		a.doubt(owner, pod, err)
		return t, fmt.Errorf("writing the conditions of pod %s: %w", t.Name, err)
	}
	a.writes.Patched(owner, pod)
	return step.On(pod), nil
}

// resizePod changes resources of containers, and returns the version that the pod has after it. Every server
// from Kubernetes 1.33 on has this subresource.
func (a *Applier) resizePod(ctx context.Context, owner types.UID, t step.Target, resources map[string]corev1.ResourceRequirements) (step.Target, error) {
	body := podPatch{Metadata: podPatchMeta{UID: t.UID, ResourceVersion: t.ResourceVersion}}
	body.Spec = specPatch(t, func(name string) (containerPatch, bool) {
		amounts, some := resources[name]
		return containerPatch{Name: name, Resources: &amounts}, some
	})
	raw, err := json.Marshal(body)
	if err != nil {
		return t, fmt.Errorf("encoding the resize of pod %s: %w", t.Name, err)
	}
	pod := podAt(t)
	if err := a.client.SubResource("resize").Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		a.doubt(owner, pod, err)
		if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
			return t, fmt.Errorf("resizing pod %s: the server has no subresource pods/resize: %s", t.Name, err.Error()) // not wrapped: it is not the pod that is missing
		}
		return t, fmt.Errorf("resizing pod %s: %w", t.Name, err)
	}
	a.writes.Patched(owner, pod)
	return step.On(pod), nil
}

// IsInfeasible tells whether a server has refused a resize because the node of the pod is too small. Servers
// from Kubernetes 1.36 on look at that themselves; they say it in words only, and a refusal for another reason,
// such as a quota, must not be taken for it: a new pod would not get through either.
func IsInfeasible(err error) bool {
	var answer apierrors.APIStatus
	return apierrors.IsForbidden(err) && errors.As(err, &answer) && strings.Contains(answer.Status().Message, "didn't have enough allocatable resources")
}

// changePod writes conditions, then resizes, then patches. Each write is conditional on the very version that
// the one before has made, so containers never change unless the server has taken the pod out of service
// before. When one is refused the rest is not tried: the next look finds out what is left.
func (a *Applier) changePod(ctx context.Context, owner types.UID, at step.Target, conditions []corev1.PodCondition,
	resize map[string]corev1.ResourceRequirements, patch step.Patch,
) (err error) {
	if len(conditions) > 0 {
		if at, err = a.patchConditions(ctx, owner, at, conditions); err != nil {
			return err
		}
	}
	if len(resize) > 0 {
		if at, err = a.resizePod(ctx, owner, at, resize); err != nil {
			return err
		}
	}
	return a.patchPod(ctx, owner, at, patch)
}

func podAt(t step.Target) *corev1.Pod { return &corev1.Pod{ObjectMeta: metaAt(t)} }
