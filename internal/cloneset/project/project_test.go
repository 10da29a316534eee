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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/told"
)

type fatal interface{ Fatal(...any) }

var now = builders.Epoch().Add(time.Hour)

// objects are a set and what there is beside it.
type objects struct {
	set *kruisev1alpha1.CloneSet
	story.Objects
}

// settled are the objects of a set whose pods are all available at its one revision.
func settled(t fatal, set *kruisev1alpha1.CloneSet) *objects {
	reference := *metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind))
	stored, err := revision.Draft{Owner: set, Reference: reference, Template: &set.Spec.Template, Number: 1}.Object()
	if err != nil {
		t.Fatal(err)
	}
	set.Status.CurrentRevision, set.Status.UpdateRevision = stored.Name, stored.Name
	o := &objects{set: set, Objects: story.Objects{Revisions: []*appsv1.ControllerRevision{stored}}}
	for i := range *set.Spec.Replicas {
		o.Pods = append(o.Pods, builders.OwnedPod(set, fmt.Sprintf("p%d", i), revision.HashOf(stored.Name)).Build())
	}
	return o
}

func verbs(s story.Story) string {
	var told []string
	for _, a := range s.Pods() {
		told = append(told, string(a.Verb)+" "+strings.TrimPrefix(a.Object, "web-"))
	}
	return strings.Join(told, ", ")
}

func TestHooksLetGoAtOnce(t *testing.T) {
	handler := &kruisev1alpha1.LifecycleHook{LabelsHandler: map[string]string{"guard": "on"}}
	set := builders.CloneSet("web").Replicas(1).InPlace().With(func(s *kruisev1alpha1.CloneSet) {
		s.Spec.Template.Labels["guard"] = "on"
		s.Spec.Lifecycle = &kruisev1alpha1.Lifecycle{InPlaceUpdate: handler, PreDelete: handler}
	}).Build()
	for sentence, test := range map[string]struct {
		edit func(*kruisev1alpha1.CloneSet)
		want string
	}{
		"an update waits for its hook": {func(s *kruisev1alpha1.CloneSet) { s.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2" },
			"prepare p0, update in place p0, label p0, label p0"},
		"a deletion waits for its hook": {func(s *kruisev1alpha1.CloneSet) { *s.Spec.Replicas = 0 }, "prepare p0, delete p0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := settled(t, set.DeepCopy())
			test.edit(o.set)
			tale := Of(o.set, o.Objects, now)
			if got := verbs(tale); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if !slices.Contains(tale.Assumed, "lifecycle hooks are taken to let go at once") {
				t.Errorf("does not say what it assumes: %v", tale.Assumed)
			}
		})
	}
}

func TestWordsFitWhatTheyTellOf(t *testing.T) {
	ordered := func(s *kruisev1alpha1.CloneSet) {
		first := corev1.EnvVar{Name: "KRUISE_CONTAINER_PRIORITY", Value: "2"}
		c := s.Spec.Template.Spec.Containers
		c[0].Env = append(c[0].Env, first)
		s.Spec.Template.Spec.Containers = append(c, corev1.Container{
			Name: "side", Image: "registry.test/side:v1", Env: []corev1.EnvVar{{Name: first.Name, Value: "1"}},
		})
	}
	newImages := func(s *kruisev1alpha1.CloneSet) {
		for i := range s.Spec.Template.Spec.Containers {
			s.Spec.Template.Spec.Containers[i].Image += "-new"
		}
	}
	for sentence, test := range map[string]struct {
		base  *builders.CloneSetBuilder
		edit  func(*objects)
		verbs string
		told  string // in what is left or assumed
	}{
		"containers that wait for others are no grace period": {
			builders.CloneSet("web").Replicas(1).InPlace().With(ordered), func(o *objects) { newImages(o.set) },
			"update in place p0, update the next containers in place p0", "",
		},
		"one pod stays": {
			builders.CloneSet("web").Replicas(1).InPlace().Partition("1"), func(o *objects) { newImages(o.set) },
			"", "1 pod stays on older revisions",
		},
		"one pod is not available": {
			builders.CloneSet("web").Replicas(1).InPlace(), func(o *objects) { o.Pods[0].Status.Conditions = nil },
			"", "1 pod is not available now",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := settled(t, test.base.Build())
			test.edit(o)
			tale := Of(o.set, o.Objects, now)
			if got := verbs(tale); got != test.verbs {
				t.Errorf("got %s, want %s", got, test.verbs)
			}
			if told := strings.Join(slices.Concat(tale.Left, tale.Assumed), "; "); !strings.Contains(told, test.told) {
				t.Errorf("told %q, want %q in it", told, test.told)
			}
		})
	}
}

func TestPodsOfOthersAreLeftOut(t *testing.T) {
	o := settled(t, builders.CloneSet("web").Replicas(1).Build())
	stranger := builders.OwnedPod(builders.CloneSet("other").Build(), "p9", "x").Build()
	elsewhere := o.Pods[0].DeepCopy()
	elsewhere.Namespace = "elsewhere"
	o.Pods = append(o.Pods, stranger, elsewhere)
	scene := o.SceneOf(o.set, o.set.Spec.Selector)
	if len(scene.Pods) != 1 || !scene.Taken[stranger.Name] || scene.Taken[elsewhere.Name] {
		t.Errorf("%d pods, taken %v", len(scene.Pods), scene.Taken)
	}
}

func TestTooLongAStoryIsCutOff(t *testing.T) {
	set := builders.CloneSet("web").Replicas(30).InPlace().MaxUnavailable("1").Build()
	o := settled(t, set)
	set.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
	long, scene := cast(o.set, o.Objects, now)
	tale, _ := story.Play(long, scene, nil, 10)
	if len(tale.Left) != 1 || !strings.Contains(tale.Left[0], "it is too long") {
		t.Errorf("left: %v", tale.Left)
	}
}

// TestStories: for any spec, a story ends, is the same each time, stays within the allowance, and changes nothing that
// it was given.
func TestStories(t *testing.T) {
	types := []kruisev1alpha1.CloneSetUpdateStrategyType{
		"", kruisev1alpha1.InPlaceIfPossibleCloneSetUpdateStrategyType, kruisev1alpha1.InPlaceOnlyCloneSetUpdateStrategyType, kruisev1alpha1.OnDeleteCloneSetUpdateStrategyType,
	}
	rapid.Check(t, func(rt *rapid.T) {
		replicas := rapid.Int32Range(1, 9).Draw(rt, "replicas")
		unavailable := rapid.IntRange(1, 4).Draw(rt, "unavailable")
		set := builders.CloneSet("web").Replicas(replicas).Type(rapid.SampledFrom(types).Draw(rt, "type")).
			MaxUnavailable(fmt.Sprint(unavailable)).Partition(fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "partition"))).
			MinReadySeconds(rapid.Int32Range(0, 5).Draw(rt, "minReady")).Build()
		o := settled(rt, set)
		set.Spec.UpdateStrategy.Paused = rapid.Bool().Draw(rt, "paused")
		if rapid.Bool().Draw(rt, "in place") {
			set.Spec.Template.Spec.Containers[0].Image = "registry.test/app:v2"
		} else {
			set.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
		}
		before, pods, names := o.set.DeepCopy(), make([]*corev1.Pod, 0, len(o.Pods)), []string{}
		for _, p := range o.Pods {
			pods, names = append(pods, p.DeepCopy()), append(names, p.Name)
		}
		tale := Of(o.set, o.Objects, now)
		if diff := cmp.Diff(tale, Of(o.set, o.Objects, now)); diff != "" {
			rt.Fatalf("two stories of one world:\n%s", diff)
		}
		if diff := cmp.Diff(before, o.set) + cmp.Diff(pods, o.Pods); diff != "" {
			rt.Fatalf("the world was changed:\n%s", diff)
		}
		if err := told.Follow(tale, names); err != nil {
			rt.Fatalf("the story contradicts itself: %v\n%+v", err, tale.Moments)
		}
		if tale.Least < int(replicas)-unavailable {
			rt.Fatalf("only %d of %d pods available, with %d allowed not to be", tale.Least, replicas, unavailable)
		}
		if tale.End.Total != int(replicas) || tale.End.Available != int(replicas) {
			rt.Fatalf("in the end %+v of %d", tale.End, replicas)
		}
	})
}
