// SPDX-License-Identifier: Apache-2.0

package lifecycle_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// FuzzHook: a hook blocks with any of its handlers and is complete with all of them; putting it back makes it complete, and
// changes nothing when done again; and the state of a settled pod is settled.
func FuzzHook(f *testing.F) {
	f.Fuzz(func(t *testing.T, handlers, object string, preparesAll bool) {
		hook, p := &kruisev1alpha1.LifecycleHook{}, &corev1.Pod{}
		if json.Unmarshal([]byte(handlers), hook) != nil || json.Unmarshal([]byte(object), p) != nil {
			return
		}
		on, all := 0, len(hook.LabelsHandler)+len(hook.FinalizersHandler)
		for key, value := range hook.LabelsHandler {
			if got, has := p.Labels[key]; has && got == value {
				on++
			}
		}
		for _, finalizer := range hook.FinalizersHandler {
			if slices.Contains(p.Finalizers, finalizer) {
				on++
			}
		}
		if got := lifecycle.Blocks(hook, p); got != (on > 0) {
			t.Errorf("with %d of %d handlers the hook blocks: %v", on, all, got)
		}
		if got := lifecycle.Complete(hook, p); got != (on == all) {
			t.Errorf("with %d of %d handlers the hook is complete: %v", on, all, got)
		}
		if got := lifecycle.Configured(hook); got != (all > 0) {
			t.Errorf("with %d handlers the hook is configured: %v", all, got)
		}

		hooks := lifecycle.Hooks{PreDelete: hook, InPlaceUpdate: hook, PreNormal: hook, PreparesAll: preparesAll}
		state := hooks.Settled(p)
		change(p, lifecycle.Enter(state, time.Unix(0, 0)))
		if got := pod.Lifecycle(p); got != state {
			t.Errorf("the pod was brought to %s and is %s", state, got)
		}
		if again := hooks.Settled(p); again != state {
			t.Errorf("a pod that settles as %s settles as %s then", state, again)
		}

		putBack(p, hook)
		if !lifecycle.Complete(hook, p) || lifecycle.Blocks(hook, p) != (all > 0) {
			t.Errorf("the hook was put back and is not complete: %+v", p.ObjectMeta)
		}
		if again := putBack(p, hook); len(again.AddFinalizers) > 0 {
			t.Errorf("put back once more, it adds %v", again.AddFinalizers)
		}
	})
}

func putBack(p *corev1.Pod, hook *kruisev1alpha1.LifecycleHook) step.Patch {
	patch := step.Patch{Labels: map[string]*string{}}
	lifecycle.PutBack(hook, p, &patch)
	change(p, patch)
	return patch
}

// change does to the metadata of a pod what the API server makes of a patch.
func change(p *corev1.Pod, patch step.Patch) {
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	for key, value := range patch.Labels {
		p.Labels[key] = *value
	}
	p.Finalizers = append(p.Finalizers, patch.AddFinalizers...)
}
