// SPDX-License-Identifier: Apache-2.0

package statefulset

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// TestAllFeaturesAreExercised counts in how many stories of 300 each feature really did something. What is only written in a spec
// proves nothing.
func TestAllFeaturesAreExercised(t *testing.T) {
	const stories = 300
	floor := map[string]int{ // half of what was found when this was written
		"a chosen pod goes":                                    25,
		"a claim is collected with its owner":                  8,
		"a claim is created":                                   83,
		"a claim is to go with its Pod":                        7,
		"a claim is to go with its StatefulSet":                19,
		"a claim is to go with nobody":                         8,
		"a grace period begins":                                6,
		"a hook lets a pod be deleted":                         39,
		"a node reports late":                                  85,
		"a pod goes from Normal to PreparingDelete":            35,
		"a pod goes from Normal to PreparingUpdate":            23,
		"a pod goes from Normal to Updating":                   7,
		"a pod goes from PreparingDelete to PreparingNormal":   1,
		"a pod goes from PreparingNormal to Normal":            33,
		"a pod goes from PreparingNormal to PreparingDelete":   9,
		"a pod goes from PreparingNormal to PreparingUpdate":   3,
		"a pod goes from PreparingNormal to Updating":          4,
		"a pod goes from PreparingUpdate to Normal":            2,
		"a pod goes from PreparingUpdate to PreparingDelete":   1,
		"a pod goes from PreparingUpdate to Updated":           3,
		"a pod goes from PreparingUpdate to Updating":          22,
		"a pod goes from Updated to Normal":                    27,
		"a pod goes from Updated to PreparingUpdate":           2,
		"a pod goes from Updating to Normal":                   1,
		"a pod goes from Updating to Updated":                  26,
		"a pod is adopted":                                     11,
		"a pod is created while ordinals are reserved":         45,
		"a pod is created while ordinals start higher":         35,
		"a pod is released":                                    21,
		"a pod is resized":                                     7,
		"a pod of the current revision is created":             25,
		"a reconcile looks at a stale cache":                   150,
		"a revision is used again":                             39,
		"a write has a fault: conflict":                        20,
		"a write has a fault: crash after":                     21,
		"a write has a fault: crash before":                    20,
		"a write has a fault: failure":                         19,
		"a write has a fault: lost answer":                     16,
		"history is forgotten":                                 9,
		"ordered: a broken pod is updated in place":            32,
		"ordered: a broken pod makes room for its successor":   17,
		"ordered: a claim is resized":                          3,
		"ordered: a healthy pod is updated in place":           1,
		"ordered: a healthy pod makes room for its successor":  18,
		"ordered: a pod is created":                            74,
		"ordered: a pod is scaled in":                          18,
		"ordered: a pod that has finished is replaced":         30,
		"parallel: a broken pod is updated in place":           38,
		"parallel: a broken pod makes room for its successor":  21,
		"parallel: a claim is resized":                         6,
		"parallel: a healthy pod is updated in place":          2,
		"parallel: a healthy pod makes room for its successor": 24,
		"parallel: a pod is created":                           81,
		"parallel: a pod is scaled in":                         38,
		"parallel: a pod that has finished is replaced":        18,
		"pods are updated by their labels":                     4,
		"scaleStrategy.maxUnavailable holds creations back":    23,
		"the manager is killed":                                53,
		"the manager is killed and starts with an old view":    54,
	}
	counts := map[string]int{}
	for seed := range uint64(stories) {
		s, err := play(seed, "", Hooks{}, nil)
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
	c := chronicle{found: maps.Clone(s.Noted)}
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
		c.note(len(c.set.Spec.ReserveOrdinals) > 0, "a pod is created while ordinals are reserved")
		c.note(c.set.Spec.Ordinals != nil && c.set.Spec.Ordinals.Start > 0, "a pod is created while ordinals start higher")
	case w.Verb == api.Mark, w.Verb == api.Remove:
		c.readDeletion(before, position)
	default:
		was, is := world.StateOf(before), world.StateOf(after)
		c.note(was != is, fmt.Sprintf("a pod goes from %s to %s", was, is))
		moved := before.Labels[kruisev1alpha1.LabelRevision] != after.Labels[kruisev1alpha1.LabelRevision]
		c.note(moved && world.InService(before), c.kindly("a healthy pod is updated in place"))
		c.note(moved && !world.InService(before), c.kindly("a broken pod is updated in place"))
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
