// SPDX-License-Identifier: Apache-2.0

package statefulsets

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
)

func TestPhase(t *testing.T) {
	for sentence, test := range map[string]struct {
		change func(*world)
		want   sets.Phase
	}{
		"all there, updated and available is complete": {func(*world) {}, sets.Complete},
		"a newer spec than the controller has seen is not": {
			func(w *world) { w.Set.Generation = 2 }, sets.Unseen},
		"a pod whose ordinal is not wanted any more means scaling, though as many exist as are wanted": {
			func(w *world) { w.Set.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromInt32(0)} }, sets.Scaling},
		"a pod too many means scaling": {func(w *world) { w.pods("one", 2) }, sets.Scaling},
		"ordinals that cannot be read are a failure": {
			func(w *world) { w.Set.Spec.ReserveOrdinals = []intstr.IntOrString{intstr.FromString("5-3")} }, sets.Failed},
		"pods on an older revision mean releasing": {
			func(w *world) { w.Set.Status.UpdateRevision = "web-two" }, sets.Releasing},
		"or that somebody has to delete them": {func(w *world) {
			w.Set.Status.UpdateRevision = "web-two"
			w.Set.Spec.UpdateStrategy.Type = kruisev1beta1.OnDeleteStatefulSetStrategyType
		}, sets.Paused},
		"a controller that has given up means a failure, even if all pods are there": {func(w *world) {
			cond(w, kruisev1beta1.StatefulSetConditionStalled, corev1.ConditionTrue, "UpdateRefused", "no")
		}, sets.Failed},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, 2).pods("one", 0, 1).counted()
			test.change(w)
			if v := NewView(w.Snapshot, now()); v.Phase != test.want {
				t.Errorf("phase %s, want %s: %s", v.Phase, test.want, v.Headline)
			}
		})
	}
}

func TestPodsStandInTheOrderOfTheirOrdinals(t *testing.T) {
	w := newWorld(t, 11).pods("one", 10, 2, 0, 9).pod(1, "one", func(b *builders.PodBuilder) {
		b.With(func(p *corev1.Pod) { p.Name = "web-01" })
	})
	var names []string
	v := NewView(w.Snapshot, now())
	for _, p := range v.Revisions[0].Pods {
		names = append(names, p.Name)
	}
	if got, want := strings.Join(names, " "), "web-0 web-2 web-9 web-10 web-01"; got != want {
		t.Errorf("pods %s, want %s", got, want)
	}
	if last := v.Revisions[0].Pods[4]; last.Note == "" || last.State != pod.Available {
		t.Errorf("a pod without an ordinal has note %q and is %s", last.Note, last.State)
	}
}

// A set without claim templates asks for no right to read claims, and shows none.
func TestClaimsThatNobodyReadAreNotMissing(t *testing.T) {
	w := newWorld(t, 1, withClaims).pods("one", 0)
	if lines := NewView(w.Snapshot, now()).Revisions[0].Pods[0].Lines; len(lines) > 0 {
		t.Errorf("claims that were not read are shown: %v", lines)
	}
	w.Claims = []*corev1.PersistentVolumeClaim{}
	lines := NewView(w.Snapshot, now()).Revisions[0].Pods[0].Lines
	if len(lines) != 1 || lines[0].Text != "claim data-web-0  missing" || !lines[0].Alert {
		t.Errorf("a claim that is not there is shown as %v", lines)
	}
}

func TestSpans(t *testing.T) {
	for want, ordinals := range map[string][]int{"": nil, "4": {4}, "0-2": {0, 1, 2}, "0 2-3 7": {0, 2, 3, 7}} {
		if got := spans(ordinals); got != want {
			t.Errorf("%v is %q, want %q", ordinals, got, want)
		}
	}
}
