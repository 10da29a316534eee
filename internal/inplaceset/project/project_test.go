// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/inplaceset/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/internal/unit"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/told"
)

var now = builders.Epoch().Add(time.Hour)

// settled are the objects of a set whose pods are all available at its one revision.
func settled(t *rapid.T, set *cafev1alpha1.InPlaceSet) story.Objects {
	reference := *metav1.NewControllerRef(set, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind))
	template := unit.Within(&set.Spec.Template, set.Spec.UnitType, set.Spec.DeployUnit)
	stored, err := revision.Draft{Owner: set, Reference: reference, Template: template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	set.Status.CurrentRevision, set.Status.UpdateRevision = stored.Name, stored.Name
	o := story.Objects{Revisions: []*appsv1.ControllerRevision{stored}}
	for i := range *set.Spec.Replicas {
		o.Pods = append(o.Pods, builders.InPlacePod(set, fmt.Sprintf("p%d", i), revision.HashOf(stored.Name)).Build())
	}
	return o
}

// first is what the planner does with pods in its first pass in which it does anything with them.
func first(t *rapid.T, set *cafev1alpha1.InPlaceSet, o story.Objects) (did []string) {
	world := plan.World{Set: set, Live: revision.FromTemplate(unit.Within(&set.Spec.Template, set.Spec.UnitType, set.Spec.DeployUnit)), Pods: o.Pods}
	for _, r := range o.Revisions {
		world.Revisions = append(world.Revisions, revision.Decode(r))
	}
	for range 2 {
		for _, s := range plan.Next(world, now).Steps {
			switch s := s.(type) {
			case step.CreateRevision:
				world.Revisions = append(world.Revisions, revision.Decode(s.Revision))
			case step.CreatePod:
				did = append(did, "create "+s.Subject())
			case step.UpdateInPlace:
				did = append(did, "update in place "+s.Subject())
			case step.DeletePod:
				verb := "delete "
				if s.Cause == step.Recreate {
					verb = "recreate "
				}
				did = append(did, verb+s.Subject())
			default:
				t.Fatalf("nobody expects %T", s)
			}
		}
		if len(did) > 0 {
			return did
		}
	}
	return nil
}

// TestStories: for any spec, a story ends, is the same each time, changes nothing that it was given, begins with what the
// planner does, stays within the allowance, and never goes below the least that it states.
func TestStories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		replicas, unavailable := rapid.Int32Range(1, 7).Draw(rt, "replicas"), rapid.IntRange(1, 4).Draw(rt, "unavailable")
		set := builders.InPlaceSet("web").Replicas(replicas).Partition(fmt.Sprint(rapid.IntRange(0, 8).Draw(rt, "partition"))).
			MaxUnavailable(fmt.Sprint(unavailable)).With(func(s *cafev1alpha1.InPlaceSet) {
			s.Spec.MinReadySeconds, s.Spec.DeployUnit = rapid.Int32Range(0, 5).Draw(rt, "minReady"), rapid.SampledFrom([]string{"", "CellA"}).Draw(rt, "unit")
		}).Build()
		o := settled(rt, set)
		set.Spec.Strategy.Paused = rapid.Bool().Draw(rt, "paused")
		if rapid.Bool().Draw(rt, "scaled") {
			set.Spec.Replicas = ptr.To(rapid.Int32Range(0, 9).Draw(rt, "new replicas"))
		}
		template := &set.Spec.Template.Spec.Containers[0]
		switch rapid.IntRange(0, 2).Draw(rt, "template") {
		case 1:
			template.Image = "registry.test/app:v2"
		case 2:
			template.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		}
		before, pods, names := set.DeepCopy(), make([]*corev1.Pod, 0, len(o.Pods)), []string{}
		for _, p := range o.Pods {
			pods, names = append(pods, p.DeepCopy()), append(names, p.Name)
		}
		tale := Of(set, o, now)
		if diff := cmp.Diff(tale, Of(set, o, now)); diff != "" {
			rt.Fatalf("two stories of one world:\n%s", diff)
		}
		if diff := cmp.Diff(before, set) + cmp.Diff(pods, o.Pods); diff != "" {
			rt.Fatalf("the world was changed:\n%s", diff)
		}
		if err := told.Follow(tale, names); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, tale.Moments)
		}
		if diff := cmp.Diff(first(rt, set, o), told.Pods(tale)); diff != "" {
			rt.Fatalf("it begins otherwise than the planner (-planned +told):\n%s", diff)
		}
		wanted := int(*set.Spec.Replicas)
		if floor := min(len(pods), wanted) - unavailable; tale.Least < floor {
			rt.Fatalf("only %d of %d pods available, with %d allowed not to be", tale.Least, wanted, unavailable)
		}
		if tale.End.Total != wanted || tale.End.Available != wanted {
			rt.Fatalf("in the end %+v of %d", tale.End, wanted)
		}
	})
}
