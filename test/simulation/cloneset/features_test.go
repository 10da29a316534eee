// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// TestAllFeaturesAreExercised counts in how many stories of 500 each feature really did something, and many did in one story. What is
// only written in a spec proves nothing.
func TestAllFeaturesAreExercised(t *testing.T) {
	const stories, rich = 500, 20
	floor := map[string]int{ // half of what was found when this was written
		"a chosen pod goes":                                  88,
		"a claim goes with its pod":                          70,
		"a claim is handed to its pod":                       26,
		"a claim is used again":                              60,
		"a grace period begins":                              35,
		"a hook lets a pod be deleted":                       70,
		"a hook marks a pod not ready":                       30,
		"a node reports late":                                157,
		"a node reports a pod ready that was drained":        23,
		"a partition holds a release":                        55,
		"a pause holds a release":                            33,
		"a pod goes from Normal to PreparingDelete":          65,
		"a pod goes from Normal to PreparingUpdate":          58,
		"a pod goes from Normal to Updating":                 21,
		"a pod goes from PreparingDelete to PreparingNormal": 4,
		"a pod goes from PreparingNormal to Normal":          148,
		"a pod goes from PreparingNormal to PreparingDelete": 14,
		"a pod goes from PreparingNormal to PreparingUpdate": 14,
		"a pod goes from PreparingNormal to Updating":        10,
		"a pod goes from PreparingUpdate to Normal":          1,
		"a pod goes from PreparingUpdate to PreparingDelete": 2,
		"a pod goes from PreparingUpdate to Updated":         16,
		"a pod goes from PreparingUpdate to Updating":        51,
		"a pod goes from Updated to Normal":                  67,
		"a pod goes from Updated to PreparingUpdate":         4,
		"a pod goes from Updating to Normal":                 10,
		"a pod goes from Updating to PreparingDelete":        1,
		"a pod goes from Updating to Updated":                58,
		"a pod in podsToDelete goes":                         15,
		"a pod is created in a pause":                        30,
		"a pod is evicted":                                   122,
		"a pod is resized":                                   23,
		"a pod is updated in place":                          112,
		"a pod of the current revision is created":           46,
		"a pod that has ended is removed":                    44,
		"a progress deadline passes":                         35,
		"a reconcile looks at a stale cache":                 249,
		"a revision is used again":                           85,
		"a surge pod is made":                                72,
		"a write has a fault: conflict":                      41,
		"a write has a fault: crash after":                   37,
		"a write has a fault: crash before":                  36,
		"a write has a fault: failure":                       36,
		"a write has a fault: lost answer":                   40,
		"claim templates change under living pods":           45,
		"claims are made with reuse":                         77,
		"claims are made without reuse":                      66,
		"containers are updated one after the other":         19,
		"history is forgotten":                               18,
		"hooks change under living pods":                     62,
		"names leave podsToDelete":                           40,
		"pods are scattered":                                 15,
		"priorities choose between pods":                     11,
		"scaleStrategy.maxUnavailable holds creations back":  72,
		"the manager is killed":                              100,
		"the manager is killed and starts with an old view":  107,
		"two programs mark a pod not ready":                  8,
	}
	counts, many, most := map[string]int{}, 0, 0
	for seed := range uint64(stories) {
		s, err := play(seed, "", Hooks{}, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		found := exercised(s)
		for feature := range found {
			counts[feature]++
		}
		most = max(most, len(found))
		if len(found) >= rich {
			many++
		}
	}
	for _, feature := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d: %s", counts[feature], feature)
	}
	t.Logf("%d stories have at least %d features at once, one has %d", many, rich, most)
	for feature, least := range floor {
		if counts[feature] < least {
			t.Errorf("%q happens in %d of %d stories, want at least %d", feature, counts[feature], stories, least)
		}
	}
	if many < stories/15 {
		t.Errorf("only %d stories have at least %d features at once", many, rich)
	}
}

// chronicle reads from the log of the API server what happened.
type chronicle struct {
	found map[string]bool
	set   *kruisev1alpha1.CloneSet // as it was at the write that is read
	pods  map[types.UID]*corev1.Pod
	names map[string]bool // of pods with claims
}

// exercised returns the features that did something in a story.
func exercised(s *simulation) map[string]bool {
	c := chronicle{found: map[string]bool{}, pods: map[types.UID]*corev1.Pod{}, names: map[string]bool{}}
	for what := range s.Noted {
		c.found[what] = true
	}
	for _, w := range s.Server.Log() {
		switch w.Kind {
		case api.CloneSets:
			c.readSet(w)
		case api.Pods:
			c.readPod(w)
		case api.Claims:
			c.note(w.Actor == world.Actor && (w.Verb == api.Mark || w.Verb == api.Remove), "a claim goes with its pod")
			c.note(w.Actor == world.Actor && w.Verb == api.Update, "a claim is handed to its pod")
		case api.Revisions:
			c.note(w.Actor == world.Actor && w.Verb == api.Update, "a revision is used again")
			c.note(w.Actor == world.Actor && w.Verb == api.Remove, "history is forgotten")
		}
	}
	return c.found
}

func (c *chronicle) note(happened bool, what string) {
	if happened {
		c.found[what] = true
	}
}

func (c *chronicle) readSet(w api.Write) {
	c.note(w.Actor == world.Actor && w.Subresource == api.Main, "names leave podsToDelete")
	before, existed := w.Before.(*kruisev1alpha1.CloneSet)
	c.set = w.After.(*kruisev1alpha1.CloneSet)
	if w.Verb != api.Update || !existed {
		return
	}
	if w.Actor == "user" {
		c.note(len(c.pods) > 0 && !equality.Semantic.DeepEqual(before.Spec.VolumeClaimTemplates, c.set.Spec.VolumeClaimTemplates), "claim templates change under living pods")
		c.note(len(c.pods) > 0 && !equality.Semantic.DeepEqual(before.Spec.Lifecycle, c.set.Spec.Lifecycle), "hooks change under living pods")
		return
	}
	status := &c.set.Status
	for i := range status.Conditions {
		c.note(status.Conditions[i].Reason == "ProgressDeadlineExceeded", "a progress deadline passes")
	}
	old := status.Replicas - status.UpdatedReplicas
	c.note(c.set.Spec.UpdateStrategy.Paused && old > 0, "a pause holds a release")
	n := numbersOf(c.set)
	c.note(n.Partition > 0 && int(old) == n.Partition && status.UpdatedReplicas > 0, "a partition holds a release")
}

func (c *chronicle) readPod(w api.Write) {
	pod := w.After.(*corev1.Pod)
	before, _ := w.Before.(*corev1.Pod)
	switch {
	case w.Actor != world.Actor && w.Verb == api.Update:
		c.note(slices.Contains(world.Entries(pod), world.EntryOther) && len(world.Entries(pod)) > 1, "two programs mark a pod not ready")
		c.note(w.Actor == "node" && pod.Status.Reason == "Evicted", "a pod is evicted")
	case w.Actor != world.Actor || c.set == nil:
	case w.Verb == api.Create:
		c.readCreation(pod)
	case w.Verb == api.Mark || w.Verb == api.Remove:
		c.readDeletion(before)
	default:
		c.readPatch(w, before, pod)
	}
	if w.Verb == api.Remove {
		delete(c.pods, pod.UID)
		return
	}
	c.pods[pod.UID] = pod
}

func (c *chronicle) readCreation(pod *corev1.Pod) {
	living, n := 0, numbersOf(c.set)
	for _, other := range c.pods {
		if world.Member(other, c.set.UID) && world.Active(other) {
			living++
		}
	}
	c.note(living >= n.Replicas && n.Surge > 0, "a surge pod is made")
	c.note(c.set.Spec.UpdateStrategy.Paused, "a pod is created in a pause")
	c.note(c.set.Status.UpdateRevision != c.set.Status.CurrentRevision && pod.Labels[kruisev1alpha1.LabelRevision] == c.set.Status.CurrentRevision, "a pod of the current revision is created")
	if len(world.Mounts(pod)) > 0 {
		reuse := "with"
		if c.set.Spec.ScaleStrategy.DisablePVCReuse {
			reuse = "without"
		}
		c.note(true, "claims are made "+reuse+" reuse")
		c.note(c.names[pod.Name], "a claim is used again")
		c.names[pod.Name] = true
	}
}

func (c *chronicle) readDeletion(pod *corev1.Pod) {
	c.note(slices.Contains(c.set.Spec.ScaleStrategy.PodsToDelete, pod.Name), "a pod in podsToDelete goes")
	c.note(world.StateOf(pod) == kruisev1alpha1.LifecyclePreparingDelete, "a hook lets a pod be deleted")
	_, marked := pod.Labels[kruisev1alpha1.LabelSpecifiedDelete]
	c.note(marked, "a chosen pod goes")
	c.note(!world.Active(pod), "a pod that has ended is removed")
	c.note(world.Active(pod) && !marked, "a pod is deleted")
}

func (c *chronicle) readPatch(w api.Write, before, after *corev1.Pod) {
	was, is := world.StateOf(before), world.StateOf(after)
	moved := before.Labels[kruisev1alpha1.LabelRevision] != after.Labels[kruisev1alpha1.LabelRevision]
	_, held := before.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]
	_, holds := after.Annotations[kruisev1alpha1.AnnotationInPlaceGrace]
	if was != is {
		c.note(true, fmt.Sprintf("a pod goes from %s to %s", was, is))
	}
	c.note(w.Subresource == api.Resize, "a pod is resized")
	c.note(w.Subresource == api.Main && moved, "a pod is updated in place")
	c.note(holds && !held, "a grace period begins")
	c.note(strings.Contains(after.Annotations[kruisev1alpha1.AnnotationInPlaceState], `"preCheckBeforeNext"`), "containers are updated one after the other")
	c.note(len(world.Entries(after)) > len(world.Entries(before)), "a hook marks a pod not ready")
	c.note(moved && c.rivals(before) && c.set.Spec.UpdateStrategy.PriorityStrategy != nil, "priorities choose between pods")
	c.note(moved && c.rivals(before) && c.set.Spec.UpdateStrategy.ScatterStrategy != nil, "pods are scattered")
}

// rivals tells whether another pod of an older revision has another value of the label that orders pods.
func (c *chronicle) rivals(pod *corev1.Pod) bool {
	for _, other := range c.pods {
		if other.UID != pod.UID && world.Member(other, c.set.UID) && world.Active(other) && other.Labels[kruisev1alpha1.LabelRevision] != c.set.Status.UpdateRevision && other.Labels[world.LabelTrack] != pod.Labels[world.LabelTrack] {
			return true
		}
	}
	return false
}
