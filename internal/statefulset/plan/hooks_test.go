// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// guard is the label by which both hooks hold a pod.
const guard = "example.com/guard"

func hooked(marks bool) func(*builders.StatefulSetBuilder) {
	hook := &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{guard: "on"}, MarkPodNotReady: marks}
	return func(b *builders.StatefulSetBuilder) {
		b.With(func(s *kruisev1beta1.StatefulSet) {
			s.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{PreDelete: hook, InPlaceUpdate: hook}
			s.Spec.Template.Labels[guard] = "on"
		})
	}
}

func guarded(replicas int32, settings ...func(*builders.StatefulSetBuilder)) *builders.StatefulSetBuilder {
	b := web(replicas)
	all(append(settings, hooked(false))...)(b)
	return b
}

func inPlace(b *builders.StatefulSetBuilder) { b.InPlace() }

func is(l kruisev1alpha1.LifecycleState) func(*builders.PodBuilder) { return state(l) }

// letGo takes the guard off: the hook has done its work.
func letGo(b *builders.PodBuilder) { b.With(func(p *corev1.Pod) { delete(p.Labels, guard) }) }

const (
	preparingDelete = kruisev1alpha1.LifecyclePreparingDelete
	preparingUpdate = kruisev1alpha1.LifecyclePreparingUpdate
)

func TestHooks(t *testing.T) {
	const heldDelete, heldUpdate = "pod web-1 waits: the preDelete hook holds its deletion", "pod web-1 waits: the inPlaceUpdate hook holds pods"
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
		held  string
	}{
		"a pod to scale in is prepared first": {sceneOf(guarded(1)).pods("0uA 1uA"), []string{"PatchPod 1"}, ""},
		"while its hook holds it, it stays":   {sceneOf(guarded(1)).pods("0uA").pod(1, update, is(preparingDelete)), nil, heldDelete},
		"then it goes":                        {sceneOf(guarded(1)).pods("0uA").pod(1, update, is(preparingDelete), letGo), []string{"delete 1 (scale-in)"}, ""},
		"also when ordered pods wait for another one": {
			sceneOf(guarded(1)).pods("0uu").pod(1, update, is(preparingDelete), letGo), []string{"delete 1 (scale-in)"}, "",
		},
		"where pods are ordered one at a time goes": {
			sceneOf(guarded(1)).pods("0uA").pod(1, update, is(preparingDelete), letGo).pod(2, update, is(preparingDelete), letGo), []string{"delete 2 (scale-in)"}, "",
		},
		"a pod that is wanted again comes back":                 {sceneOf(guarded(2)).pods("0uA").pod(1, update, is(preparingDelete)), []string{"PatchPod 1"}, "pod web-1 is not available: *"},
		"but not when it was chosen":                            {sceneOf(guarded(2)).pods("0uA").pod(1, update, is(preparingDelete), chosen, letGo), []string{"delete 1 (specified)"}, ""},
		"nor when its revision has to change":                   {sceneOf(guarded(2)).pods("0cA").pod(1, current, is(preparingDelete), letGo), []string{"update 1"}, ""},
		"but when the partition was raised over it":             {sceneOf(guarded(2, partition(2))).pods("0cA").pod(1, current, is(preparingDelete), letGo), []string{"PatchPod 1"}, "pod web-1 is not available: *"},
		"nor when it has finished":                              {sceneOf(guarded(2)).pods("0uA").pod(1, update, failed, is(preparingDelete), letGo), []string{"delete 1 (failed)"}, ""},
		"a pod to recreate is prepared first":                   {sceneOf(guarded(2)).pods("0cA 1cA"), []string{"PatchPod 1"}, "the update waits: 1 of 2 positions are unavailable, and maxUnavailable allows 1"},
		"a pod to update in place is prepared first":            {sceneOf(guarded(2, inPlace)).pods("0cA 1cA"), []string{"PatchPod 1"}, "the update waits: 1 of 2 positions are unavailable, and maxUnavailable allows 1"},
		"while its hook holds it, it waits":                     {sceneOf(guarded(2, inPlace)).pods("0cA").pod(1, current, is(preparingUpdate)), nil, heldUpdate},
		"then it is updated":                                    {sceneOf(guarded(2, inPlace)).pods("0cA").pod(1, current, is(preparingUpdate), letGo), []string{"update 1"}, ""},
		"also while paused, since it is out of service":         {sceneOf(guarded(2, inPlace, paused)).pods("0cA").pod(1, current, is(preparingUpdate), letGo), []string{"update 1"}, ""},
		"paused it is still held":                               {sceneOf(guarded(2, inPlace, paused)).pods("0cA").pod(1, current, is(preparingUpdate)), nil, "pod web-1 waits: the inPlaceUpdate hook holds its update"},
		"an update is called off when the partition is raised":  {sceneOf(guarded(2, inPlace, partition(2))).pods("0cA").pod(1, current, is(preparingUpdate)), []string{"PatchPod 1"}, "pod web-1 is not available: *"},
		"or the template goes back to what the pod has":         {sceneOf(guarded(2, inPlace)).live(current).pods("0cA").pod(1, current, is(preparingUpdate)), []string{"RenumberRevision", "PatchPod 1"}, "pod web-1 is not available: *"},
		"or somebody else is to delete pods":                    {sceneOf(guarded(2, inPlace, onDelete)).pods("0cA").pod(1, current, is(preparingUpdate)), []string{"PatchPod 1"}, "pod web-1 is not available: *"},
		"a broken pod behind one that a hook holds is replaced": {sceneOf(guarded(2, inPlace)).pod(0, older, notReady, letGo).pod(1, current, is(preparingUpdate)), []string{"update 0"}, heldUpdate},
		"a pod that has finished is prepared first too":         {sceneOf(guarded(2)).pods("0uA").pod(1, update, failed), []string{"PatchPod 1"}, ""},
		"a pod that prepares for its deletion is not updated": {
			sceneOf(guarded(3, inPlace)).pods("0cA 1cA").pod(2, current, is(preparingDelete)), nil, "pod web-2 waits: the preDelete hook holds its deletion",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, c.scene.told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if prefix, open := cutStar(c.held); got.Held != c.held && !(open && len(got.Held) > len(prefix) && got.Held[:len(prefix)] == prefix) {
				t.Errorf("held %q, want %q", got.Held, c.held)
			}
		})
	}
}

func cutStar(s string) (prefix string, has bool) {
	if s == "" || s[len(s)-1] != '*' {
		return s, false
	}
	return s[:len(s)-1], true
}

// A recreated pod is not labelled as chosen: the label is for people and other controllers.
func TestNoPodIsChosenByTheSet(t *testing.T) {
	prepared := plan.Next(sceneOf(guarded(1)).pods("0cA").world, now).Steps[0].(step.PatchPod)
	if _, chosen := prepared.Patch.Labels[kruisev1alpha1.LabelSpecifiedDelete]; chosen {
		t.Errorf("labels %v", prepared.Patch.Labels)
	}
}

// What a hook has taken out of service may have been let down already, so its deletion is completed.
func TestAPodThatWasTakenOutOfServiceIsNotWantedBack(t *testing.T) {
	b := web(2)
	hooked(true)(b)
	s := sceneOf(b).pods("0uA").pod(1, update, is(preparingDelete), letGo)
	if diff := cmp.Diff([]string{"update 1"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// Every kind of release comes to its end when hooks work on every pod and let go of it a moment later.
func TestReleasesWithHooksComeToTheirEnd(t *testing.T) {
	for sentence, settings := range map[string][]func(*builders.StatefulSetBuilder){
		"ordered, recreated":              nil,
		"ordered, in place":               {inPlace},
		"parallel, in place":              {inPlace, func(b *builders.StatefulSetBuilder) { b.Parallel() }, unavailable("2")},
		"ordered, in place, marked":       {inPlace, hooked(true)},
		"parallel, unordered, recreated":  {func(b *builders.StatefulSetBuilder) { b.Parallel() }, unordered},
		"ordered, in place, with a grace": {inPlace, grace},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := web(3)
			all(append([]func(*builders.StatefulSetBuilder){hooked(false)}, settings...)...)(b)
			s := stageOf(b.Build())
			for _, each := range []string{image(1, true), image(2, false), image(3, true)} {
				s.template(each)
				for range 60 {
					s.pass()
					s.nodes(2e9)
					s.providers()
				}
			}
			if got, want := s.is(), "0:v3 1:v3 2:v3"; got != want {
				t.Errorf("at the end %s, want %s", got, want)
			}
			for _, p := range s.world.Pods {
				if c := pod.Condition(p, kruisev1alpha1.ConditionKruisePodReady); pod.HasGate(p, kruisev1alpha1.ConditionKruisePodReady) && (c == nil || c.Status != corev1.ConditionTrue || c.Message != "[]") {
					t.Errorf("condition KruisePodReady of pod %s is %+v at the end", p.Name, c)
				}
			}
			if next := plan.Next(s.world, s.now); len(next.Steps) > 0 || next.Held != "" {
				t.Errorf("%d steps at the end, held %q", len(next.Steps), next.Held)
			}
		})
	}
}

func grace(b *builders.StatefulSetBuilder) {
	b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
		r.InPlaceUpdateStrategy = &kruisev1alpha1.InPlaceUpdateStrategy{GracePeriodSeconds: 5}
	})
}

// providers do what the providers of hooks do: they let a pod go that prepares, and guard it again when it was updated.
func (s *stage) providers() {
	for _, p := range s.world.Pods {
		switch pod.Lifecycle(p) {
		case preparingDelete, preparingUpdate:
			s.modify(step.On(p), func(p *corev1.Pod) { delete(p.Labels, guard) })
		case kruisev1alpha1.LifecycleUpdated:
			s.modify(step.On(p), func(p *corev1.Pod) { p.Labels[guard] = "on" })
		default:
		}
	}
}
