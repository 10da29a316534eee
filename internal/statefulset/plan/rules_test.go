// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

func readyFor(d time.Duration) func(*builders.PodBuilder) {
	return func(b *builders.PodBuilder) { b.ReadySince(now.Add(-d)) }
}

func minReady(seconds int32) func(*builders.StatefulSetBuilder) {
	return func(b *builders.StatefulSetBuilder) {
		b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.MinReadySeconds = ptr.To(seconds) })
	}
}

func set(replicas int32, settings ...func(*builders.StatefulSetBuilder)) *scene {
	b := web(replicas)
	all(settings...)(b)
	return sceneOf(b)
}

func inParallel(b *builders.StatefulSetBuilder) { b.Parallel() }

// TestBounds is about the numbers of a spec and what they do not bind.
func TestBounds(t *testing.T) {
	for sentence, c := range map[string]struct {
		scene *scene
		want  []string
		held  string
	}{
		"ordered pods are updated one at a time, whatever is stored": {
			set(3, unavailable("3")).pods("0cA 1cA 2cA"), []string{"update 2"}, "the update waits: 1 of 3 positions are unavailable, and maxUnavailable allows 1",
		},
		"the limit of creations is never less than one": {
			set(10, inParallel, scaleCap("5%")), []string{"create 0@u", "9 creations throttled"}, "9 pods more are missing than scaleStrategy.maxUnavailable lets be created now",
		},
		"the limit of creations stops no update": {
			set(3, inParallel, unavailable("2"), scaleCap("1")).pods("0cA 1cA 2uu"), []string{"update 1"}, "the update waits: 2 of 3 positions are unavailable, and maxUnavailable allows 2",
		},
		"nor a deletion": {
			set(1, inParallel, scaleCap("1")).pods("0uu 1uA"), []string{"delete 1 (scale-in)"}, "",
		},
		"and does not bind ordered pods": {
			set(3, scaleCap("1")).pods("0uA"), []string{"create 1@u"}, "",
		},
		"a raised partition moves no pod back": {
			set(3, partition(3)).pods("0uA 1uA 2uA"), nil, "",
		},
		"OnDelete leaves broken pods of an older revision": {
			set(2, onDelete).pods("0cA 1xu"), nil, "pod web-1 is not available: container app is not ready",
		},
		"a pod that was not ready for long enough uses up what may be unavailable": {
			set(3, inParallel, minReady(60)).pods("0cA 1cA").pod(2, update, readyFor(10*time.Second)), nil,
			"the update waits: 1 of 3 positions are unavailable, and maxUnavailable allows 1",
		},
		"and counts against creations": {
			set(3, inParallel, minReady(60), scaleCap("1")).pods("0uA").pod(1, update, readyFor(10*time.Second)), []string{"1 creations throttled"},
			"1 pods more are missing than scaleStrategy.maxUnavailable lets be created now",
		},
		"and is not scaled in before its time where pods are ordered": {
			set(1, minReady(60)).pods("0uA").pod(1, update, readyFor(10*time.Second)), nil,
			"scaling in waits: pod web-1 is not available: it has not been ready for minReadySeconds",
		},
		"unordered, a pod that prepares for its update counts as updated when others are created": {
			set(3, inParallel, unordered, inPlace, partition(2), hooked(false)).pod(0, current, is(preparingUpdate)).pods("1cA"), []string{"create 2@c"}, "*",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := plan.Next(c.scene.world, now)
			if diff := cmp.Diff(c.want, c.scene.told(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if c.held != "*" && got.Held != c.held {
				t.Errorf("held %q, want %q", got.Held, c.held)
			}
		})
	}
}

// A broken pod of the old revision must not use up what the healthy ones need.
func TestOneBrokenOldPodDoesNotBlockAParallelRelease(t *testing.T) {
	s := stageOf(web(5).Parallel().Build())
	s.template(image(1, true))
	s.settle()
	s.modify(step.On(s.pod("web-0")), func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = image(1, false)
		p.Generation++
	})
	s.nodes(10 * time.Second)
	if got := s.is(); got != "0:v1-broken! 1:v1 2:v1 3:v1 4:v1" {
		t.Fatalf("before the release: %s", got)
	}
	s.template(image(2, true))
	if s.settle(); s.is() != "0:v2 1:v2 2:v2 3:v2 4:v2" {
		t.Errorf("at the end: %s", s.is())
	}
}

func TestAFailedPodComesBackAtALimitOfOne(t *testing.T) {
	s := stageOf(web(3).Parallel().ScaleMaxUnavailable("1").Build())
	s.settle()
	before := s.pod("web-1").UID
	s.modify(step.On(s.pod("web-1")), func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodFailed} })
	s.settle()
	if again := s.pod("web-1"); again == nil || again.UID == before || !pod.IsReady(again) {
		t.Errorf("at the end: %s", s.is())
	}
}

func TestAScaleInThatIsCalledOffLeavesThePodNormal(t *testing.T) {
	for sentence, settings := range map[string][]func(*builders.StatefulSetBuilder){"ordered": nil, "parallel": {inParallel}} {
		t.Run(sentence, func(t *testing.T) {
			s := stageOf(guarded(2, settings...).Build())
			s.settle()
			before := s.pod("web-1").UID
			s.world.Set.Spec.Replicas = ptr.To[int32](1)
			s.settle()
			if p := s.pod("web-1"); p == nil || pod.Lifecycle(p) != preparingDelete {
				t.Fatalf("the pod does not prepare for its deletion: %s", s.is())
			}
			s.world.Set.Spec.Replicas = ptr.To[int32](2)
			s.settle()
			if p := s.pod("web-1"); p == nil || p.UID != before || pod.Lifecycle(p) != kruisev1alpha1.LifecycleNormal {
				t.Errorf("at the end: %s, state %s", s.is(), pod.Lifecycle(p))
			}
		})
	}
}

// Hooks of a new pod: only preNormal keeps it from being Normal at once.
func TestANewPodIsNormalUnlessItsPreNormalHookComesFirst(t *testing.T) {
	hook := &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{guard: "on"}}
	for sentence, c := range map[string]struct {
		hooks    kruisev1alpha1.Lifecycle
		template string // is the value of the guard in the template
		want     kruisev1alpha1.LifecycleState
	}{
		"a preNormal hook": {kruisev1alpha1.Lifecycle{PreNormal: hook}, "", kruisev1alpha1.LifecyclePreparingNormal},
		"one whose handlers the template carries already": {kruisev1alpha1.Lifecycle{PreNormal: hook}, "on", kruisev1alpha1.LifecycleNormal},
		"any other hook": {kruisev1alpha1.Lifecycle{PreDelete: hook, InPlaceUpdate: hook}, "", kruisev1alpha1.LifecycleNormal},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := stageOf(web(1).With(func(s *kruisev1beta1.StatefulSet) {
				s.Spec.Lifecycle = &c.hooks
				if c.template != "" {
					s.Spec.Template.Labels[guard] = c.template
				}
			}).Build())
			s.settle()
			p := s.pod("web-0")
			if got := pod.Lifecycle(p); got != c.want {
				t.Fatalf("the pod is %s, want %s", got, c.want)
			}
			s.modify(step.On(p), func(p *corev1.Pod) { p.Labels[guard] = "on" })
			if s.settle(); pod.Lifecycle(s.pod("web-0")) != kruisev1alpha1.LifecycleNormal || s.is() != "0:v1" {
				t.Errorf("with its handlers the pod is %s: %s", pod.Lifecycle(s.pod("web-0")), s.is())
			}
		})
	}
}

// Who made a claim's reference may have made it the controller's; it means the same.
func TestAReferenceToTheSetThatControlsIsLeftAsItIs(t *testing.T) {
	s := sceneOf(claimed(1, retain("Retain", "Delete"))).pods("0uA").claim("data", 0, "1Gi", func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.kruise.io/v1alpha1", Kind: "StatefulSet", Name: "web", UID: types.UID("web-uid"), Controller: ptr.To(true)}}
	})
	if got := s.told(plan.Next(s.world, now)); len(got) > 0 {
		t.Errorf("it leads to %v", got)
	}
}

// The volumes of a pod that runs cannot change, so a changed list of claim templates is no reason to leave it on its revision.
func TestOtherClaimTemplatesKeepNoPodFromItsUpdate(t *testing.T) {
	bare := func(p *corev1.Pod) { p.Spec.Volumes = nil }
	mounted := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"}}}}
	}
	for sentence, s := range map[string]*scene{
		"one was added, in place":        sceneOf(claimed(1, inPlace)).pod(0, current, with(bare)),
		"one was added, recreated":       sceneOf(claimed(1)).pod(0, current, with(bare)),
		"one was removed, in place":      set(1, inPlace).pod(0, current, with(mounted)),
		"one was removed, recreated":     set(1).pod(0, current, with(mounted)),
		"one was added, claims grow too": sceneOf(claimed(1, growing, inPlace)).pod(0, current, with(bare)),
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff([]string{"update 0"}, s.told(plan.Next(s.world, now))); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}
