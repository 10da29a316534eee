// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// LifecycleState is the value of LabelLifecycleState on a pod. A pod in any state but LifecycleNormal is unavailable.
type LifecycleState string

// The states of a pod, in the order of a pod's life.
const (
	// LifecyclePreparingNormal: created, and not yet released by the preNormal hook.
	LifecyclePreparingNormal LifecycleState = "PreparingNormal"
	// LifecycleNormal: in service. A pod without a state is in this one.
	LifecycleNormal LifecycleState = "Normal"
	// LifecyclePreparingUpdate: chosen for an in-place update that the inPlaceUpdate hook still holds back.
	LifecyclePreparingUpdate LifecycleState = "PreparingUpdate"
	// LifecycleUpdating: the in-place update is under way.
	LifecycleUpdating LifecycleState = "Updating"
	// LifecycleUpdated: updated in place, and not yet taken back into service by the inPlaceUpdate hook.
	LifecycleUpdated LifecycleState = "Updated"
	// LifecyclePreparingDelete: to be deleted, which the preDelete hook still holds back.
	LifecyclePreparingDelete LifecycleState = "PreparingDelete"
)

// Lifecycle lets other controllers take part in what happens to each pod. A change of it takes effect for all pods
// at once and makes no new revision.
type Lifecycle struct {
	// PreDelete holds back the deletion of a pod for as long as one of its handlers is on the pod.
	// +optional
	PreDelete *LifecycleHook `json:"preDelete,omitempty"`

	// InPlaceUpdate holds back an in-place update for as long as one of its handlers is on the pod. After the
	// update the pod returns to service when all handlers are on it again.
	// +optional
	InPlaceUpdate *LifecycleHook `json:"inPlaceUpdate,omitempty"`

	// PreNormal keeps a new pod unavailable until all of its handlers are on the pod.
	// +optional
	PreNormal *LifecycleHook `json:"preNormal,omitempty"`
}

// LifecycleHook names the marks on a pod by which a hook's owner speaks to the controller. A hook without handlers
// holds nothing back.
type LifecycleHook struct {
	// LabelsHandler are labels; one counts as present when the pod has it with exactly this value.
	// +optional
	LabelsHandler map[string]string `json:"labelsHandler,omitempty"`

	// FinalizersHandler are finalizers of the pod.
	// +optional
	FinalizersHandler []string `json:"finalizersHandler,omitempty"`

	// MarkPodNotReady makes the pod not ready while the hook holds it back, so that it gets no traffic. Has an
	// effect for preDelete and inPlaceUpdate only. Default false.
	// +optional
	MarkPodNotReady bool `json:"markPodNotReady,omitempty"`
}
