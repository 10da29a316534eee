// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/cloneset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

const (
	preparingNormal = kruisev1alpha1.LifecyclePreparingNormal
	normal          = kruisev1alpha1.LifecycleNormal
	preparingUpdate = kruisev1alpha1.LifecyclePreparingUpdate
	updating        = kruisev1alpha1.LifecycleUpdating
	updated         = kruisev1alpha1.LifecycleUpdated
	preparingDelete = kruisev1alpha1.LifecyclePreparingDelete
)

// hooked has three hooks, each with a label and a finalizer.
func hooked(replicas int32, changes ...func(*kruisev1alpha1.Lifecycle)) *builders.CloneSetBuilder {
	hook := func(name string) *kruisev1alpha1.LifecycleHook {
		return &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{name: "hold"}, FinalizersHandler: []string{"example.com/" + name}}
	}
	hooks := &kruisev1alpha1.Lifecycle{PreDelete: hook("delete"), InPlaceUpdate: hook("update"), PreNormal: hook("normal")}
	for _, change := range changes {
		change(hooks)
	}
	return inPlace(replicas).With(func(s *kruisev1alpha1.CloneSet) { s.Spec.Lifecycle = hooks })
}

func marking(l *kruisev1alpha1.Lifecycle) {
	l.PreDelete.MarkPodNotReady, l.InPlaceUpdate.MarkPodNotReady = true, true
}

// holding puts handlers of hooks on a pod: "update" for the label, "update!" for label and finalizer.
func holding(names ...string) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) {
		for _, name := range names {
			plain, both := strings.CutSuffix(name, "!")
			b.Label(plain, "hold")
			if both {
				b.With(func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, "example.com/"+plain) })
			}
		}
	}
}

// gated gives a pod the gate of markPodNotReady, with the entries in its condition.
func gated(entries string) func(*builders.PodBuilder) {
	return with(func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: kruisev1alpha1.ConditionKruisePodReady})
		if entries != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kruisev1alpha1.ConditionKruisePodReady, Message: entries, Status: corev1.ConditionTrue})
		}
	})
}

// entered tells plans by the states that pods enter, and by what else goes with it.
func entered(p plan.Plan) []string {
	var lines []string
	for _, s := range p.Steps {
		line := strings.TrimPrefix(fmt.Sprintf("%T %s", s, s.Subject()), "step.")
		var patch step.Patch
		var conditions []corev1.PodCondition
		switch s := s.(type) {
		case step.PatchPod:
			patch, conditions = s.Patch, s.Conditions
		case step.UpdateInPlace:
			patch = s.Patch
		case step.SetConditions:
			conditions = s.Conditions
		case step.CreatePod:
			line = fmt.Sprintf("CreatePod %s gates=%d", s.Pod.Labels[kruisev1alpha1.LabelLifecycleState], len(s.Pod.Spec.ReadinessGates))
		}
		if state := patch.Labels[kruisev1alpha1.LabelLifecycleState]; state != nil {
			line += " -> " + *state
		}
		if patch.Labels[kruisev1alpha1.LabelSpecifiedDelete] != nil {
			line += " chosen"
		}
		if patch.Labels["update"] != nil {
			line += fmt.Sprintf(" +update %v", patch.AddFinalizers)
		}
		for _, c := range conditions {
			if c.Type == kruisev1alpha1.ConditionKruisePodReady {
				line += fmt.Sprintf(" %s %s", c.Status, c.Message)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestLifecycle(t *testing.T) {
	unbound := with(func(p *corev1.Pod) { p.Spec.NodeName = "" })
	noPreNormal := func(l *kruisev1alpha1.Lifecycle) { l.PreNormal = nil }
	const both = `[{"userAgent":"Lifecycle","key":"preUpdateHook"},{"userAgent":"other","key":"restart"}]`
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
	}{
		"a new pod is prepared first": {sceneOf(hooked(1), v1), []string{"CreatePod PreparingNormal gates=1"}},
		"and has the gate when a hook marks pods": {
			sceneOf(hooked(1, marking), v1), []string{"CreatePod PreparingNormal gates=2"},
		},
		"without a preNormal hook it becomes normal when it is bound": {
			sceneOf(hooked(1, noPreNormal), v1).pod("a", 0, state(preparingNormal)), []string{"PatchPod web-a -> Normal"},
		},
		"and not before": {
			sceneOf(hooked(1, noPreNormal), v1).pod("a", 0, state(preparingNormal), unbound), nil,
		},
		"with one it waits until all handlers are there": {sceneOf(hooked(1), v1).pod("a", 0, state(preparingNormal), holding("normal")), nil},
		"and then becomes normal":                        {sceneOf(hooked(1), v1).pod("a", 0, state(preparingNormal), holding("normal!")), []string{"PatchPod web-a -> Normal"}},
		"a hook holds an update back":                    {sceneOf(hooked(1), v1, v2).pod("a", 0, holding("update")), []string{"PatchPod web-a -> PreparingUpdate"}},
		"also one of a pod that is not normal yet":       {sceneOf(hooked(1), v1, v2).pod("a", 0, state(preparingNormal), holding("update!")), []string{"PatchPod web-a -> PreparingUpdate"}},
		"and marks the pod not ready first, when asked to": {
			sceneOf(hooked(1, marking), v1, v2).pod("a", 0, holding("update"), gated("[]")),
			[]string{`PatchPod web-a -> PreparingUpdate False [{"userAgent":"Lifecycle","key":"preUpdateHook"}]`},
		},
		"a pod that no hook holds is updated": {sceneOf(hooked(1), v1, v2).pod("a", 0), []string{"UpdateInPlace web-a -> Updating"}},
		"a held pod waits":                    {sceneOf(hooked(1), v1, v2).pod("a", 0, state(preparingUpdate), holding("update")), nil},
		"and is updated when it is let go":    {sceneOf(hooked(1), v1, v2).pod("a", 0, state(preparingUpdate)), []string{"UpdateInPlace web-a -> Updating"}},
		"a held pod goes back when the template goes back": {
			sceneOf(hooked(1), v1).pod("a", 0, state(preparingUpdate), holding("update!")), []string{"PatchPod web-a -> Normal"},
		},
		"and waits for its hook when the hook had let it go": {
			sceneOf(hooked(1), v1).pod("a", 0, state(preparingUpdate)), []string{"PatchPod web-a -> Updated"},
		},
		"a held pod goes back when the partition is raised": {
			sceneOf(hooked(2).Partition("2"), v1, v2).pod("a", 0, state(preparingUpdate), holding("update!")).pod("b", 0), []string{"PatchPod web-a -> Normal"},
		},
		"but not when the set is paused": {
			sceneOf(hooked(1).Paused(), v1, v2).pod("a", 0, state(preparingUpdate), holding("update!")), nil,
		},
		"with the partition lowered to one update, of two held pods one goes back": {
			sceneOf(hooked(2).Partition("1"), v1, v2).pod("a", 0, state(preparingUpdate), holding("update!")).pod("b", 0, state(preparingUpdate), holding("update!")),
			[]string{"PatchPod web-b -> Normal"},
		},
		"going back takes the mark away and leaves that of others": {
			sceneOf(hooked(1, marking), v1).pod("a", 0, state(preparingUpdate), holding("update!"), gated(both)),
			[]string{`PatchPod web-a -> Normal False [{"userAgent":"other","key":"restart"}]`},
		},
		"a finished update waits for its hook":        {sceneOf(hooked(1), v1).pod("a", 0, state(updating)), []string{"PatchPod web-a -> Updated"}},
		"or is normal when the hook is there already": {sceneOf(hooked(1), v1).pod("a", 0, state(updating), holding("update!")), []string{"PatchPod web-a -> Normal"}},
		"and is in service again then": {
			sceneOf(hooked(1, marking), v1).pod("a", 0, state(updating), holding("update!"), gated(`[{"userAgent":"Lifecycle","key":"preUpdateHook"}]`)),
			[]string{"PatchPod web-a -> Normal True []"},
		},
		"an updated pod stays until its hook is back": {sceneOf(hooked(1), v1).pod("a", 0, state(updated), holding("update")), nil},
		"and then becomes normal, too":                {sceneOf(hooked(1), v1).pod("a", 0, state(updated), holding("update!")), []string{"PatchPod web-a -> Normal"}},
		"or when there is no such hook any more": {
			sceneOf(hooked(1, func(l *kruisev1alpha1.Lifecycle) { l.InPlaceUpdate = nil }), v1).pod("a", 0, state(updated)), []string{"PatchPod web-a -> Normal"},
		},
		"a newer revision puts the hook back on an updated pod": {
			sceneOf(hooked(1), v1, v2).pod("a", 0, state(updated)), []string{"PatchPod web-a -> PreparingUpdate +update [example.com/update]"},
		},
		"a pod that is being updated goes on with the newer one": {
			sceneOf(hooked(1), v1, v2).pod("a", 0, state(updating), holding("update!"), notReady), []string{"UpdateInPlace web-a -> Updating"},
		},
		"a hook holds a deletion back": {sceneOf(hooked(0), v1).pod("a", 0, holding("delete")), []string{"PatchPod web-a -> PreparingDelete"}},
		"and marks the pod not ready first, as it does for updates": {
			sceneOf(hooked(0, marking), v1).pod("a", 0, holding("delete"), gated("[]")),
			[]string{`PatchPod web-a -> PreparingDelete False [{"userAgent":"Lifecycle","key":"preDeleteHook"}]`},
		},
		"a pod held before its deletion waits":            {sceneOf(hooked(0), v1).pod("a", 0, state(preparingDelete), holding("delete")), nil},
		"and is deleted when it is let go":                {sceneOf(hooked(0), v1).pod("a", 0, state(preparingDelete)), []string{"DeletePod web-a"}},
		"while it waits no second victim is taken":        {sceneOf(hooked(0), v1).pod("a", 0, state(preparingDelete), holding("delete")).pod("b", 0), nil},
		"a deletion is called off when the pod is wanted": {sceneOf(hooked(1), v1).pod("a", 0, state(preparingDelete), holding("delete")), []string{"PatchPod web-a -> PreparingNormal"}},
		"not for a chosen pod": {
			sceneOf(hooked(1), v1).pod("a", 0, state(preparingDelete), holding("delete"), chosen), nil,
		},
		"and not when the hook takes pods out of service": {
			sceneOf(hooked(1, marking), v1).pod("a", 0, state(preparingDelete), holding("delete")), nil,
		},
		"a chosen pod passes through the hook, too": {
			sceneOf(hooked(1), v1).pod("a", 0, chosen, holding("delete")), []string{"PatchPod web-a -> PreparingDelete"},
		},
		"recreation passes through it and cannot be called off": {
			sceneOf(hooked(1).Type(kruisev1alpha1.ReCreateCloneSetUpdateStrategyType), v1, v2).pod("a", 0, holding("delete")),
			[]string{"PatchPod web-a -> PreparingDelete chosen"},
		},
		"a pod that lacks the condition of its gate gets it": {
			sceneOf(hooked(1, marking), v1).pod("a", 0, gated("")), []string{"SetConditions web-a True []"},
		},
		"a condition that nobody can read is left alone, and the others go on": {
			sceneOf(hooked(2), v1).pod("a", 0, gated("{")).pod("b", 0, state(updated), holding("update!")), []string{"PatchPod web-b -> Normal"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, entered(plan.Next(c.scene.world, now)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}
