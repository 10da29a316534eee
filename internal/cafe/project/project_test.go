// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/cafe/plan"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
)

var (
	now  = builders.Epoch().Add(time.Hour)
	one  = Options{Unavailable: func(int) int { return 1 }}
	many = Options{Unavailable: func(n int) int { return n }}
)

// deployment is one of so many pods over so many units.
func deployment(kind cafev1alpha1.PodSetType, replicas int32, units int) *cafev1alpha1.CafeDeployment {
	d := &cafev1alpha1.CafeDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid", Generation: 1, ResourceVersion: "1"},
		Spec: cafev1alpha1.CafeDeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, PodSetType: kind,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: builders.Image}}},
			},
			Topology: cafev1alpha1.Topology{UnitType: cafev1alpha1.CellUnitType},
		},
	}
	for i := range units {
		d.Spec.Topology.Values = append(d.Spec.Topology.Values, fmt.Sprintf("cell%d", i))
	}
	return d
}

// settled is the world of a deployment whose pods are all there.
func settled(t *rapid.T, d *cafev1alpha1.CafeDeployment) plan.World {
	reference := *metav1.NewControllerRef(d, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind))
	stored, err := revision.Draft{Owner: d, Reference: reference, Template: &d.Spec.Template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	d.Status.CurrentRevision, d.Status.UpdateRevision = stored.Name, stored.Name
	world := plan.World{Deployment: d, Revisions: []revision.Revision{revision.Decode(stored)}}
	shares, err := plan.Split(int(*d.Spec.Replicas), d.Spec.Topology.Values, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shares {
		d.Status.Units = append(d.Status.Units, cafev1alpha1.UnitStatus{Name: s.Unit, Desired: int32(s.Pods)})
		all := plan.Counts{Has: s.Pods, Ready: s.Pods, Available: s.Pods, Updated: s.Pods, UpdatedAvailable: s.Pods}
		world.Units = append(world.Units, plan.Unit{Name: s.Unit, Pods: s.Pods, Sets: []plan.Set{{
			Name: "web-" + s.Unit, Revision: stored.Name, Asked: s.Pods, UnitAsked: s.Pods, Seen: true, Counts: all,
		}}})
	}
	return world
}

// follow goes through the numbers that a story tells, and says where they contradict each other.
func follow(s story.Story) error {
	total, least, order := s.Start.Total, s.Start.Available, 0
	for i, m := range s.Moments {
		gone := 0
		for _, a := range m.Actions {
			if a.Order == 0 {
				continue
			}
			if a.Order != order+1 || a.Pods < 1 {
				return fmt.Errorf("moment %d: action %d of %d pods comes after %d", i+1, a.Order, a.Pods, order)
			}
			order += a.Pods
			switch a.Verb {
			case story.Create:
				total += a.Pods
			case story.Delete:
				gone += a.Pods
			case story.InPlace, story.Recreate, story.Update:
			default:
				return fmt.Errorf("moment %d: nobody knows how to %s", i+1, a.Verb)
			}
		}
		total -= gone
		if m.After.Total != total || m.After.Available > total || m.During.Available > m.During.Total {
			return fmt.Errorf("moment %d: %d pods are there, and it tells of %+v, then %+v", i+1, total, m.During, m.After)
		}
		least = min(least, m.During.Available, m.After.Available)
	}
	if s.Least != least {
		return fmt.Errorf("at least %d pods are available, and it states %d", least, s.Least)
	}
	return nil
}

// TestStories: for any spec, a story ends where the spec wants it, is the same each time, changes nothing that it was given,
// asks a person before each group but the first, and takes no more pods out of service than the largest group has.
func TestStories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]cafev1alpha1.PodSetType{
			cafev1alpha1.InPlaceSetPodSetType, cafev1alpha1.ReplicaSetPodSetType, cafev1alpha1.StatefulSetPodSetType, cafev1alpha1.CloneSetPodSetType,
		}).Draw(rt, "kind")
		replicas := rapid.Int32Range(1, 12).Draw(rt, "replicas")
		d := deployment(kind, replicas, rapid.IntRange(1, 3).Draw(rt, "units"))
		world := settled(rt, d)
		strategy := &d.Spec.Strategy
		strategy.NeedWaitingForConfirm = rapid.Bool().Draw(rt, "confirm")
		if rapid.Bool().Draw(rt, "beta") {
			strategy.UpgradeType = cafev1alpha1.BetaUpgradeType
		}
		if rapid.Bool().Draw(rt, "batches") {
			strategy.BatchSize = ptr.To(rapid.Int32Range(1, 5).Draw(rt, "batchSize"))
		}
		kept := int32(0)
		if kept = rapid.Int32Range(0, replicas).Draw(rt, "partition"); kept > 0 {
			strategy.Partition = &kept
		}
		scaled := rapid.Bool().Draw(rt, "scaled")
		if scaled {
			d.Spec.Replicas = ptr.To(rapid.Int32Range(0, 14).Draw(rt, "new replicas"))
		}
		changes := rapid.Bool().Draw(rt, "template")
		if changes {
			d.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
		}
		world.Live = revision.FromTemplate(&d.Spec.Template)
		before := d.DeepCopy()
		told := Of(world, now, many)
		if diff := cmp.Diff(told, Of(world, now, many)) + cmp.Diff(before, d); diff != "" {
			rt.Fatalf("another story, or another world:\n%s", diff)
		}
		if err := follow(told); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, told.Moments)
		}
		wanted := int(*d.Spec.Replicas)
		if told.End.Total != wanted || told.End.Available != wanted {
			rt.Fatalf("in the end %+v of %d; left: %q", told.End, wanted, told.Left)
		}
		if floor := min(told.Start.Available, wanted) - told.MaxUnavailable; told.Least < floor {
			rt.Fatalf("only %d of %d pods available, and the largest group has %d", told.Least, wanted, told.MaxUnavailable)
		}
		asked, updated := 0, 0
		for _, m := range told.Moments {
			for _, a := range m.Actions {
				switch a.Verb {
				case story.Confirm:
					asked++
				case story.InPlace, story.Recreate, story.Update:
					updated += a.Pods
				default:
				}
			}
		}
		waits := len(slices.DeleteFunc(slices.Clone(told.Groups), func(g story.Group) bool { return !g.Waits }))
		if asked != waits {
			rt.Fatalf("a person is asked %d times, and %d groups wait for one", asked, waits)
		}
		if want := int(replicas - kept); changes && !scaled && kind != cafev1alpha1.ReplicaSetPodSetType && updated != want {
			rt.Fatalf("%d pods are updated of %d, and the partition keeps %d", updated, replicas, kept)
		}
	})
}

// A pod set that takes one pod at a time out of service leaves more of them available than one that takes all.
func TestPodSetsGoAtTheirOwnPace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := deployment(cafev1alpha1.InPlaceSetPodSetType, 12, 2)
		world := settled(rt, d)
		d.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
		world.Live = revision.FromTemplate(&d.Spec.Template)
		d.Spec.Strategy.BatchSize = ptr.To(rapid.Int32Range(2, 12).Draw(rt, "batchSize"))
		if told := Of(world, now, one); told.Least != 10 {
			rt.Fatalf("at least %d of 12 pods are available, and each of two units takes one out of service", told.Least)
		}
		if told := Of(world, now, many); told.Least != 12-told.MaxUnavailable {
			rt.Fatalf("at least %d of 12 pods are available, and the largest group has %d", told.Least, told.MaxUnavailable)
		}
	})
}
