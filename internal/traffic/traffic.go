// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
)

// Components are those that a workload declares in its annotation, sorted, each once; none without it. It fails on a name
// that cannot be part of a finalizer: nobody could ever add it.
func Components(annotations map[string]string) ([]string, error) {
	var found []string
	for _, name := range strings.Split(annotations[cafev1alpha1.AnnotationTrafficComponents], ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if wrong := validation.IsQualifiedName(Finalizer(name)); len(wrong) > 0 {
			return nil, fmt.Errorf("metadata.annotations[%s]: %q is not allowed: use names of at most 63 letters, digits, '-', '_' or '.', separated by commas",
				cafev1alpha1.AnnotationTrafficComponents, name)
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Finalizer is what a component puts on the pods that it routes to.
func Finalizer(component string) string { return cafev1alpha1.FinalizerPrefixTraffic + component }

// Hooks are what the components ask for: that they let go of a pod before it is changed or deleted, and that it counts as
// available when they have taken it on.
func Hooks(components []string) lifecycle.Hooks {
	hooks := lifecycle.Hooks{CloseGate: true}
	if len(components) == 0 {
		return hooks
	}
	hook := &kruisev1alpha1.LifecycleHook{}
	for _, component := range components {
		hook.FinalizersHandler = append(hook.FinalizersHandler, Finalizer(component))
	}
	hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal = hook, hook, hook
	return hooks
}

// Routing are the components, declared or not, that say that they route to the pod, sorted.
func Routing(p *corev1.Pod) []string {
	var found []string
	for _, finalizer := range p.Finalizers {
		if component, is := strings.CutPrefix(finalizer, cafev1alpha1.FinalizerPrefixTraffic); is {
			found = append(found, component)
		}
	}
	slices.Sort(found)
	return found
}

// Waiting says for which of the declared components the pod waits, and for what; empty when it waits for none. A pod that is
// not ready waits for its containers first: no component takes it on before. A pod that is being deleted waits for all
// that are on it, also for those that are declared no more.
func Waiting(p *corev1.Pod, components []string) string {
	routing := Routing(p)
	declared := slices.DeleteFunc(slices.Clone(routing), func(c string) bool { return !slices.Contains(components, c) })
	missing := slices.DeleteFunc(slices.Clone(components), func(c string) bool { return slices.Contains(routing, c) })
	if pod.IsTerminating(p) {
		return letGo(routing, "can go")
	}
	switch pod.Lifecycle(p) {
	case kruisev1alpha1.LifecyclePreparingDelete:
		return letGo(declared, "is deleted")
	case kruisev1alpha1.LifecyclePreparingUpdate:
		return letGo(declared, "is updated")
	case kruisev1alpha1.LifecycleUpdating:
		if gate := pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady); gate != nil && gate.Status == corev1.ConditionFalse {
			return letGo(declared, "is updated")
		}
	case kruisev1alpha1.LifecyclePreparingNormal, kruisev1alpha1.LifecycleUpdated:
		if len(missing) > 0 && pod.IsReady(p) {
			return named(missing) + " to take it on"
		}
	case kruisev1alpha1.LifecycleNormal:
	}
	return ""
}

func letGo(components []string, what string) string {
	if len(components) == 0 {
		return ""
	}
	return named(components) + " to let go of it before it " + what
}

func named(components []string) string {
	if len(components) == 1 {
		return "component " + components[0] + " has"
	}
	return "components " + strings.Join(components, ", ") + " have"
}
