// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// Blocks tells whether the hook holds the pod: at least one of its handlers is on it, a label with exactly
// that value or a finalizer. No hook, and one without handlers, blocks nothing.
func Blocks(hook *kruisev1alpha1.LifecycleHook, p *corev1.Pod) bool {
	if hook == nil {
		return false
	}
	for key, value := range hook.LabelsHandler {
		if has(p, key, value) {
			return true
		}
	}
	return slices.ContainsFunc(hook.FinalizersHandler, func(f string) bool { return slices.Contains(p.Finalizers, f) })
}

// Complete tells whether all handlers of the hook are on the pod. That is so for no hook, and for one
// without handlers.
func Complete(hook *kruisev1alpha1.LifecycleHook, p *corev1.Pod) bool {
	if hook == nil {
		return true
	}
	for key, value := range hook.LabelsHandler {
		if !has(p, key, value) {
			return false
		}
	}
	return !slices.ContainsFunc(hook.FinalizersHandler, func(f string) bool { return !slices.Contains(p.Finalizers, f) })
}

func has(p *corev1.Pod, key, value string) bool {
	got, there := p.Labels[key]
	return there && got == value
}

// Configured tells whether the hook has handlers.
func Configured(hook *kruisev1alpha1.LifecycleHook) bool {
	return hook != nil && len(hook.LabelsHandler)+len(hook.FinalizersHandler) > 0
}

// Hooks are the hooks of a spec; none of them is nil-checked by callers.
type Hooks struct {
	PreDelete, InPlaceUpdate, PreNormal *kruisev1alpha1.LifecycleHook
	// PreparesAll: while any hook has handlers, every new pod is PreparingNormal first, and without a preNormal hook
	// until it has a node. Otherwise only a preNormal hook makes it so, as long as handlers of it are missing.
	PreparesAll bool
	// CloseGate: a pod that a hook holds is out of service by the gate InPlaceUpdateReady, which opens when it is held no
	// more; and handlers come back only by their owners, who watch that gate.
	CloseGate bool
}

// HooksOf reads the hooks of a spec, which may have none.
func HooksOf(l *kruisev1alpha1.Lifecycle) Hooks {
	if l == nil {
		return Hooks{}
	}
	return Hooks{PreDelete: l.PreDelete, InPlaceUpdate: l.InPlaceUpdate, PreNormal: l.PreNormal}
}

// Configured tells whether any hook has handlers. Only then the states of pods are written at all.
func (h Hooks) Configured() bool {
	return Configured(h.PreDelete) || Configured(h.InPlaceUpdate) || Configured(h.PreNormal)
}

// MarksNotReady tells whether pods need the readiness gate KruisePodReady. A hook before the first
// readiness has no use for it.
func (h Hooks) MarksNotReady() bool { return marks(h.PreDelete) || marks(h.InPlaceUpdate) }

func marks(hook *kruisev1alpha1.LifecycleHook) bool { return Configured(hook) && hook.MarkPodNotReady }

// First is the state that a new pod gets with these labels and finalizers: Normal at once when nobody watches
// the states.
func (h Hooks) First(p *corev1.Pod) kruisev1alpha1.LifecycleState {
	if h.PreparesAll && h.Configured() || !Complete(h.PreNormal, p) {
		return kruisev1alpha1.LifecyclePreparingNormal
	}
	return kruisev1alpha1.LifecycleNormal
}

// Settled is the state that a pod gets which is neither being updated nor deleted any more. It stays as it
// is as long as a hook still holds it there.
func (h Hooks) Settled(p *corev1.Pod) kruisev1alpha1.LifecycleState {
	state := pod.Lifecycle(p)
	switch state {
	case kruisev1alpha1.LifecyclePreparingNormal:
		held := !Complete(h.PreNormal, p) ||
			h.PreparesAll && h.Configured() && !Configured(h.PreNormal) && p.Spec.NodeName == ""
		if held {
			return state
		}
	case kruisev1alpha1.LifecyclePreparingUpdate, kruisev1alpha1.LifecycleUpdating, kruisev1alpha1.LifecycleUpdated:
		if !Complete(h.InPlaceUpdate, p) {
			return kruisev1alpha1.LifecycleUpdated
		}
	case kruisev1alpha1.LifecycleNormal, kruisev1alpha1.LifecyclePreparingDelete:
	}
	return kruisev1alpha1.LifecycleNormal
}

// Enter is the patch that brings a pod into a state.
func Enter(state kruisev1alpha1.LifecycleState, now time.Time) step.Patch {
	return step.Patch{
		Labels:      map[string]*string{kruisev1alpha1.LabelLifecycleState: ptr.To(string(state))},
		Annotations: map[string]*string{kruisev1alpha1.AnnotationLifecycleTimestamp: ptr.To(now.UTC().Format(time.RFC3339))},
	}
}

// PutBack adds the handlers of the hook to a patch, so that the hook holds the pod again.
func PutBack(hook *kruisev1alpha1.LifecycleHook, p *corev1.Pod, patch *step.Patch) {
	for key, value := range hook.LabelsHandler {
		patch.Labels[key] = ptr.To(value)
	}
	for _, finalizer := range hook.FinalizersHandler {
		if !slices.Contains(p.Finalizers, finalizer) {
			patch.AddFinalizers = append(patch.AddFinalizers, finalizer)
		}
	}
}
