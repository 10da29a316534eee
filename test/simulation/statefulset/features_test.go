// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// TestAllFeaturesAreExercised counts in how many stories each feature really did something. What is only written in a spec proves nothing.
// Half of the stories are about hooks: their states end soon, and few stories see what happens in the middle of one.
func TestAllFeaturesAreExercised(t *testing.T) {
	const stories = 600
	floor := map[string]int{ // half of what was found when this was written
		"a chosen pod goes":                                    52,
		"a claim is collected with its owner":                  5,
		"a claim is created":                                   134,
		"a claim is to go with its Pod":                        5,
		"a claim is to go with its StatefulSet":                15,
		"a claim is to go with nobody":                         7,
		"a grace period begins":                                14,
		"a hook lets a pod be deleted":                         132,
		"a node reports late":                                  179,
		"a node reports a pod ready that was drained":          13,
		"a pod goes from Normal to PreparingDelete":            118,
		"a pod goes from Normal to PreparingUpdate":            116,
		"a pod goes from Normal to Updating":                   39,
		"a pod goes from PreparingDelete to PreparingNormal":   12,
		"a pod goes from PreparingNormal to Normal":            114,
		"a pod goes from PreparingNormal to PreparingDelete":   29,
		"a pod goes from PreparingNormal to PreparingUpdate":   14,
		"a pod goes from PreparingNormal to Updating":          8,
		"a pod goes from PreparingUpdate to Normal":            4,
		"a pod goes from PreparingUpdate to PreparingDelete":   8,
		"a pod goes from PreparingUpdate to Updated":           26,
		"a pod goes from PreparingUpdate to Updating":          99,
		"a pod goes from Updated to Normal":                    124,
		"a pod goes from Updated to PreparingDelete":           1,
		"a pod goes from Updated to PreparingUpdate":           5,
		"a pod goes from Updating to Normal":                   21,
		"a pod goes from Updating to PreparingDelete":          6,
		"a pod goes from Updating to Updated":                  106,
		"a pod is adopted":                                     24,
		"a pod is created while ordinals are reserved":         79,
		"a pod is created while ordinals start higher":         50,
		"a pod is released":                                    45,
		"a pod is resized":                                     17,
		"a pod of the current revision is created":             48,
		"a reconcile looks at a stale cache":                   300,
		"a revision is used again":                             96,
		"a write has a fault: conflict":                        42,
		"a write has a fault: crash after":                     44,
		"a write has a fault: crash before":                    44,
		"a write has a fault: failure":                         47,
		"a write has a fault: lost answer":                     41,
		"an unordered pod of the current revision is created":  3,
		"history is forgotten":                                 20,
		"ordered: a broken pod is updated in place":            59,
		"ordered: a broken pod makes room for its successor":   35,
		"ordered: a claim is resized":                          5,
		"ordered: a healthy pod is updated in place":           31,
		"ordered: a healthy pod makes room for its successor":  19,
		"ordered: a pod is created":                            145,
		"ordered: a pod is scaled in":                          22,
		"ordered: a pod is updated while it serves":            1,
		"ordered: a pod that has finished is replaced":         45,
		"parallel: a broken pod is updated in place":           68,
		"parallel: a broken pod makes room for its successor":  42,
		"parallel: a claim is resized":                         3,
		"parallel: a healthy pod is updated in place":          34,
		"parallel: a healthy pod makes room for its successor": 26,
		"parallel: a pod is created":                           165,
		"parallel: a pod is scaled in":                         60,
		"parallel: a pod is updated while it serves":           2,
		"parallel: a pod that has finished is replaced":        55,
		"pods are updated by their labels":                     19,
		"scaleStrategy.maxUnavailable holds creations back":    34,
		"the manager is killed":                                110,
		"the manager is killed and starts with an old view":    102,
	}
	counts := map[string]int{}
	for seed := range uint64(stories) {
		theme := world.Theme("")
		if seed%2 == 1 {
			theme = world.Hooked
		}
		s, err := play(seed, theme, Hooks{}, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for feature := range exercised(s) {
			counts[feature]++
		}
	}
	for _, feature := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%q: %d,", feature, counts[feature])
	}
	for feature, least := range floor {
		if counts[feature] < least {
			t.Errorf("%q happens in %d of %d stories, want at least %d", feature, counts[feature], stories, least)
		}
	}
}

// exercised returns the features that did something in a story, as the log of the API server tells.
func exercised(s *simulation) map[string]bool {
	c := chronicle{found: maps.Clone(s.Noted), taken: map[types.UID]bool{}}
	for _, w := range s.Server.Log() {
		if w.Kind == api.StatefulSets {
			c.set = typed(w.After)
			c.numbers = numbersOf(c.set)
			continue
		}
		if w.Actor != world.Actor || c.set == nil {
			c.note(w.Actor == "gc" && w.Kind == api.Claims, "a claim is collected with its owner")
			continue
		}
		switch w.Kind {
		case api.Pods:
			c.readPod(w)
		case api.Claims:
			c.readClaim(w)
		case api.Revisions:
			c.note(w.Verb == api.Update, "a revision is used again")
			c.note(w.Verb == api.Remove, "history is forgotten")
		default: // nobody else is written to
		}
	}
	return c.found
}

type chronicle struct {
	found map[string]bool
	set   *kruisev1beta1.StatefulSet // as it was at the write that is read
	taken map[types.UID]bool         // pods that the manager has taken out of service to change them
	numbers
}

func (c *chronicle) note(happened bool, what string) {
	if happened {
		c.found[what] = true
	}
}

// kindly says how the pods of the set wait for one another.
func (c *chronicle) kindly(what string) string {
	if c.Ordered {
		return "ordered: " + what
	}
	return "parallel: " + what
}

func (c *chronicle) readPod(w api.Write) {
	after, _ := w.After.(*corev1.Pod)
	before, existed := w.Before.(*corev1.Pod)
	position := c.position(after.Name)
	release := c.set.Status.CurrentRevision != c.set.Status.UpdateRevision
	switch {
	case !existed:
		c.note(true, c.kindly("a pod is created"))
		c.note(release && after.Labels[kruisev1alpha1.LabelRevision] == c.set.Status.CurrentRevision, "a pod of the current revision is created")
		c.note(release && c.Unordered && after.Labels[kruisev1alpha1.LabelRevision] == c.set.Status.CurrentRevision, "an unordered pod of the current revision is created")
		c.note(len(c.set.Spec.ReserveOrdinals) > 0, "a pod is created while ordinals are reserved")
		c.note(c.set.Spec.Ordinals != nil && c.set.Spec.Ordinals.Start > 0, "a pod is created while ordinals start higher")
	case w.Verb == api.Mark, w.Verb == api.Remove:
		c.readDeletion(before, position)
	default:
		was, is := world.StateOf(before), world.StateOf(after)
		c.note(was != is, fmt.Sprintf("a pod goes from %s to %s", was, is))
		moved := before.Labels[kruisev1alpha1.LabelRevision] != after.Labels[kruisev1alpha1.LabelRevision]
		healthy := world.InService(before) || c.taken[after.UID]
		c.note(moved && healthy, c.kindly("a healthy pod is updated in place"))
		c.note(moved && !healthy, c.kindly("a broken pod is updated in place"))
		c.note(moved && world.InService(after), c.kindly("a pod is updated while it serves"))
		if g := gate(after); moved || g != nil && g.Status == corev1.ConditionTrue {
			delete(c.taken, after.UID)
		} else if world.InService(before) && !world.InService(after) {
			c.taken[after.UID] = true
		}
		c.note(moved && c.Unordered, "pods are updated by their labels")
		c.note(w.Subresource == api.Resize, "a pod is resized")
		c.note(after.Annotations[kruisev1alpha1.AnnotationInPlaceGrace] != "", "a grace period begins")
		c.note(metav1.GetControllerOfNoCopy(before) == nil, "a pod is adopted")
		c.note(metav1.GetControllerOfNoCopy(after) == nil, "a pod is released")
	}
}

func (c *chronicle) readDeletion(pod *corev1.Pod, position int) {
	_, marked := pod.Labels[kruisev1alpha1.LabelSpecifiedDelete]
	switch {
	case !world.Active(pod):
		c.note(true, c.kindly("a pod that has finished is replaced"))
	case position < 0:
		c.note(true, c.kindly("a pod is scaled in"))
	case marked:
		c.note(true, "a chosen pod goes")
	case world.InService(pod):
		c.note(true, c.kindly("a healthy pod makes room for its successor"))
	default:
		c.note(true, c.kindly("a broken pod makes room for its successor"))
	}
	c.note(c.Unordered && position >= 0 && !marked && world.Active(pod), "pods are updated by their labels")
	c.note(world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingDelete, "a hook lets a pod be deleted")
}

func (c *chronicle) readClaim(w api.Write) {
	after, _ := w.After.(*corev1.PersistentVolumeClaim)
	before, existed := w.Before.(*corev1.PersistentVolumeClaim)
	switch {
	case !existed:
		c.note(true, "a claim is created")
	case before.Spec.Resources.Requests.Storage().Cmp(*after.Spec.Resources.Requests.Storage()) != 0:
		c.note(true, c.kindly("a claim is resized"))
	default:
		for _, o := range after.OwnerReferences {
			c.note(true, "a claim is to go with its "+o.Kind)
		}
		c.note(len(after.OwnerReferences) == 0, "a claim is to go with nobody")
	}
}
