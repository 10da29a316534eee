// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/test/builders"
)

// A template that does not work never keeps its correction from being rolled out, and nobody has to delete a pod.
func TestACorrectedTemplateIsRolledOut(t *testing.T) {
	const good, bad = true, false
	for sentence, c := range map[string]struct {
		first    string
		releases []string
		want     string
	}{
		"it is corrected":                              {image(1, good), []string{image(2, bad), image(3, good)}, "0:v3 1:v3 2:v3"},
		"it is taken back":                             {image(1, good), []string{image(2, bad), image(1, good)}, "0:v1 1:v1 2:v1"},
		"it was the first ever":                        {image(1, bad), []string{image(2, good)}, "0:v2 1:v2 2:v2"},
		"it is corrected at the third try":             {image(1, good), []string{image(2, bad), image(3, bad), image(4, good)}, "0:v4 1:v4 2:v4"},
		"it is taken back, broken again and corrected": {image(1, good), []string{image(2, bad), image(1, good), image(2, bad), image(5, good)}, "0:v5 1:v5 2:v5"},
	} {
		for policy, settings := range map[string][]func(*builders.StatefulSetBuilder){
			"ordered, recreated": nil, "ordered, in place": {inPlace},
			"parallel": {func(b *builders.StatefulSetBuilder) { b.Parallel() }},
		} {
			t.Run(sentence+", "+policy, func(t *testing.T) {
				b := web(3)
				all(settings...)(b)
				s := stageOf(b.Build())
				s.template(c.first)
				s.settle()
				for _, release := range c.releases {
					s.template(release)
					s.settle()
				}
				if got := s.is(); got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		}
	}
}

// The same while a rollout is half done, at every moment of it.
func TestATemplateThatArrivesInTheMiddleOfARelease(t *testing.T) {
	for passes := range 12 {
		for _, settings := range [][]func(*builders.StatefulSetBuilder){nil, {inPlace}, {inPlace, grace}} {
			b := web(3)
			all(settings...)(b)
			s := stageOf(b.Build())
			s.template(image(1, true))
			s.settle()
			for _, release := range []string{image(2, true), image(3, false), image(4, true)} {
				s.template(release)
				for range passes {
					s.pass()
					s.nodes(time.Second)
				}
			}
			if s.settle(); s.is() != "0:v4 1:v4 2:v4" {
				t.Errorf("after %d passes each: %s", passes, s.is())
			}
		}
	}
}

// Two pods that only become ready together, both of a broken older revision: both are replaced, one after the other.
func TestABrokenQuorumIsReplaced(t *testing.T) {
	s := sceneOf(web(3)).pods("0cA 1xu 2xu")
	if diff := cmp.Diff([]string{"update 2"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Fatalf("first (-want +got):\n%s", diff)
	}
	s.world.Pods = s.world.Pods[:2]
	s.pods("2uu")
	if diff := cmp.Diff([]string{"update 1"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("then (-want +got):\n%s", diff)
	}
}

func TestTakingOverASetMakesNoRevisionAndRestartsNothing(t *testing.T) {
	s := sceneOf(web(2)).live(update).pods("0uA 1uA")
	object := s.world.Revisions[update].Object.DeepCopy()
	var data map[string]map[string]map[string]any
	if err := json.Unmarshal(object.Data.Raw, &data); err != nil {
		t.Fatal(err)
	}
	data["spec"]["template"]["metadata"].(map[string]any)["creationTimestamp"] = nil
	object.Data.Raw, _ = json.Marshal(data)
	s.world.Revisions[update] = revision.Decode(object)
	if got := plan.Next(s.world, now); len(got.Steps) > 0 {
		t.Errorf("a null in a revision leads to %v", s.told(got))
	}
	s.set.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	s.world.Live = revision.FromTemplate(&s.set.Spec.Template)
	if got := plan.Next(s.world, now); len(got.Steps) > 0 {
		t.Errorf("a field with its default value leads to %v", s.told(got))
	}
}

func TestThePartitionKeepsTheLowestPodsWhenTheyAreCreatedToo(t *testing.T) {
	b := web(4).Parallel().Partition(2)
	all(start(2), reserve(3, 5))(b)
	s := sceneOf(b)
	if diff := cmp.Diff([]string{"create 2@c", "create 4@c", "create 6@u", "create 7@u"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestPodsAfterTheMissingOnesCountAgainstCreationsToo(t *testing.T) {
	s := sceneOf(web(5).Parallel().ScaleMaxUnavailable("2")).pods("3uu 4uu")
	if diff := cmp.Diff([]string{"3 creations throttled"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestAnotherWayOfUpdatingIsNoRelease(t *testing.T) {
	for name, change := range map[string]func(*kruisev1beta1.RollingUpdateStatefulSetStrategy){
		"podUpdatePolicy": func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
			r.PodUpdatePolicy = kruisev1beta1.InPlaceOnlyPodUpdateStrategyType
		},
		"partition": func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.Partition = ptr.To[int32](2) },
		"paused":    func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) { r.Paused = true },
		"maxUnavailable": func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
			r.MaxUnavailable = ptr.To(intstr.FromString("50%"))
		},
	} {
		s := sceneOf(web(2).Parallel().Rolling(change)).pod(0, update, with(ungated)).pod(1, update, with(ungated))
		if got := plan.Next(s.world, now); len(got.Steps) > 0 || got.Held != "" {
			t.Errorf("%s leads to %v, held %q", name, s.told(got), got.Held)
		}
	}
}

// A pod whose node cannot give it the resources of its revision would never become available, and ordered pods would wait
// for it for ever.
func TestAResizeThatNoNodeCanMakeIsGivenUp(t *testing.T) {
	resized := func(settings ...func(*builders.StatefulSetBuilder)) *scene {
		b := web(2)
		b.With(func(s *kruisev1beta1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		})
		all(settings...)(b)
		s := sceneOf(b)
		s.set.Spec.Template.Spec.Containers[0].Image = imageCur
		s.set.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("64")
		r := recorded(s.set, 3)
		s.world.Revisions[update], s.world.Live = r, r
		s.pods("0cA 1cA")
		for _, p := range s.world.Pods {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			p.Status.ContainerStatuses[0].Resources = p.Spec.Containers[0].Resources.DeepCopy()
		}
		s.world.Unresizable = map[types.UID]string{"web-1-uid": "its node has not enough cpu"}
		return s
	}
	possible := resized(inPlace)
	got := plan.Next(possible.world, now)
	if diff := cmp.Diff([]string{"update 1"}, possible.told(got)); diff != "" {
		t.Fatalf("steps (-want +got):\n%s", diff)
	}
	if _, recreated := got.Steps[0].(step.DeletePod); !recreated || got.Steps[0].Why() != "its node has not enough cpu" {
		t.Errorf("%T because %s", got.Steps[0], got.Steps[0].Why())
	}
	only := resized(func(b *builders.StatefulSetBuilder) { inPlaceOnly(b) })
	got = plan.Next(only.world, now)
	if diff := cmp.Diff([]string{"update 0"}, only.told(got), cmpopts.EquateEmpty()); diff != "" || len(got.Refused) != 1 {
		t.Errorf("refused %q, steps (-want +got):\n%s", got.Refused, diff)
	}
}

// What the condition of the node says after the resize was made holds ordered pods up until the pod is replaced.
func TestAnInfeasibleResizeIsReplacedThoughOrderedPodsWaitForIt(t *testing.T) {
	s := sceneOf(web(2).InPlace()).pods("0uA").pod(1, update, notReady, func(b *builders.PodBuilder) {
		b.Annotation("apps.kruise.io/inplace-update-state",
			`{"revision":"r","updateTimestamp":"2026-01-01T00:00:00Z","lastContainerStatuses":null,"updateResources":true,"resizedContainers":["app"]}`)
		b.With(func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible})
		})
	})
	if diff := cmp.Diff([]string{"update 1"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	s.set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](2)
	if diff := cmp.Diff([]string{"update 1"}, s.told(plan.Next(s.world, now))); diff != "" {
		t.Errorf("steps below the partition (-want +got):\n%s", diff)
	}
}

// A set that needs nothing causes no write, however often it is looked at.
func TestASettledSetIsLeftAlone(t *testing.T) {
	s := stageOf(claimed(4, inPlace, growing, retain("Delete", "Delete"), hooked(true)).Build())
	if !s.settle() {
		t.Fatal("not settled")
	}
	before := s.writes
	for range 5 {
		s.pass()
		s.nodes(time.Minute)
	}
	if s.writes != before || !slices.ContainsFunc(s.world.Pods, func(p *corev1.Pod) bool { return p.Name == "web-3" }) {
		t.Errorf("%d writes", s.writes-before)
	}
}
