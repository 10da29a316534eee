// SPDX-License-Identifier: Apache-2.0

package cafe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/test/builders"
)

// What is decided by the pods themselves has to be looked at again when they change: the set's own news may have come before.
func TestPodsWakeTheirDeploymentWhenWhatItLooksAtChanges(t *testing.T) {
	of := func(kind string) *builders.PodBuilder {
		p := builders.Pod("web-a-0").ReadySince(builders.Epoch()).Label(cafev1alpha1.LabelUnit, "A").Label(appsv1.ControllerRevisionHashLabelKey, "old")
		p.Build().OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "web-a", UID: "set", Controller: ptr.To(true)}}
		return p
	}
	updated := func(p *corev1.Pod) { p.Labels[appsv1.ControllerRevisionHashLabelKey] = "new" }
	leaving := func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(builders.Epoch())) }
	unready := func(p *corev1.Pod) { builders.Pod("").NotReady().Build().Status.DeepCopyInto(&p.Status) }
	nodeless := func(p *corev1.Pod) { builders.Pod("").Unscheduled("no room").Build().Status.DeepCopyInto(&p.Status) }
	moved := func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.9" }
	for sentence, c := range map[string]struct {
		kind   string
		change func(*corev1.Pod)
		want   bool
	}{
		"a pod with an ordinal gets the template":      {"StatefulSet", updated, true},
		"a pod with an ordinal goes":                   {"StatefulSet", leaving, true},
		"a pod with an ordinal is not ready any more":  {"StatefulSet", unready, true},
		"a pod with an ordinal finds no node":          {"StatefulSet", nodeless, true},
		"a pod with an ordinal gets an address":        {"StatefulSet", moved, false},
		"what a set without ordinals tells of a pod":   {"CloneSet", updated, false},
		"a pod of a set without ordinals":              {"CloneSet", unready, false},
		"a pod of a set without ordinals and any node": {"CloneSet", nodeless, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			before, after := of(c.kind).Build(), of(c.kind).With(c.change).Build()
			if got := podChanges().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != c.want {
				t.Errorf("it wakes the deployment: %v", got)
			}
		})
	}
	ordinal, other := of("StatefulSet").Build(), of("CloneSet").Build()
	stranger := of("StatefulSet").Build()
	delete(stranger.Labels, cafev1alpha1.LabelUnit)
	for p, want := range map[*corev1.Pod]bool{ordinal: true, other: false, stranger: false} {
		if podChanges().Create(event.CreateEvent{Object: p}) != want || podChanges().Delete(event.DeleteEvent{Object: p}) != want {
			t.Errorf("the coming and going of a pod with labels %v of a %s wakes: want %v", p.Labels, p.OwnerReferences[0].Kind, want)
		}
	}
}
