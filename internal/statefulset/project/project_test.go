// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/statefulset/plan"
	"slipway.dev/slipway/internal/step"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/told"
)

var now = builders.Epoch().Add(time.Hour)

type fatal interface{ Fatal(...any) }

// settled are the objects of a set whose pods are all available at its one revision.
func settled(t fatal, set *kruisev1beta1.StatefulSet) story.Objects {
	reference := *metav1.NewControllerRef(set, kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind))
	stored, err := revision.Draft{Owner: set, Reference: reference, Template: &set.Spec.Template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	set.Status.CurrentRevision, set.Status.UpdateRevision = stored.Name, stored.Name
	o := story.Objects{Revisions: []*appsv1.ControllerRevision{stored}}
	for i := range *set.Spec.Replicas {
		o.Pods = append(o.Pods, builders.MemberPod(set, int(i), stored.Name).Condition("InPlaceUpdateReady", corev1.ConditionTrue, "", builders.Epoch()).Build())
	}
	return o
}

func names(pods []*corev1.Pod) (all []string) {
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

// first is what the planner does with pods in its first pass in which it does anything with them.
func first(t fatal, set *kruisev1beta1.StatefulSet, o story.Objects) (did []string) {
	world := plan.World{Set: set, Live: revision.FromTemplate(&set.Spec.Template), Pods: o.Pods}
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
				t.Fatal("nobody expects ", fmt.Sprintf("%T", s))
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
		replicas, unavailable := rapid.Int32Range(1, 6).Draw(rt, "replicas"), 1
		b := builders.StatefulSet("web").Replicas(replicas).Partition(rapid.Int32Range(0, 7).Draw(rt, "partition"))
		if rapid.Bool().Draw(rt, "parallel") {
			unavailable = rapid.IntRange(1, 4).Draw(rt, "unavailable")
			b.Parallel().MaxUnavailable(fmt.Sprint(unavailable))
		}
		if rapid.Bool().Draw(rt, "in place where possible") {
			b.InPlace()
		}
		b.Rolling(func(r *kruisev1beta1.RollingUpdateStatefulSetStrategy) {
			r.MinReadySeconds, r.Paused = ptr.To(rapid.Int32Range(0, 5).Draw(rt, "minReady")), rapid.Bool().Draw(rt, "paused")
		})
		set := b.Build()
		o := settled(rt, set)
		if rapid.Bool().Draw(rt, "scaled") {
			set.Spec.Replicas = ptr.To(rapid.Int32Range(0, 8).Draw(rt, "new replicas"))
		}
		template := &set.Spec.Template.Spec.Containers[0]
		switch rapid.IntRange(0, 2).Draw(rt, "template") {
		case 1:
			template.Image = "registry.test/app:v2"
		case 2:
			template.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		}
		before, pods := set.DeepCopy(), make([]*corev1.Pod, 0, len(o.Pods))
		for _, p := range o.Pods {
			pods = append(pods, p.DeepCopy())
		}
		tale := Of(set, o, now)
		if diff := cmp.Diff(tale, Of(set, o, now)); diff != "" {
			rt.Fatalf("two stories of one world:\n%s", diff)
		}
		if diff := cmp.Diff(before, set) + cmp.Diff(pods, o.Pods); diff != "" {
			rt.Fatalf("the world was changed:\n%s", diff)
		}
		if err := told.Follow(tale, names(o.Pods)); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, tale.Moments)
		}
		if diff := cmp.Diff(first(rt, set, o), told.Pods(tale)); diff != "" {
			rt.Fatalf("it begins otherwise than the planner (-planned +told):\n%s", diff)
		}
		wanted := int(*set.Spec.Replicas)
		if floor := min(len(pods), wanted) - unavailable; tale.Least < floor {
			rt.Fatalf("only %d of %d pods available, with %d allowed not to be", tale.Least, wanted, unavailable)
		}
		if tale.End.Total != wanted {
			rt.Fatalf("in the end %+v of %d", tale.End, wanted)
		}
	})
}

func claims(set *kruisev1beta1.StatefulSet, size string) (all []*corev1.PersistentVolumeClaim) {
	for i := range *set.Spec.Replicas {
		all = append(all, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: fmt.Sprintf("data-web-%d", i), UID: "claim", ResourceVersion: "1"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
			},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		})
		all[i].UID += "-" + set.UID
	}
	return all
}

func verbs(s story.Story) string {
	var did []string
	for _, m := range s.Moments {
		for _, a := range m.Actions {
			did = append(did, fmt.Sprintf("%s %s", a.Verb, strings.TrimPrefix(a.Object, "web-")))
		}
	}
	return strings.Join(did, ", ")
}

func TestClaimsAreToldOf(t *testing.T) {
	follows := func(s *kruisev1beta1.StatefulSet) {
		s.Spec.VolumeClaimUpdateStrategy.Type = kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
		s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	}
	goes := func(s *kruisev1beta1.StatefulSet) {
		*s.Spec.Replicas = 1
		s.Spec.PersistentVolumeClaimRetentionPolicy = &kruisev1beta1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenScaled: kruisev1beta1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
	}
	for sentence, test := range map[string]struct {
		edit          func(*kruisev1beta1.StatefulSet)
		want, assumed string
	}{
		"claims that exist are used":                 {func(*kruisev1beta1.StatefulSet) {}, "", ""},
		"they grow with their template":              {follows, "enlarge claim data-web-1, enlarge claim data-web-0", "storage classes let volumes grow, and they do at once"},
		"a new pod gets one":                         {func(s *kruisev1beta1.StatefulSet) { *s.Spec.Replicas = 3 }, "create claim data-web-2, create 2", ""},
		"one goes with its pod where that is wanted": {goes, "change owners of claim data-web-1, delete 1", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := builders.StatefulSet("web").Replicas(2).InPlace().Claim("data", "1Gi").Build()
			o := settled(t, set)
			o.Claims = claims(set, "1Gi")
			for i, c := range o.Claims {
				c.UID += "-" + o.Pods[i].UID
			}
			test.edit(set)
			tale := Of(set, o, now)
			if got := verbs(tale); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if slices.Contains(tale.Assumed, test.assumed) != (test.assumed != "") {
				t.Errorf("assumed %q, want %q", tale.Assumed, test.assumed)
			}
		})
	}
}

func TestAStrayPodIsAdopted(t *testing.T) {
	set := builders.StatefulSet("web").Replicas(2).Build()
	o := settled(t, set)
	o.Pods[1].OwnerReferences = nil
	tale := Of(set, o, now)
	if tale.Start.Total != 1 || tale.End.Total != 2 || strings.Contains(verbs(tale), "create") {
		t.Errorf("from %+v to %+v by %s", tale.Start, tale.End, verbs(tale))
	}
}
